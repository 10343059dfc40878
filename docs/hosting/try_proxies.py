#!/usr/bin/env python3
"""Use the app in Chromium through the example proxies of this folder, with TLS and a password.

Each example is started as it stands here, but for its ports, certificate and password; then, at the top and
below a base path, it is checked that

- nobody comes in without the password, and a foreign Host gets no page;
- the page and its health check are answered, and live pictures change, over both WebSockets;
- a file of nearly 64 MB reaches the app, which says what is wrong with it.

nginx, caddy, openssl and Chromium must be installed (apt install nginx caddy chromium)::

    .venv/bin/python docs/hosting/try_proxies.py
"""

import base64
import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).resolve().parent
HOST, USER, PASSWORD = "rbm.example.org", "class", "see chains mix"
UPLOAD_BYTES = 63 * 10**6


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command: list[str], log: Path, answers: Callable[[], object], **more: str) -> Iterator[None]:
    """Run a program until the block ends; begin when ``answers`` no longer raises OSError."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | more)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                answers()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    sys.exit(f"{command[0]} does not answer:\n{log.read_text()}")
                time.sleep(0.2)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def get(port: int, path: str, host: str = HOST, known: bool = True) -> tuple[int, str]:
    """Return status and text of a page that the proxy answers; its certificate is not checked."""
    trusting = ssl._create_unverified_context()
    headers = {"Host": host}
    if known:
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers["Authorization"] = f"Basic {secret}"
    # The name is sent in the TLS handshake, too: Caddy knows its sites by it.
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    with trusting.wrap_socket(connection, server_hostname=HOST) as secure:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        secure.sendall(f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: secure.recv(65536), b"")).decode(errors="replace")
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


def nginx(folder: Path, port: int, upstream: int) -> list[str]:
    """Write what the example of nginx needs around it; return the command."""
    key, certificate, passwords = folder / "key.pem", folder / "certificate.pem", folder / "passwords"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}"]
    subprocess.run([*new, "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True
    )
    passwords.write_text(f"{USER}:{hashed.stdout}")
    site = replaced(
        (HERE / "nginx.conf").read_text(),
        {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/rbm.example.org.pem": str(certificate),
            "/etc/ssl/rbm.example.org.key": str(key),
            "/etc/nginx/rbmviz.passwords": str(passwords),
            "127.0.0.1:8501": f"127.0.0.1:{upstream}",
        },
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    as_root = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{as_root}daemon off;\npid {folder / 'pid'};\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{site}}}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, upstream: int) -> list[str]:
    """Write what the example of Caddy needs around it; return the command."""
    hashed = printed("caddy", "hash-password", "--plaintext", PASSWORD)
    site = replaced(
        (HERE / "Caddyfile").read_text(),
        {
            "$2a$14$REPLACE.THIS.BY.THE.OUTPUT.OF.caddy.hash-password": hashed,
            "127.0.0.1:8501": f"127.0.0.1:{upstream}",
        },
    )
    settings = (
        "admin off",
        f"http_port {free_port()}",
        f"https_port {port}",
        "local_certs",
        "skip_install_trust",
    )
    (folder / "Caddyfile").write_text("{\n" + "\n".join(settings) + f"\n}}\n{site}")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def printed(*command: str) -> str:
    """Run a program; return the line that it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def replaced(text: str, changes: dict[str, str]) -> str:
    """Return a text with these words replaced, each of which must be there."""
    for old, new in changes.items():
        if old not in text:
            sys.exit(f"The example no longer says {old!r}.")
        text = text.replace(old, new)
    return text


def check(what: str, right: bool, found: object = "") -> None:
    """Print a line about something that was tried, or exit."""
    if not right:
        sys.exit(f"FAILED: {what}: {found}")
    print(f"    {what}", flush=True)


def try_requests(port: int, path: str) -> None:
    """Ask for pages without a browser."""
    status, _ = get(port, f"{path}/", known=False)
    check("no page without the password", status == 401, status)
    status, text = get(port, f"{path}/_stcore/health")
    check("the health check is answered", (status, "ok" in text) == (200, True), (status, text))
    status, text = get(port, f"{path}/")
    check("the page is answered", status == 200 and "<title>" in text, (status, text[:200]))
    status, text = get(port, f"{path}/", host="evil.example.org")
    check("a foreign Host gets no page", "<title>" not in text, (status, text[:200]))


FIND = """() => {
    const within = root => [...root.querySelectorAll('*')].flatMap(e =>
        [...(e.matches('section.panel') ? [e] : []), ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
    return within(document).map(panel => Number(panel.dataset.n));
}"""


def try_browser(browser: Browser, path: str, big: Path) -> None:
    """Look at live pictures, and upload a file."""
    credentials = {"username": USER, "password": PASSWORD}
    context = browser.new_context(ignore_https_errors=True, http_credentials=credentials)
    page = context.new_page()
    sockets: list[str] = []
    page.on("websocket", lambda one: sockets.append(re.sub(r"^wss://[^/]+|(?<=/live/).*", "", one.url)))
    page.goto(f"https://{HOST}{path}/")

    def counts(condition: Callable[[list[int]], bool]) -> list[int]:
        end = time.monotonic() + 90
        while not condition(found := page.evaluate(FIND)):
            if time.monotonic() > end:
                page.screenshot(path=big.with_name("failed.png"))
                text = page.locator("body").inner_text()[:500]
                sys.exit(f"FAILED: live pictures: samples {found}, sockets {sockets}; the page says: {text}")
            time.sleep(0.2)
        return found

    first = counts(lambda now: bool(now) and min(now) > 0)
    counts(lambda now: all(n > before for n, before in zip(now, first, strict=True)))
    check(f"live pictures change, over {', '.join(sorted(set(sockets)))}", True)
    page.goto(f"https://{HOST}{path}/weights")
    counts(lambda now: bool(now) and min(now) > 0)
    check("another page opens by its address", True)
    page.get_by_role("button", name="Settings").click()
    with page.expect_response(lambda answer: "upload_file" in answer.url, timeout=60_000) as answer:
        page.locator("input[type=file]").first.set_input_files(big)
    check("a file of 63 MB is taken", answer.value.ok, answer.value.status)
    page.get_by_text(re.compile(r"big\.npz.*(not|no) ")).first.wait_for(timeout=60_000)
    check("and the app says what is wrong with it", True)
    context.close()


def main() -> None:
    """Try every proxy, at the top and below a base path."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    missing = [name for name in ("nginx", "caddy", "openssl") if shutil.which(name) is None]
    if missing or chromium is None:
        sys.exit(f"Not installed: {', '.join(missing) or 'chromium'}")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        big = Path(scratch, "big.npz")
        with big.open("wb") as file:
            file.truncate(UPLOAD_BYTES)
        for base in ("", "rbm"):
            upstream, path = free_port(), f"/{base}" if base else ""
            health = f"http://127.0.0.1:{upstream}{path}/_stcore/health"
            command = [shutil.which("rbmviz") or "rbmviz", "app", "--port", str(upstream), "--no-browser"]
            given = {"RBMVIZ_PUBLIC": "1", "RBMVIZ_HOSTS": HOST, "STREAMLIT_SERVER_BASE_URL_PATH": base}
            log = Path(scratch, "server.log")
            with running(command, log, lambda url=health: urllib.request.urlopen(url, timeout=5), **given):
                for proxy in (nginx, caddy):
                    print(f"{proxy.__name__}, https://{HOST}{path}/", flush=True)
                    folder, port = Path(scratch, f"{proxy.__name__}{base}"), free_port()
                    folder.mkdir()
                    own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
                    started = proxy(folder, port, upstream)
                    with running(started, folder / "log", lambda port=port: get(port, "/"), **own):
                        try_requests(port, path)
                        browser = playwright.chromium.launch(
                            executable_path=chromium,
                            args=["--no-sandbox", f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{port}"],
                        )
                        try_browser(browser, path, big)
                        browser.close()
    print("all well")


if __name__ == "__main__":
    main()
