"""Access to the server, and permission to frame its pages: by default, only for this machine."""

import ipaddress
import os
import re
import socket
import sys
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from rbmviz import BadInput
from rbmviz.files.budget import memory_budget
from rbmviz.session import limits

PUBLIC = "RBMVIZ_PUBLIC"
"""Environment variable; 1 lets other machines use the server."""

HOSTS = "RBMVIZ_HOSTS"
"""Environment variable listing the host names that visitors on other machines type, separated by commas."""

FRAME_ANCESTORS = "RBMVIZ_FRAME_ANCESTORS"
"""Environment variable listing the origins of pages that may frame this server's, separated by commas."""

ADDRESSES_OF_COMMAND: list[str] = []
"""Addresses of this machine that ``rbmviz app --share`` opened to other machines; empty: none."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
EVERY_NETWORK = "0.0.0.0"

HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:.]+\]")


ORIGIN = re.compile(rf"https?://({HOST.pattern})(:[0-9]{{1,5}})?")


def public() -> bool:
    """Return whether the environment variable lets other machines reach the server."""
    return os.environ.get(PUBLIC) == "1"


def opened() -> bool:
    """Return whether other machines may reach the server: set in the environment or on the command line."""
    return public() or bool(ADDRESSES_OF_COMMAND)


def open_to_others(address: str | None) -> str:
    """Let other machines reach the server under its own address; return the address to listen on.

    address : address of this machine; None: listen on all networks, and use the address of the default route

    Raises BadInput if no other machine can reach the address, or if there is no network.
    """
    if address is None:
        ADDRESSES_OF_COMMAND[:] = [network_address()]
        return EVERY_NETWORK
    try:
        typed = ipaddress.ip_address(address.strip("[]"))
        reachable = not (typed.is_loopback or typed.is_unspecified)
    except ValueError:
        reachable = False
    if not reachable:
        raise BadInput(
            f"--share needs an address that other machines reach, and {address[:60]!r} is not one: "
            "leave --address out, or give the address of this machine in their network, as 192.168.0.7."
        )
    ADDRESSES_OF_COMMAND[:] = [str(typed)]
    return address


def network_address() -> str:
    """Return the address of this machine on the default route; BadInput if there is none."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # nobody's address; UDP connect sends nothing
            address = str(probe.getsockname()[0])
    except OSError:
        address = "127.0.0.1"
    if is_loopback(address):
        raise BadInput(
            "This machine is not on a network, so nobody could watch: connect it, or give its address with "
            "--address."
        )
    return address


def check_address(address: str | None) -> None:
    """Refuse an address that other machines can reach ("": all networks), unless the server is public.

    Raises BadInput if other machines can reach the address.
    """
    if opened() or is_loopback(address or ""):
        return
    where = f"The address {address!r}" if address else "An empty server.address"
    raise BadInput(
        f"{where} would let other machines use this server: leave server.address at 127.0.0.1, or set "
        f"{PUBLIC}=1 (and {HOSTS} to the names that people type) if that is what you want."
    )


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return address == "localhost" or ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts() -> list[str]:
    """Return the host names that requests may be addressed to.

    A foreign page whose name is made to point at this machine (DNS rebinding) has the same origin as the
    server; only the host name reveals it.

    Raises BadInput if ``RBMVIZ_HOSTS`` holds something that is not a host name.
    """
    names = _listed(
        HOSTS,
        HOST,
        "a host name: give names without scheme and port, separated by commas, as rbm.example.org or "
        "*.example.org or 192.168.0.7.",
    )
    own = [f"[{address}]" if ":" in address else address for address in ADDRESSES_OF_COMMAND]
    return [*LOCAL_HOSTS, *own, *(names if public() else [])]


def frame_ancestors() -> list[str]:
    """Return the foreign origins whose pages may frame the server's pages.

    Raises BadInput if ``RBMVIZ_FRAME_ANCESTORS`` holds something that is not an origin.
    """
    return _listed(
        FRAME_ANCESTORS,
        ORIGIN,
        "the origin of a page: give scheme and host, separated by commas, as https://moodle.example.org or "
        "https://*.example.org.",
    )


def _listed(variable: str, pattern: re.Pattern[str], means: str) -> list[str]:
    """Return the names in an environment variable; BadInput if one is not what it ``means``."""
    names = [name.strip().lower() for name in os.environ.get(variable, "").split(",") if name.strip()]
    for name in names:
        if not pattern.fullmatch(name):
            raise BadInput(f"{variable}: {name[:60]!r} is not {means}")
    return names


def base_path() -> str:
    """Return the base path of the server: "", or a path with a leading slash."""
    base = str(config.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}" if base else ""


def is_own_origin(scope: Scope) -> bool:
    """Return whether a request or a WebSocket comes from a page that this server served.

    Browsers always send a page's origin. A client that sends none is a program, which has nobody else's
    cookies. The host has been checked against the server's names (``allowed_hosts``); without that check, a
    page under any name could have an origin equal to its host.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    secure = headers.get("x-forwarded-proto", scope["scheme"]) in ("https", "wss")  # pages cannot set it
    return origin is None or origin == f"http{'s' if secure else ''}://{headers.get('host')}"


class PageHeaders:
    """Middleware that adds headers: who may frame the page, no guessing of file types, no referrer.

    A foreign page that frames this one invisibly could trick its visitors into clicking here.
    """

    def __init__(self, app: ASGIApp, ancestors: Sequence[str] = ()) -> None:
        self._app = app
        self._headers = {
            "content-security-policy": " ".join(["frame-ancestors 'self'", *ancestors]),
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to the response; a policy already in it stays."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    if name == "content-security-policy" and name in headers:
                        headers.append(name, value)  # browsers enforce both
                    else:
                        headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)


class KnownHosts(TrustedHostMiddleware):
    """Middleware that refuses unknown host names, but not to the probes of a public server's platform.

    Load balancers and orchestrators ask for its health by its address within their network, which nobody
    knows before. The answer is "ok", whoever asks.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with status 400."""
        probe = public() and scope["type"] == "http" and scope["path"] == f"{base_path()}/_stcore/health"
        await (self.app if probe else super().__call__)(scope, receive, send)


def guarded() -> list[Middleware]:
    """Return the middleware of every route, HTTP and WebSocket.

    The process exits with status 2 if the server would be open to other machines without RBMVIZ_PUBLIC=1 or
    ``--share``, or if the environment holds an invalid limit or origin. Called while the app is imported,
    before the first request.
    """
    try:
        check_address(config.get_option("server.address"))
        hosts = allowed_hosts()
        ancestors = frame_ancestors()
        limits()
        memory_budget()
    except BadInput as error:
        print(error, file=sys.stderr)  # noqa: T201
        sys.exit(2)
    if public() and len(hosts) == len(LOCAL_HOSTS):
        print(  # noqa: T201
            f"{PUBLIC}=1, but only browsers of this machine are answered: set {HOSTS} to the names or "
            "addresses that the others type, separated by commas.",
            file=sys.stderr,
        )
    return [
        Middleware(PageHeaders, ancestors=ancestors),
        Middleware(KnownHosts, allowed_hosts=hosts, www_redirect=False),
    ]
