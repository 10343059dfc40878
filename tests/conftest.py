"""Fixtures of all tests: a small model, a small data set, workers and pages that are closed afterwards."""

import os
import sys
from pathlib import Path

# Images for containers often forbid Python to keep compiled modules: then each process that a test starts
# compiles all packages again, for five seconds. Here they are kept, in a folder of the tests.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

import atexit
import functools
import http.server
import json
import signal
import threading
from collections import defaultdict

import numpy as np
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, app_test
from streamlit.util import calc_hash
from waiting import close

from rbmviz import RBM, Model
from rbmviz.datasets import Dataset
from rbmviz.registry import samplers, trainers
from rbmviz.session import Race, pools
from rbmviz.session.compiling import COMPILING

SHELL = Path(__file__).parents[1] / "app" / "shell.py"

WITHOUT_SHELL = """
from rbmviz_app.links import open_link
from rbmviz_app.pages.{name} import page

open_link("{name}")
page.main()
"""

# A shell without job control has what it starts in the background ignore Ctrl-C, and so would the commands
# that tests start and interrupt; a handler is not handed on to them, and they begin with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each AppTest reads the metadata of all installed packages: most of the time of a page. Once is enough.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

# Runs at full speed get what pages leave of the cores: nothing, beside tests that all wait for such runs.
pools.lower_priority = lambda niceness: None

atexit.register(app_test.TMP_DIR.cleanup)  # Streamlit leaves it to Python, which warns of it at the end


def pytest_addoption(parser):
    text = "how long each attack lasts (pytest -m attack), default 1"
    parser.addoption("--attack-minutes", type=float, default=1.0, metavar="M", help=text)


def pytest_sessionstart(session):
    """Compile all kernels before the processes of a whole run begin: each would compile them anew."""
    if session.config.getoption("numprocesses", None) and not os.environ.get("NUMBA_DISABLE_JIT"):
        COMPILING.start()
        COMPILING.finish()


def pytest_collection_modifyitems(config, items):
    """Leave out attacks, claims and long forms, unless ``-m`` names their mark."""
    unnamed = [mark for mark in ("attack", "claims", "slow") if mark not in config.option.markexpr]
    left_out = [item for item in items if any(map(item.get_closest_marker, unnamed))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


class Clock:
    """A clock that stands still until ``now`` is put forward by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rbm() -> RBM:
    """A small model of 5 visible and 3 hidden units: different numbers, so that swapped layers show."""
    g = np.random.default_rng(7)
    return RBM(g.normal(0, 1, (5, 3)), g.normal(0, 0.5, 5), g.normal(0, 0.5, 3))


@pytest.fixture
def model(rbm: RBM) -> Model:
    """The small model with the rates of random data."""
    data = np.random.default_rng(8).integers(0, 2, (40, 5), dtype=np.uint8)
    return Model(rbm, rbm.rates(data), {"dataset": "random bits"})


@pytest.fixture(scope="session")
def wide() -> Model:
    """70 x 37 units with rates: wider than a block of the generator or a tile, and no multiple of either."""
    g = np.random.default_rng(1)
    rbm = RBM(g.normal(0, 0.3, (70, 37)), g.normal(0, 0.5, 70), g.normal(0, 0.5, 37))
    return Model(rbm, rbm.rates(g.integers(0, 2, (200, 70), dtype=np.uint8)))


@pytest.fixture
def toy() -> Dataset:
    """A data set of 5 random bits with two classes, the value of the first bit."""
    g = np.random.default_rng(3)
    train, validation, test = (g.integers(0, 2, (n, 5), dtype=np.uint8) for n in (40, 11, 17))
    labels = train[:, 0].astype(np.int64)
    return Dataset("toy", train, validation, test, "drawn as bits", "none", labels, classes=("zero", "one"))


@pytest.fixture
def data_dir(monkeypatch) -> Path:
    """The folder with the published arrays (mnist.npz ...): RBMVIZ_DATA_DIR, or else ../shared/data."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RBMVIZ_DATA_DIR", beside))
    if not (folder / "mnist.npz").is_file():
        pytest.skip("no folder with mnist.npz: set RBMVIZ_DATA_DIR")
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _nothing_left_running(monkeypatch, tmp_path_factory):
    """Release the memory of all runs: the pages of one test process share the memory limit of one server.

    The server's sweeps go to a folder of the tests.
    """
    monkeypatch.setenv("RBMVIZ_SWEEPS_DIR", str(tmp_path_factory.getbasetemp() / "sweeps"))
    yield
    if "rbmviz_app.races" in sys.modules:
        for race in list(sys.modules["rbmviz_app.races"].races_by_token().values()):
            race.close()
            race.free()


class OnePlan:
    """A setup of one plan."""

    def __init__(self, plan):
        self.plan = lambda: plan


class OnePanel:
    """A page with one panel, whose commands and queries it takes."""

    def __init__(self, plan, algorithm, **options):
        self.race = Race(OnePlan(plan), **options)
        self.race.add(algorithm)

    def __getattr__(self, name):
        return getattr(self.race if hasattr(self.race, name) else self.race[0], name)

    def request_snapshot(self):
        return self.race.poll()[0][1]

    def peek(self):
        return self.race[0].snapshot

    def apply_knobs(self, **knobs):
        self.race.apply_knobs(0, **knobs)


@pytest.fixture
def open_worker():
    """Make pages with one panel, given its plan and algorithm; they are closed after the test."""
    made = []

    def make(*args, **options):
        made.append(OnePanel(*args, **options))
        return made[-1]

    yield make
    for one in made:
        close(one.race)


@pytest.fixture
def make_race():
    """What makes a race; in the tests of the app, a page's."""
    return Race


@pytest.fixture
def open_race(make_race):
    """Make races with a panel for each algorithm; they are closed after the test."""
    made = []

    def make(setup, *algorithms, **options):
        made.append(make_race(setup, **options))
        for algorithm in algorithms:
            made[-1].add(algorithm)
        return made[-1]

    yield make
    for race in made:
        close(race)


@pytest.fixture
def page(monkeypatch):
    """Run pages of the app without a browser, and stop their threads afterwards.

    Arguments of the function: ``name`` of the page; ``shell``, whether the page is opened through the app's
    shell, which checks the address first; ``state`` of the session before the page is drawn; ``query``
    parameters of the address.
    """
    import page_settings  # noqa: F401 (which imports the app: not before a test needs it)

    # Streamlit leaves its script there, which a process that a later test starts would run.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    opened = []

    def run(name, *, shell=False, state=(), **query):
        script = WITHOUT_SHELL.format(name=name)
        test = AppTest.from_file(str(SHELL)) if shell else AppTest.from_string(script)
        test.default_timeout = 90
        if shell and name != "sample":  # the first page, which the shell opens itself
            # switch_page knows pages by their address only after a run, which would open the first page.
            test._page_hash = calc_hash(name)
        for key, value in query.items():
            test.query_params[key] = value
        for key, value in dict(state).items():
            test.session_state[key] = value
        opened.append(test.run())
        assert not test.exception
        return test

    yield run
    for test in opened:
        races = test.session_state["races"] if "races" in test.session_state else {}
        for race in races.values():
            close(race)


@pytest.fixture
def address_of():
    """Return what a page lets its address say."""

    def address(test):
        [address] = [element.proto for element in test.get("bidi_component") if "address" in element.proto.id]
        said = json.loads(address.json)
        return defaultdict(list, {k: values for k, values in said["parts"].items() if values})

    return address


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Serve tmp_path/www as the mirror of all downloads, with an empty cache."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "www").mkdir()
    handler = functools.partial(Quiet, directory=tmp_path / "www")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("RBMVIZ_DATA_MIRROR", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
        yield tmp_path / "www"
        server.shutdown()
        thread.join()


@pytest.fixture
def no_plugins(monkeypatch):
    """What a test plugs in is gone after it."""
    monkeypatch.setenv("RBMVIZ_PLUGINS", "")
    for table in (samplers, trainers):
        assert list(table)
        monkeypatch.setattr(table, "_entries", dict(table._entries))
    yield
    for name in [name for name in sys.modules if name.endswith(".py")]:
        del sys.modules[name]
