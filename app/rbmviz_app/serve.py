"""``rbmviz app``: the server, with the settings that ``streamlit run app/main.py`` finds on its own."""

import contextlib
import errno
import importlib
import os
import socket
import sys
import threading
import time
import tomllib
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from streamlit import config

from rbmviz import BadInput, Model
from rbmviz.errors import quoted
from rbmviz.files.output import reason
from rbmviz.lessons import Lesson
from rbmviz_app import access, shared
from rbmviz_app.access import check_address, open_to_others

PORTS = 100

START_SECONDS, TRY_SECONDS = 300.0, 0.05
"""Maximum seconds until the server answers, and seconds between attempts to reach it."""

BOOLEANS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
READ_SETTING: dict[type, Callable[[str], Any]] = {
    bool: lambda text: BOOLEANS[text.lower()],
    int: int,
    float: float,
}
"""Parsers of environment variables, by the type of the setting; other settings are strings."""


def packaged_settings() -> dict[str, Any]:
    """Return the settings in the app's own file by name, such as ``server.address``.

    Streamlit looks for such a file beside the program that it starts, here the console script.
    """
    text = resources.files("rbmviz_app.start").joinpath(".streamlit", "config.toml").read_text("utf-8")
    return _flattened(tomllib.loads(text))


def _flattened(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flattened(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return flat


def settings_of_environment() -> dict[str, Any]:
    """Return Streamlit's settings from environment variables, which only its own command reads."""
    values: dict[str, Any] = {}
    for name, option in config.get_config_options().items():
        text = os.environ.get(option.env_var)
        if text and not option.sensitive:  # Streamlit reads these itself
            try:
                values[name] = text.split() if option.multiple else READ_SETTING.get(option.type, str)(text)
            except (KeyError, ValueError):
                raise BadInput(f"{option.env_var} = {quoted(text)} is not a value of {name}.") from None
    return values


def settings(address: str | None, port: int | None, share: bool = False) -> dict[str, Any]:
    """Return the settings for starting the server, including the port.

    The command line takes precedence over Streamlit's environment variables (``STREAMLIT_SERVER_PORT``), and
    these over the packaged settings.

    address : the address to listen on; None: from the environment or the packaged settings
    port : the port; None: from Streamlit's settings, or else the first free one from 8501
    share : whether other machines may reach the server (see ``access.open_to_others``)

    Raises BadInput if other machines can reach the address without ``share`` or RBMVIZ_PUBLIC=1, or if the
    server cannot listen on it.
    """
    # Streamlit's greeting would show the address before anything listens on it.
    options = packaged_settings() | settings_of_environment() | {"logger.hideWelcomeMessage": True}
    if share:
        address = open_to_others(address)
    options |= {} if address is None else {"server.address": address}
    check_address(options["server.address"])
    asked = port is not None or "server.port" in options or config.is_manually_set("server.port")
    first = port or options.get("server.port") or config.get_option("server.port")
    ports = range(first, first + (1 if asked else PORTS))
    return options | {"server.port": _free_port(options["server.address"], ports)}


def _free_port(address: str, ports: range) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in ports:
        try:
            with socket.socket(family) as probe:
                if os.name != "nt":  # on Windows it would allow two servers on one port
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address.strip("[]"), port))
                return port
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise BadInput(
                    f"The server cannot listen on the address '{address}' ({reason(error)}): give one of "
                    "this machine, as 127.0.0.1."
                ) from None
    if len(ports) == 1:
        raise BadInput(f"Port {ports[0]} is in use or not permitted: choose another one with --port.")
    raise BadInput(f"The ports {ports[0]} to {ports[-1]} are taken: choose another one with --port.")


def serve(
    model: str | tuple[str, Model] | None,
    address: str | None,
    port: int | None,
    browser: bool,
    announce: Callable[[str, str], object],
    results: Sequence[Path] = (),
    lessons: Sequence[Lesson] = (),
    share: bool = False,
) -> None:
    """Serve the app until the process is asked to stop.

    model : model to open on the Sample page, pretrained or from a file; None: the page's default
    address, port, share : see ``settings``, also for errors
    browser : whether to open the page in a browser, if there is a screen
    announce : called from another thread as soon as the server answers, with the address of the page and the
        address for other machines ("": none)
    results : sweep folders listed on the Tune page
    lessons : further lessons, listed on the Learn page after the shipped ones
    """
    chosen = settings(address, port, share)
    for name, value in chosen.items():  # importing the app sets its routes and access rules
        config.set_option(name, value)
    shared.set_first_model(model)
    shared.RESULTS_OF_COMMAND[:] = results
    shared.LESSONS_OF_COMMAND.update({lesson.name: lesson for lesson in lessons})
    main = importlib.import_module("rbmviz_app.start.main")
    threading.Thread(target=_announce, args=(browser, announce), daemon=True).start()
    # Streamlit searches the script's folder first, and that of ``python -m rbmviz`` has a sklearn.py.
    sys.argv[0] = str(main.__file__)
    main.app.run(config=chosen)


def _announce(browser: bool, announce: Callable[[str, str], object]) -> None:
    address, port = str(config.get_option("server.address")), int(config.get_option("server.port"))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address).strip("[]")
    if not _answers(host, port):
        return
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    base = str(config.get_option("server.baseUrlPath")).strip("/")

    def url_of(host: str) -> str:
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/{base}"

    url = url_of(host)
    announce(url, next(map(url_of, access.ADDRESSES_OF_COMMAND), ""))
    if browser and not config.get_option("server.headless"):
        webbrowser.open(url)


def _answers(host: str, port: int) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            return True
        time.sleep(TRY_SECONDS)
    return False
