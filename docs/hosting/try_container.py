#!/usr/bin/env python3
"""Carry out the container file without a container engine, and use what it makes.

A stage is an overlay over this machine's own root folder, which takes the place of the base image: nothing
that is written stays. Instructions after USER, the command and the health check run under that number, which
has no account here. Afterwards all times are cut to whole seconds, as in the layers of an image, and it is
checked that

- a second ``rbmviz warmup`` compiles nothing, so that a container begins with warm kernels;
- the command answers the health check, below a base path, too, and a visitor gets live pictures;
- a foreign Host is refused, but not to a probe of the server's health, and only the named pages may frame it;
- SIGTERM ends the server in ten seconds.

What it cannot try: the base image itself, and the engine's network, volumes and limits. It needs root on
Linux (mount, chroot), and the Python of the development environment::

    sudo .venv/bin/python docs/hosting/try_container.py
    sudo .venv/bin/python docs/hosting/try_container.py docs/hosting/space/app/Dockerfile

The second installs rbmviz by its name: the wheel of this checkout stands in for the release.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
GIVEN = [word for word in sys.argv[1:] if word != "--inside"]
FILE = Path(*GIVEN or [Path(__file__).with_name("Containerfile")])
HOST = "rbm.example.org"
INTERRUPTED = 130
"""Status of a server that a signal has ended in good order."""
CHROOT = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin") or "chroot"
"""With its path: the PATH of a stage need not contain it."""


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file with their arguments."""
    text = re.sub(r"\\\n", "", FILE.read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in lines]


class Stage:
    """One stage of the build: a root folder, and the state that instructions change."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
        # How this machine reaches its package registry; an engine has its own ways.
        self.environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.environment["PIP_FIND_LINKS"] = f"/wheels {self.environment.get('PIP_FIND_LINKS', '')}"
        self.user, self.folder, self.command, self.health = "0:0", "/", "", ""
        for name in ("upper", "work", "root"):
            (folder / name).mkdir(parents=True)
        layers = f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        for name in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", f"/{name}", self.root / name], check=True)
        shutil.copytree(folder.parent / "wheels", self.root / "wheels")

    def at(self, path: str) -> Path:
        """Return where a path of the stage is on this machine."""
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def arguments(self, command: str) -> list[str]:
        """Return the arguments that run a shell command in the stage."""
        user, group = self.user.split(":")
        as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs"]
        inside = f"cd {shlex.quote(self.folder)} && {command}"
        return [CHROOT, str(self.root), *as_user, "/bin/sh", "-c", inside]

    def run(self, command: str, **more: str) -> str:
        """Run a shell command to its end; return what it printed."""
        done = subprocess.run(
            self.arguments(command), env=self.environment | more, text=True, stdout=subprocess.PIPE
        )
        if done.returncode:
            sys.exit(f"status {done.returncode}: {command}\n{done.stdout}")
        return done.stdout

    def copy(self, sources: list[Path], target: str) -> None:
        """Copy files into a folder, or the content of one folder, as COPY does."""
        to = self.at(target)
        if sources[0].is_dir():
            own = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(sources[0], to, symlinks=True, dirs_exist_ok=True, ignore=own)
            return
        to.mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy2(source, to)


def build(folder: Path) -> Stage:
    """Carry out all instructions; return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder / "unused")
    for word, rest in instructions():
        print(f"{word} {rest}", flush=True)
        begun = time.monotonic()
        match word:
            case "FROM":
                name = rest.partition(" AS ")[2] or "last"
                stage = stages[name] = Stage(folder / name)
            case "WORKDIR":
                stage.at(rest).mkdir(parents=True, exist_ok=True)
                stage.folder = rest
            case "COPY":
                *given, target = shlex.split(rest)
                if given[0].startswith("--from="):
                    origin = stages[given.pop(0).removeprefix("--from=")]
                    sources = [origin.at(path) for path in given]
                else:
                    sources = [CHECKOUT / path for path in given]
                stage.copy(sources, target)
            case "ENV":
                name, _, value = rest.partition("=")
                stage.environment[name] = value.strip('"')
            case "RUN":
                stage.run(rest)
            case "USER":
                stage.user = rest
            case "HEALTHCHECK":
                stage.health = rest.partition("CMD ")[2]
            case "CMD":
                stage.command = rest
            case "EXPOSE" | "VOLUME":
                pass
            case _:
                sys.exit(f"The instruction {word} is not known here.")
        if time.monotonic() - begun > 1:
            print(f"    {time.monotonic() - begun:.0f} s", flush=True)
    return stage


def cut_times(folder: Path) -> None:
    """Cut the times of all files to whole seconds, as a layer does."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            whole = int(path.stat().st_mtime)
            os.utime(path, (whole, whole))


def compiled(stage: Stage) -> dict[str, int]:
    """Return the files of the kernel cache with their times."""
    cache = stage.at(stage.environment["RBMVIZ_CACHE_DIR"])
    return {str(path): path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}


def answer(address: str, host: str) -> tuple[int, str]:
    """Return the HTTP status of a page asked for under this host name, and who may frame it."""
    try:
        asked = urllib.request.Request(address, headers={"Host": host})
        answered = urllib.request.urlopen(asked, timeout=20)
    except urllib.error.HTTPError as error:
        answered = error
    return answered.status, answered.headers["content-security-policy"]


def serve(stage: Stage, base: str) -> None:
    """Run the command of the image, and use the server, below a base path."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(stage.environment["PORT"])))
        except OSError:  # something else listens on the image's own
            probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    hosts = stage.environment.get("RBMVIZ_HOSTS", HOST)
    given = {"PORT": port, "RBMVIZ_HOSTS": hosts, "STREAMLIT_SERVER_BASE_URL_PATH": base}
    address = f"http://127.0.0.1:{port}" + (f"/{base}" if base else "")
    begun = time.monotonic()
    server = subprocess.Popen(stage.arguments(stage.command), env=stage.environment | given)
    try:
        while subprocess.run(
            stage.arguments(stage.health), env=stage.environment | given, stderr=subprocess.DEVNULL
        ).returncode:
            if server.poll() is not None or time.monotonic() - begun > 60:
                sys.exit(f"The server is not healthy: status {server.poll()}.")
            time.sleep(0.2)
        print(f"healthy at :{port}/{base} after {time.monotonic() - begun:.1f} s", flush=True)
        own = hosts.replace("*", "somebody-rbmviz")
        frames = f"frame-ancestors 'self' {stage.environment.get('RBMVIZ_FRAME_ANCESTORS', '')}".strip()
        for path, host, wanted in (
            ("/", own, 200),
            ("/", "evil.example.org", 400),
            ("/_stcore/health", "10.1.2.3", 200),
        ):
            if (found := answer(f"{address}{path}", host)) != (wanted, frames):
                sys.exit(f"{path} as {host}: {found} instead of {(wanted, frames)}")
        if not base:  # the visitor knows servers at the top
            visitor = [sys.executable, "-m", "tests.attack.visitor", "--address", address, "--seconds", "5"]
            subprocess.run(visitor, cwd=CHECKOUT, check=True)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            sys.exit("SIGTERM did not end the server in ten seconds.")
    if server.returncode not in (0, INTERRUPTED):
        sys.exit(f"SIGTERM: status {server.returncode}")


def main() -> None:
    """Build and use the image in its own mount namespace."""
    if "--inside" not in sys.argv:
        namespace = ["unshare", "--mount", "--propagation", "private"]
        os.execvp("unshare", [*namespace, sys.executable, __file__, str(FILE), "--inside"])
    folder = Path(tempfile.mkdtemp(prefix="rbmviz-container-"))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    try:
        wheel = [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "wheels", CHECKOUT]
        subprocess.run(wheel, check=True, stdout=subprocess.DEVNULL)
        stage = build(folder)
        for path in ("/opt/rbmviz", stage.environment["RBMVIZ_CACHE_DIR"]):
            cut_times(stage.at(path))
        before = compiled(stage)
        timings = stage.run("rbmviz warmup")
        if not before or compiled(stage) != before:
            sys.exit(f"The kernels were compiled again: {json.dumps(timings)}")
        print(f"{len(before)} files of compiled kernels are used as they are")
        serve(stage, "")
        serve(stage, "rbm")
        print("all well")
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", folder])
        folder.rmdir()


if __name__ == "__main__":
    main()
