"""The numbers of the panels: two large ones each, help for every one, and all of them in the glossary."""

from dataclasses import replace

import pytest

from app.formulas import mathml, prose
from app.messages import plain
from app.pages.chain.panel import READOUTS as WALKS
from app.pages.coupling.panel import READOUTS as LANES
from app.pages.sample import panel as sample
from app.pages.train import panel as train
from app.pages.weights.panel import READOUTS as WEIGHTS
from rbmviz import make_sampler, make_trainer
from rbmviz.glossary import glossary
from rbmviz.session import SamplingSetup, TrainingSetup
from rbmviz.trainers import list_trainers


def test_every_panel_has_two_large_numbers_and_every_number_its_help(model, toy):
    several, plan = make_sampler("gibbs", n_chains=3), SamplingSetup(model, toy).plan()
    data = {"labels": toy, "no labels": replace(toy, train_labels=None, classes=()), "no data": None}
    sampled = {
        label: sample.readouts(several, plan._replace(dataset=dataset)) for label, dataset in data.items()
    }
    large = {
        label: [readout.name for readout in declared if readout.lead] for label, declared in sampled.items()
    }
    # Without data nothing is scored, without labels there are no classes: others take the places.
    assert large == {
        "labels": ["visited", "isl"],
        "no labels": ["isl", "spurious"],
        "no data": ["rate", "sweeps"],
    }
    trained = [train.readouts(make_trainer(name), TrainingSetup(toy).plan()) for name in list_trainers()]
    for declared in (*sampled.values(), *trained, *LANES, WEIGHTS, WALKS):
        assert sum(readout.lead for readout in declared) == 2
        for readout in declared:
            spec = readout.spec()
            assert spec["source"]
            assert "".join(part for part in spec["help"] if isinstance(part, str)).endswith(".")
            assert spec["formula"].startswith("<math") or not readout.formula


def test_prose_is_text_with_formulas():
    assert prose("Draw $h$, then $v$.") == [
        "Draw ", {"math": mathml("h")}, ", then ", {"math": mathml("v")}, ".",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="not known"):
        mathml(r"\nosuchcommand{x}")


def test_the_glossary_has_all_words_and_all_numbers(page):
    shown = page("glossary")
    written = "\n".join(element.value for element in (*shown.markdown, *shown.caption))
    for part in glossary():
        assert f"###### {part.title}" in written
        for word in part.meanings:
            assert f"- **{plain(word)}**: " in written
    assert [fold.label for fold in shown.expander] == [
        "Sample", "Train", "Coupling", "Weights", "Little chain", "Words of the program",
    ]  # fmt: skip
    for declared in (sample.every_readout(), train.every_readout(), WEIGHTS, WALKS, LANES[0]):
        for readout in declared:
            assert readout.help in written
            assert readout.source in written
