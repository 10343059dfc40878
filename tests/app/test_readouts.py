"""The numbers of the panels: two large ones each, help for every one, and all of them in the glossary."""

import ast
import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

import rbmviz
import rbmviz_app
from rbmviz import make_sampler, make_trainer
from rbmviz.glossary import glossary
from rbmviz.metrics import isl
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, OF_LANDSCAPE, OF_WEIGHTS
from rbmviz.pages import PAGES
from rbmviz.registry import trainers
from rbmviz.samplers import list_samplers
from rbmviz.session import Coupling, SamplingSetup, TrainingSetup
from rbmviz.trainers import list_trainers
from rbmviz.view.formulas import mathml, prose
from rbmviz.view.specs import about, readout_specs
from rbmviz_app.messages import plain
from rbmviz_app.pages.coupling.panel import READOUTS as PAIR_COLUMNS
from rbmviz_app.pages.sample import panel as sample
from rbmviz_app.pages.train import panel as train


def test_every_panel_has_two_large_numbers_and_every_number_its_help(model, toy):
    several, plan = make_sampler("gibbs", n_chains=3), SamplingSetup(model, toy).plan()
    data = {"labels": toy, "no labels": replace(toy, train_labels=None, classes=()), "no data": None}
    sampled = {
        label: sample.readouts(several, plan._replace(dataset=dataset)) for label, dataset in data.items()
    }
    large = {
        label: [spec["name"] for spec in readout_specs(declared) if spec["lead"]]
        for label, declared in sampled.items()
    }
    # Without data nothing is scored, without labels there are no classes: others take the places.
    assert large == {
        "labels": ["visited", "isl"],
        "no labels": ["isl", "spurious"],
        "no data": ["rate", "sweeps"],
    }
    trained = [train.readouts(make_trainer(name), TrainingSetup(toy).plan()) for name in list_trainers()]
    for declared in (*sampled.values(), *trained, *PAIR_COLUMNS, OF_WEIGHTS, OF_LANDSCAPE):
        specs = readout_specs(declared)
        assert [spec["lead"] for spec in specs] == [True, True] + [False] * (len(declared) - 2)
        for spec in specs:
            assert spec["source"]
            assert "".join(part for part in spec["help"] if isinstance(part, str)).endswith(".")
            assert spec["formula"].startswith("<math") or not spec["formula"]


def test_the_formula_of_the_isl_is_that_of_its_kernel(model, toy):
    sampler = make_sampler("gibbs")
    for dataset in (toy, replace(toy, train_labels=None, classes=())):
        found = {}
        for kernel in ("binary", "mean"):
            plan = SamplingSetup(model, dataset, kernel=kernel).plan()
            [found[kernel]] = [one for one in sample.readouts(sampler, plan) if one.name == "isl"]
        assert found["binary"] is ISL_OF_SAMPLES
        assert "p_{sd}" in found["mean"].formula
        assert readout_specs([found["mean"]])[0]["formula"].startswith("<math")


@pytest.mark.parametrize(
    "algorithm",
    [*map(make_sampler, list_samplers()), *map(make_trainer, list_trainers()), Coupling()],
    ids=lambda algorithm: algorithm.name,
)
def test_the_help_of_a_panel_is_prose_with_set_formulas(algorithm):
    parts = prose(about(algorithm))
    text = "".join(part for part in parts if isinstance(part, str))
    assert text.endswith(f" Source: {algorithm.paper}.")
    assert not re.search(r"[<>=\\_^|$]", text)


def test_prose_is_text_with_formulas():
    assert prose("Draw $h$, then $v$.") == [
        "Draw ", {"math": mathml("h")}, ", then ", {"math": mathml("v")}, ".",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="cannot show"):
        mathml(r"\nosuchcommand{x}")


def test_the_glossary_has_all_words_and_all_numbers(page):
    shown = page("glossary")
    written = "\n".join(element.value for element in (*shown.markdown, *shown.caption))
    for part in glossary():
        for word in part.meanings:
            assert f"- **{plain(word)}**: " in written
    titles = [part.title for part in glossary()]
    of_numbers = ["Sample", "How it works", "Train", "Coupling", "Weights"]
    assert [fold.label for fold in shown.expander] == titles[:5] + of_numbers + titles[5:]
    assert [fold.label for fold in shown.expander if fold.proto.expanded] == ["First words"]
    for spec in PAGES.values():
        for number in spec.numbers(None).values():
            assert number.help in written
            assert number.source in written or number.label in ("Fast norm", "ESS")


@pytest.mark.parametrize(
    "module", ["sample.page", "train.page", "coupling.page", "weights.page", "chain.landscape"]
)
def test_each_page_says_what_it_shows_and_explains_its_words(module):
    about = importlib.import_module(f"rbmviz_app.pages.{module}").PAGE.about
    own = {"sample.page": "**rates**", "chain.landscape": "**mode**", "coupling.page": "**chain**"}
    assert about.startswith("Each ")
    assert all(word in about for word in ("**model**", "**sweep**", own.get(module, "**sweep**")))
    assert len(about.split()) <= 120


def test_no_label_of_a_number_is_written_a_second_time():
    """Charts, tables and measures take it from the catalogue: a wrong one is mended in one file."""
    labels = {number.label for page in PAGES.values() for number in page.numbers(None).values()}
    labels -= {"Samples", "ISL"}  # also a word of axes, and the value of a setting in addresses
    for cls in map(trainers.__getitem__, list_trainers()):
        labels -= set(cls.own_stats.values())  # declared there
    labels |= {"ISL (nats)"}
    second = [
        f"{path.name}: {node.value}"
        for package in (rbmviz, rbmviz_app)
        for path in Path(package.__file__).parent.rglob("*.py")
        if path.name not in ("numbers.py", "agreement.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and {str(node.value), str(node.value).partition(" (")[0]} & labels
    ]
    assert second == []


def test_change_of_a_knob_is_compared_at_equal_samples(model, toy):
    """The ISL of the first n samples since the newest turn, and of the first n before it."""
    run = SamplingSetup(model, toy).plan().run(1, make_sampler("rates_fpcd", eps=0.0))
    run.prepare()

    def text_after(n):
        while run.n < n:
            run.record_steps(run.advance(min(run.max_steps(), n - run.n)))
        return sample.change_text([("rates-FPCD", run.view("paused"))])

    assert text_after(300) == ""
    run.set_knobs(make_sampler("rates_fpcd", eps=0.03))
    assert text_after(320) == "rates-FPCD: step size 0 → 0.03, since sample 301"
    said = re.fullmatch(
        r"rates-FPCD: step size 0 → 0\.03: ISL after (\d+) samples (-?[\d.]+), before (-?[\d.]+)",
        text_after(420),
    )
    n, now, before = int(said[1]), float(said[2]), float(said[3])
    assert 100 < n <= 120
    v = run.held_samples()[1]
    for score, first in ((now, 300), (before, 0)):
        assert score == round(isl(v[first : first + n], toy.test, toy.validation).isl, 1)
