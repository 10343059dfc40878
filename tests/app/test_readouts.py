"""The numbers of the panels: two large ones each, help for every one, and all of them in the glossary."""

import re
from dataclasses import replace

import pytest

from rbmviz import make_sampler, make_trainer
from rbmviz.metrics import isl
from rbmviz.metrics.numbers import OF_LANDSCAPE, OF_WEIGHTS
from rbmviz.samplers import list_samplers
from rbmviz.session import Coupling, SamplingSetup, TrainingSetup
from rbmviz.trainers import list_trainers
from rbmviz.view.formulas import prose
from rbmviz.view.specs import about, readout_specs
from rbmviz_app.pages.coupling.panel import READOUTS as PAIR_COLUMNS
from rbmviz_app.pages.sample import panel as sample
from rbmviz_app.pages.train import panel as train


def test_every_panel_has_two_large_numbers_and_every_number_its_help(model, toy):
    """Without data nothing is scored, without labels there are no classes: others take the places."""
    several, plan = make_sampler("gibbs", n_chains=3), SamplingSetup(model, toy).plan()
    declared = [train.readouts(make_trainer(name), TrainingSetup(toy).plan()) for name in list_trainers()]
    for dataset in (toy, replace(toy, train_labels=None, classes=()), None):
        declared.append(sample.readouts(several, plan._replace(dataset=dataset)))
    for numbers in (*declared, *PAIR_COLUMNS, OF_WEIGHTS, OF_LANDSCAPE):
        specs = readout_specs(numbers)
        assert [spec["lead"] for spec in specs] == [True, True] + [False] * (len(numbers) - 2)
        for spec in specs:
            assert spec["source"]
            assert "".join(part for part in spec["help"] if isinstance(part, str)).endswith(".")
            assert spec["formula"].startswith("<math") or not spec["formula"]


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
