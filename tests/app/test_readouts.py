"""The numbers of the panels: two large ones each, and help for every one."""

from dataclasses import replace

import pytest

from app.formulas import mathml, prose
from app.pages.chain.panel import READOUTS as WALKS
from app.pages.coupling.panel import READOUTS as LANES
from app.pages.sample.panel import readouts as of_samplers
from app.pages.train.panel import readouts as of_trainers
from app.pages.weights.panel import READOUTS as WEIGHTS
from rbmviz import make_sampler, make_trainer
from rbmviz.session import SamplingSetup, TrainingSetup
from rbmviz.trainers import list_trainers


def test_every_panel_has_two_large_numbers_and_every_number_its_help(model, toy):
    several, plan = make_sampler("gibbs", n_chains=3), SamplingSetup(model, toy).plan()
    data = {"labels": toy, "no labels": replace(toy, train_labels=None, classes=()), "no data": None}
    sampled = {label: of_samplers(several, plan._replace(dataset=dataset)) for label, dataset in data.items()}
    large = {
        label: [readout.name for readout in declared if readout.lead] for label, declared in sampled.items()
    }
    # Without data nothing is scored, without labels there are no classes: others take the places.
    assert large == {
        "labels": ["visited", "isl"],
        "no labels": ["isl", "spurious"],
        "no data": ["rate", "sweeps"],
    }
    trained = [of_trainers(make_trainer(name), TrainingSetup(toy).plan()) for name in list_trainers()]
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
