"""One file: a sampler, a trainer, a live metric; one folder: a page. Throw-away ones are found everywhere.

The sampler and the trainer are the documentation's, as plug-ins.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from command_line import run as run_words
from page_examples import EXAMPLES
from waiting import wait

import rbmviz
from rbmviz import registry
from rbmviz.cli import main
from rbmviz.errors import quoted
from rbmviz.knobs import write_algorithm
from rbmviz.registry import live_metrics, samplers, trainers
from rbmviz.session import SamplingSetup, TrainingSetup
from rbmviz.testing import SAMPLER_PROMISES, check_trainer
from rbmviz_app import pages

pytestmark = pytest.mark.usefixtures("no_plugins")

METRIC = '''
"""How many of the samples are different."""

from typing import ClassVar

from rbmviz.metrics.live import live_number
from rbmviz.metrics.numbers import Number
from rbmviz.registry import live_metric


@live_metric("different")
class Different:
    """Number of different rows among all samples so far."""

    numbers: ClassVar[tuple[Number, ...]] = (
        live_number("different", "Different samples", "How many.", "compact", source="Counted here."),
    )

    def __init__(self, dataset, n_chains):
        self._seen = set()

    @staticmethod
    def applies(n_chains):
        return True

    def update(self, v):
        self._seen.update(row.tobytes() for row in v)

    def values(self):
        return {"different": len(self._seen)}
'''

PAGE = '''
"""Two chains of one small model, side by side."""

from functools import partial

import streamlit as st

from rbmviz.pages import SettingSpec, PageSpec
from rbmviz.pages.settings import Whole
from rbmviz.registry import samplers
from rbmviz.session import SamplingSetup
from rbmviz_app import controls
from rbmviz_app.page import LivePage, Transport
from rbmviz_app.pages.sample.panel import sample_grid
from rbmviz_app.session import PageSettings

TITLE, ICON, PLACE = "Twins", "group", 8


def setup(values, sources):
    """Return what both panels share."""
    return SamplingSetup(sources.model("bas_pcd"), None, values["twins_seed"])


SPEC = PageSpec(
    name="twins",
    panels_key="twin",
    algorithms=samplers,
    default_panels=("gibbs", "gibbs:k=2"),
    settings={
        "twins_seed": SettingSpec(0, Whole(0, 99), "Seed", makes_samples=True),
        "twins_speed": SettingSpec(30, (10, 30), "Samples per second"),
    },
    setup=setup,
    steps="samples",
    speed="twins_speed",
)
Settings = PageSettings(SPEC.settings)

PAGE = LivePage(
    SPEC,
    Settings,
    question="Do two chains of one model differ?",
    about="Two chains.",
    presets=(),
    transport=Transport("Go.", "One more.", "Back."),
)


def main():
    """Draw the page."""
    PAGE.heading()
    with PAGE.toolbar():
        seed = controls.number(Settings.twins_seed)
    race = PAGE.open(PAGE.setup_of({"twins_seed": seed}))
    with PAGE.notes():
        st.caption("Both are of one model.")
    PAGE.draw_panels(race, "twins_grid", partial(sample_grid, view="sequence", side=4))


if __name__ == "__main__":
    main()
'''


@pytest.fixture
def new_files(tmp_path, monkeypatch):
    """The documentation's algorithms, and a metric as if in the package's folder; gone after the test."""
    (tmp_path / "different.py").write_text(METRIC)
    assert list(live_metrics)  # those of the package are found, and stay when this one is gone
    package = importlib.import_module(live_metrics.package)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(live_metrics, "_entries", dict(live_metrics._entries))
    monkeypatch.setattr(live_metrics, "_discovered", False)
    assert "different" in list(live_metrics)
    for name in ("metropolis", "restarts"):
        registry.plug_in(str(EXAMPLES / f"{name}.py"))
    yield tmp_path
    del package.different
    del sys.modules["rbmviz.metrics.different"]


TAKEN = """
from rbmviz.registry import sampler
from rbmviz.samplers.gibbs import Gibbs
for name in ("new", "gibbs"):
    sampler(name, label="G", paper="P")(type("Mine", (Gibbs,), {"__module__": __name__}))
"""
BROKEN = {
    "import numpy\n\nraise RuntimeError('half\\nwritten')": "RuntimeError: half (line 3).",
    "def f(:": "SyntaxError: invalid syntax (line 1).",
    "import sys; sys.exit(3)": "SystemExit: 3 (line 1).",
    "": "it has no sampler and no trainer.",
    TAKEN: "'gibbs' is the name of a sampler of rbmviz.samplers.gibbs: choose another.",
}


def test_plugins_of_the_environment_and_of_packages(tmp_path):
    """A broken one takes nothing else with it; those of packages need no more than their metadata."""
    named = [tmp_path / f"{i}.py" for i in range(len(BROKEN))]
    for file, content in zip(named, BROKEN, strict=True):
        file.write_text(content)
    info = tmp_path / "site" / "some-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[rbmviz.algorithms]\na = missing\nb = metropolis\n")
    shutil.copy(EXAMPLES / "metropolis.py", info.parent)
    paths = os.pathsep.join([str(info.parent), os.environ.get("PYTHONPATH", "")])
    plugins = os.pathsep.join(map(str, [*named, EXAMPLES / "restarts.py"]))
    environment = os.environ | {"RBMVIZ_PLUGINS": plugins, "PYTHONPATH": paths}
    words = [sys.executable, "-m", "rbmviz", "list", "samplers", "trainers", "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    listed = json.loads(done.stdout)
    assert {each["name"]: each["where"] for kind in listed.values() for each in kind if "where" in each} == {
        "metropolis": "metropolis",
        "restarts": str(EXAMPLES / "restarts.py"),
    }
    assert {each["name"] for each in listed["samplers"]} == {*samplers, "metropolis"}
    missing = "ModuleNotFoundError: No module named 'missing'."
    said = zip([*map(str, named), "missing"], [*BROKEN.values(), missing], strict=True)
    sentences = [f"The plug-in {quoted(name)} cannot be used: {why}" for name, why in said]
    assert done.stderr.splitlines() == sentences


def test_they_keep_the_contract(new_files):
    for promise, check in SAMPLER_PROMISES.items():
        if "leaves the law" not in promise:  # which takes longest, and is a matter of this file alone
            check(samplers["metropolis"])
    check_trainer(trainers["restarts"])


def test_the_command_line_has_them(new_files, capsys):
    def run(line):
        assert main([*line.split(), "--plugin", str(EXAMPLES / "metropolis.py"), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    listed = run("list samplers trainers")
    assert "Metropolis" in {entry["label"] for entry in listed["samplers"]}
    [own] = (entry for entry in listed["trainers"] if entry["name"] == "restarts")
    assert own["knobs"][0]["name"] == "restart"
    assert main(["sample", "--help"]) == 0
    assert "knobs of metropolis:" in capsys.readouterr().out
    model, made, history = (new_files / name for name in ("m.safetensors", "s.npz", "h.csv"))
    training = "train --dataset bas --trainer restarts --k 2 --n-hidden 4 --iterations 20"
    assert run(f"{training} --out {model} --history {history}")["updates"] == 20
    assert "active" in history.read_text().splitlines()[0]
    sampled = run(f"sample --model {model} --sampler metropolis --flips 4 -n 200 --out {made}")
    assert sampled["n"] == 200
    swept = f"sweep --model {model} --dataset bas --sampler metropolis --axis flips=1,9 -n 50"
    assert run(f"{swept} --replications 1 --out {new_files / 'sweep'}")["done"] == 2
    assert str(EXAMPLES / "metropolis.py") in os.environ["RBMVIZ_PLUGINS"]  # for what a command starts
    assert np.isfinite(run_words(capsys, "score", made, "--dataset", "bas")["isl"])


def test_a_session_runs_them(new_files, open_worker, model, toy):
    for setup, name, knobs in (
        (SamplingSetup(model, toy), "metropolis", {"flips": 3}),
        (TrainingSetup(toy, 3), "restarts", {"learning_rate": 0.2}),
    ):
        make = rbmviz.make_sampler if name == "metropolis" else rbmviz.make_trainer
        worker = open_worker(setup.plan(), make(name))
        worker.step(12)
        wait(lambda worker=worker: worker.request_snapshot().n == 12, "twelve steps")
        worker.apply_knobs(**knobs)
        worker.step(60)
        wait(lambda worker=worker: worker.request_snapshot().n == 72, "sixty more")
        shown = worker.request_snapshot()
        assert not shown.error
        if name == "metropolis":
            v = np.unpackbits(shown.newest_samples.v, axis=1)
            assert shown.live_numbers == {"different": len(np.unique(v[-60:], axis=0))}


@pytest.mark.parametrize(
    ("name", "new"), [("sample", "metropolis"), ("chain", "metropolis"), ("train", "restarts")]
)
def test_every_page_that_offers_algorithms_offers_them(new_files, page, name, new):
    test = page(name, **({"little": "landscape"} if name == "chain" else {}))
    test.button(key=f"{name} add {new}").click().run()
    assert not test.exception
    [race] = test.session_state["races"].values()
    assert race.panels[-1].algorithm.name == new
    wait(lambda: race.poll()[-1][1].n > 0, "the first step of the new panel")
    test.run()
    assert not test.exception
    if name == "sample":  # the live metric has a number on every panel, and help in the glossary
        [grid] = [
            json.loads(one.proto.json) for one in test.get("bidi_component") if "readouts" in one.proto.json
        ]
        for panel in grid["panels"]:
            assert "Different samples" in {readout["label"] for readout in panel["readouts"]}
        shown = page("glossary")
        assert any("Different samples" in text.value for text in shown.markdown)


def test_a_folder_is_a_page(tmp_path, monkeypatch, page, address_of):
    folder = tmp_path / "twins"
    folder.mkdir()
    (folder / "page.py").write_text(PAGE)
    monkeypatch.setattr(pages, "__path__", [*pages.__path__, str(tmp_path)])
    found = pages.page_modules, pages.names_of_other_pages
    for function in found:
        function.cache_clear()
    try:
        test = page("twins", shell=True, twins_seed="3")
        [race] = test.session_state["races"].values()
        assert [panel.algorithm for panel in race.panels] == [
            rbmviz.make_sampler("gibbs", k=k) for k in (1, 2)
        ]
        assert race.setup.seed == 3
        wait(lambda: all(shown.n > 0 for _, shown in race.poll()), "samples of both")
        assert address_of(test)["twins_seed"] == ["3"]
        assert address_of(test)["twin"] == [
            write_algorithm(rbmviz.make_sampler("gibbs", k=k)) for k in (1, 2)
        ]
        again = page("twins", shell=True, twin="rates_fpcd:eps=0.5", twins_speed="10")
        assert address_of(again)["twin"][0].startswith("rates_fpcd:eps=0.5,alpha=1.0,")
        assert again.session_state["races"]["twins"].rate == 10
        # Other pages take its names out of the address, and it takes theirs.
        assert {"twin", "twins_seed"} <= set(pages.names_of_other_pages("sample"))
        assert "twin" not in pages.names_of_other_pages("twins")
    finally:
        for function in found:
            function.cache_clear()
        for name in ("twins.page", "twins"):
            del sys.modules[f"rbmviz_app.pages.{name}"]
