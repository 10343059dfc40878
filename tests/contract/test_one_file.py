"""One file: a sampler, a trainer, a live metric; one folder: a page. Throw-away ones are found everywhere."""

import importlib
import json
import sys

import numpy as np
import pytest
from waiting import wait

import rbmviz
from rbmviz.cli import main
from rbmviz.knobs import write_algorithm
from rbmviz.registry import live_metrics, samplers, trainers
from rbmviz.session import SamplingSetup, TrainingSetup
from rbmviz.testing import SAMPLER_PROMISES, check_trainer
from rbmviz_app import pages

SAMPLER = '''
"""Metropolis sampling that flips one visible unit at a time."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import starts


@dataclass
class FlipChain:
    """State: the model, v, its free energy, its random numbers."""

    rbm: object
    v: np.ndarray
    energy: float
    generator: np.random.Generator


@sampler("flips", label="Single flips", paper="Metropolis et al. (1953), section II")
class Flips:
    """Flip one unit, accepted with probability min(1, exp(F(v) - F(v')))."""

    exact_chain: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    n_chains: ClassVar[int] = 1

    flips: int = knob(4, 1, 100, label="Flips", scale="log", help="Proposals between two samples.")

    def init(self, model, seed, v0=None):
        [(v, _)] = starts(1, model, seed, v0)
        return FlipChain(model.rbm, v, float(model.rbm.free_energy(v)), rng.generator(seed, "flips"))

    def step(self, chain, n):
        v = np.empty((n, len(chain.v)), np.uint8)
        for row in v:
            for unit in chain.generator.integers(len(chain.v), size=self.flips):
                chain.v[unit] ^= 1
                energy = float(chain.rbm.free_energy(chain.v))
                if chain.generator.random() < np.exp(min(chain.energy - energy, 0.0)):
                    chain.energy = energy
                else:
                    chain.v[unit] ^= 1
            row[:] = chain.v
        return Samples(v, v.astype(np.float32), {"sweeps": np.ones(n, np.int64)})

    def target(self, chain):
        return chain.rbm
'''

TRAINER = '''
"""Contrastive divergence with means in the place of the last draw."""

from typing import ClassVar

from rbmviz.registry import trainer
from rbmviz.trainers import batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs


@trainer("mean_cd", label="Mean CD", paper="Hinton (2002), with means")
class MeanCD(CommonKnobs):
    """Negative statistics from k sweeps and a last one without a draw."""

    chains: ClassVar[str] = "fresh"
    own_stats: ClassVar[dict[str, str]] = {"sharpness": "Mean distance of E[h|v] to 1/2"}

    k: int = common_knobs.k()

    def init(self, rbm, data, seed):
        return training.start(self, rbm, data, seed)

    def negative(self, state, theta, data):
        for _ in range(self.k):
            data = batches.sweep(theta, data, state.stream)
        state.samples = data
        return batches.statistics(data, batches.mean_hidden(theta, data))

    def step(self, state, n):
        training.advance(self, state, n)
        h = 0.5 if state.samples is None else state.theta.c.mean()
        return training.progress(self, state, sharpness=float(abs(h - 0.5)))
'''

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
    comparison = PAGE.open(PAGE.setup_of({"twins_seed": seed}))
    with PAGE.notes():
        st.caption("Both are of one model.")
    PAGE.draw_panels(comparison, "twins_grid", partial(sample_grid, view="sequence", side=4))


if __name__ == "__main__":
    main()
'''


@pytest.fixture
def new_files(tmp_path, monkeypatch):
    """Files of each kind, found as if they lay in the folders of the package; gone after the test."""
    for table, name, text in (
        (samplers, "flips", SAMPLER),
        (trainers, "mean_cd", TRAINER),
        (live_metrics, "different", METRIC),
    ):
        assert list(table)  # those of the package are found, and stay when these are gone
        package = importlib.import_module(table.package)
        folder = tmp_path / table.kind
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_discovered", False)
        assert name in list(table)
    yield tmp_path
    for name in ("rbmviz.samplers.flips", "rbmviz.trainers.mean_cd", "rbmviz.metrics.different"):
        package, _, attribute = name.rpartition(".")
        delattr(sys.modules[package], attribute)
        del sys.modules[name]


def test_they_keep_the_contract(new_files):
    assert (len(SAMPLER.splitlines()), len(TRAINER.splitlines())) <= (61, 45)
    assert {"flips"} < set(rbmviz.list_samplers())
    assert {"mean_cd"} < set(rbmviz.list_trainers())
    for promise, check in SAMPLER_PROMISES.items():
        if "leaves the law" not in promise:  # which takes longest, and is a matter of this file alone
            check(samplers["flips"])
    check_trainer(trainers["mean_cd"])


def test_the_command_line_has_them(new_files, capsys):
    def run(*arguments):
        status = main([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        assert status == 0, captured.err
        return json.loads(captured.out)

    listed = run("list", "samplers", "trainers")
    assert "Single flips" in {entry["label"] for entry in listed["samplers"]}
    [own] = (entry for entry in listed["trainers"] if entry["name"] == "mean_cd")
    assert own["knobs"][0]["name"] == "k"
    model, made = new_files / "m.safetensors", new_files / "s.npz"
    assert main(["sample", "--help"]) == 0
    assert "knobs of flips:" in capsys.readouterr().out
    trained = run(
        "train",
        "--dataset",
        "bas",
        "--trainer",
        "mean_cd",
        "--k",
        2,
        "--n-hidden",
        4,
        "--iterations",
        20,
        "--out",
        model,
        "--history",
        new_files / "h.csv",
    )
    assert trained["updates"] == 20
    assert "sharpness" in (new_files / "h.csv").read_text().splitlines()[0]
    sampled = run("sample", "--model", model, "--sampler", "flips", "--flips", 4, "-n", 200, "--out", made)
    assert sampled["n"] == 200
    assert np.isfinite(run("score", made, "--dataset", "bas")["isl"])


def test_a_session_runs_them(new_files, open_worker, model, toy):
    for setup, algorithm in (
        (SamplingSetup(model, toy), rbmviz.make_sampler("flips")),
        (TrainingSetup(toy, 3), rbmviz.make_trainer("mean_cd", batch_size=10)),
    ):
        worker = open_worker(setup.plan(), algorithm)
        worker.step(12)
        wait(lambda worker=worker: worker.request_snapshot().n == 12, "twelve steps")
        worker.apply_knobs(**{"flips": 3} if algorithm.name == "flips" else {"learning_rate": 0.2})
        worker.step(60)
        wait(lambda worker=worker: worker.request_snapshot().n == 72, "sixty more")
        assert not worker.request_snapshot().error
        if algorithm.name == "flips":
            v = np.unpackbits(worker.request_snapshot().newest_samples.v, axis=1)
            assert worker.request_snapshot().live_numbers == {"different": len(np.unique(v[-60:], axis=0))}


@pytest.mark.parametrize(("name", "new"), [("sample", "flips"), ("chain", "flips"), ("train", "mean_cd")])
def test_every_page_that_offers_algorithms_offers_them(new_files, page, name, new):
    test = page(name, **({"little": "landscape"} if name == "chain" else {}))
    test.button(key=f"{name} add {new}").click().run()
    assert not test.exception
    [(comparison, _)] = test.session_state["comparisons"].values()
    assert comparison.panels[-1].algorithm.name == new
    wait(lambda: comparison.poll()[-1][1].n > 0, "the first step of the new panel")
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


def forget_pages():
    """Let the folders be looked through again."""
    for function in (pages.page_modules, pages.names_of_other_pages):
        function.cache_clear()


def test_a_folder_is_a_page(tmp_path, monkeypatch, page, address_of):
    folder = tmp_path / "twins"
    folder.mkdir()
    (folder / "page.py").write_text(PAGE)
    monkeypatch.setattr(pages, "__path__", [*pages.__path__, str(tmp_path)])
    forget_pages()
    try:
        test = page("twins", shell=True, twins_seed="3")
        [(comparison, _)] = test.session_state["comparisons"].values()
        assert [panel.algorithm for panel in comparison.panels] == [
            rbmviz.make_sampler("gibbs", k=k) for k in (1, 2)
        ]
        assert comparison.setup.seed == 3
        wait(lambda: all(shown.n > 0 for _, shown in comparison.poll()), "samples of both")
        assert address_of(test)["twins_seed"] == ["3"]
        assert address_of(test)["twin"] == [
            write_algorithm(rbmviz.make_sampler("gibbs", k=k)) for k in (1, 2)
        ]
        again = page("twins", shell=True, twin="rates_fpcd:eps=0.5", twins_speed="10")
        assert address_of(again)["twin"][0].startswith("rates_fpcd:eps=0.5,alpha=1.0,")
        assert again.session_state["comparisons"]["twins"][0].rate == 10
        # Other pages take its names out of the address, and it takes theirs.
        assert {"twin", "twins_seed"} <= set(pages.names_of_other_pages("sample"))
        assert "twin" not in pages.names_of_other_pages("twins")
    finally:
        forget_pages()
        for name in ("twins.page", "twins"):
            del sys.modules[f"rbmviz_app.pages.{name}"]
