"""Plans: their checks at the door, their order, their JSON."""

import dataclasses
import json

import numpy as np
import pytest

from rbmviz.errors import BadInput
from rbmviz.knobs import knobs_of, write_algorithm
from rbmviz.registry import samplers
from rbmviz.samplers import make_sampler
from rbmviz.sweeps import Axis, Budget, SweepPlan
from rbmviz.sweeps.plan import MAX_SWEEP_CELLS, GridSetting

EPS = Axis("eps", (0.01, 0.1))
TRAINERS = {"kind": "trainer", "algorithms": ["cd"], "models": []}


def plan(**given):
    return SweepPlan(**({"algorithms": ["rates_fpcd"], "models": ["bas_pcd"], "seeds": [0, 1]} | given))


def test_a_plan_is_algorithms_by_axes_by_models_by_seeds():
    found = plan(
        algorithms=["rates_fpcd:k=2", "rates_herding"],
        axes=[EPS, Axis("alpha", (0.9, 0.95, 1))],
        models=["bas_pcd", "bas_cd1"],
    )
    assert found.size == len(list(found.order())) == 2 * 6 * 2 * 2
    assert len({(seed, setting.algorithm, setting.model) for seed, setting in found.order()}) == found.size
    assert all("k=2" in one.algorithm for one in found.settings() if one.number == 0)
    # 1 is 1.0 for a knob that is a float: one setting, not two.
    assert found.axes[1].values == (0.9, 0.95, 1.0)


def test_an_algorithm_without_the_knob_is_run_once_along_its_axis():
    found = plan(algorithms=["gibbs", "rates_fpcd"], axes=[EPS, Axis("k", (1, 2, 3))])
    of_gibbs = [one for one in found.settings() if one.number == 0]
    assert len(of_gibbs) == 3
    assert {one.at for one in of_gibbs} == {(-1, 0), (-1, 1), (-1, 2)}
    assert found.size == (3 + 6) * 2


def test_the_order_is_seeds_outermost_and_coarse_to_fine():
    found = plan(
        axes=[Axis("eps", tuple(0.01 * i for i in range(1, 14))), Axis("alpha", (0.9, 0.95, 0.99, 1))]
    )
    order = list(found.order())
    assert [seed for seed, _ in order] == [0] * 52 + [1] * 52
    settings = [setting.at for _, setting in order[:52]]
    assert sorted(settings) == sorted({(i, j) for i in range(13) for j in range(4)})
    # A part of one seed already reaches over the whole grid.
    assert {i for i, _ in settings[:16]} == {0, 4, 8, 12}
    assert {j for _, j in settings[:16]} == {0, 1, 2, 3}
    # Of a longer axis each level halves the gaps.
    line = plan(axes=[Axis("eps", tuple(0.01 * i for i in range(1, 17)))])
    assert [one.at[0] for one in line.settings()] == [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]


def test_settings_name_all_knobs_so_that_defaults_may_change():
    setting = plan(axes=[EPS]).settings()[0]
    assert setting == GridSetting(write_algorithm(make_sampler("rates_fpcd", eps=0.01)), "bas_pcd", 0, (0,))
    assert plan(algorithms=[make_sampler("gibbs", k=3)]).algorithms == (
        write_algorithm(make_sampler("gibbs", k=3)),
    )


def test_json_gives_the_plan_back():
    found = plan(
        axes=[EPS, Axis("statistics", ("sampled", "mean"))], budget=Budget("seconds", 2), kernel="mean"
    )
    assert SweepPlan.from_json(found.to_json()) == found
    trainers = SweepPlan(kind="trainer", algorithms=["cd"], data="bas", n_hidden=8)
    assert SweepPlan.from_json(trainers.to_json()) == trainers
    assert trainers.budget == Budget("updates", 1000)
    assert "iterations=1000" in trainers.settings()[0].algorithm


def test_axes_are_read_from_text():
    rates = [samplers["gibbs"], samplers["rates_fpcd"]]
    assert Axis.read("eps=0.001:1:4", rates).values == (0.001, 0.01, 0.1, 1.0)
    assert Axis.read("alpha=0.9:1:3", rates).values == (0.9, 0.95, 1.0)
    assert Axis.read("alpha=0.8:1:6:log1m", rates).values == (0.8, 0.9468, 0.9859, 0.9962, 0.999, 1.0)
    assert Axis.read("alpha=0.9:0.999:3:log1m", rates).values == (0.9, 0.99, 0.999)
    assert Axis.read("alpha=0.9:1:2:log1m", rates).values == (0.9, 1.0)
    assert Axis.read("k=1:100:3", rates).values == (1, 10, 100)
    assert Axis.read("k=1:3:3:linear", rates).values == (1, 2, 3)
    assert Axis.read("statistics=sampled,mean", rates).values == ("sampled", "mean")
    assert Axis.read("n-chains=1, 10", rates).values == (1, 10)
    assert Axis.spaced(knobs_of(samplers["gibbs"])["k"], 1, 4, 20).values == (1, 2, 3, 4)  # each once
    assert Axis("k", np.arange(1, 3)).values == (1, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithms": ["rates_fpdc"]}, "did you mean 'rates_fpcd'"),
        ({"algorithms": ["rates_fpcd:eps=7"]}, "outside 0, or 0.0001 to 1"),
        ({"algorithms": []}, "no sampler"),
        ({"algorithms": "rates_fpcd"}, "give a list"),
        ({"algorithms": ["gibbs", "gibbs:k=1"]}, "twice"),
        ({"algorithms": ["gibbs", "gibbs:k=2"], "axes": [Axis("k", (1, 3))]}, "axes 'gibbs:.*' occurs twice"),
        ({"axes": [Axis("epz", (0.1,))]}, "did you mean 'eps'"),
        ({"axes": [Axis("eps", ("much",))]}, "outside"),
        ({"axes": [EPS, Axis("eps", (0.5,))]}, "axis 'eps' occurs twice in the sweep"),
        ({"models": []}, "no model"),
        ({"seeds": []}, "no seed"),
        ({"seeds": [-1]}, "from 0 up"),
        ({"seeds": [1, 1]}, "seed 1 occurs twice in the sweep"),
        ({"metrics": ["log_likelihood"]}, "metric of sampler"),
        ({"metrics": ["blank"], "race": True}, "A race chooses by isl_validation"),
        ({"kernel": "box"}, "kernel"),
        ({"start": "middle"}, "start"),
        ({"kind": "coupling"}, "kind"),
        ({"budget": Budget("updates", 100)}, "no budget in updates"),
        ({"kind": "trainer", "algorithms": ["cd"]}, "takes no models"),
        (TRAINERS, "data to train on"),
        (TRAINERS | {"data": "bas", "axes": [Axis("iterations", (10, 20))]}, "the budget gives"),
        ({"axes": [Axis("k", range(1, 101))], "seeds": range(MAX_SWEEP_CELLS // 100 + 1)}, "100,000"),
    ],
)
def test_invalid_plans_are_refused_in_one_sentence(given, said):
    with pytest.raises(BadInput, match=said) as refused:
        plan(**given)
    assert len(str(refused.value)) < 300


def read(text):
    return Axis.read(text, [samplers["rates_fpcd"]])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Axis("eps", ()), "empty"),
        (lambda: Axis("eps", (1, 1.0)), "twice"),
        (lambda: Axis(3, (1,)), "not the name"),
        (lambda: Axis("eps", range(10_001)), "10,000"),
        (lambda: read("eps"), "gives no values"),
        (lambda: read("alpha=0.9995:1:5:log1m"), "below 0.999"),
        (lambda: read("eps=0:1:5"), "above 0 on a log scale"),
        (lambda: read("eps=1:0.1:5"), "smaller number first"),
        (lambda: read("eps=0.1:1"), "cannot be read"),
        (lambda: read("eps=0.1:1:5:cubic"), "cannot be read"),
        (lambda: read("eps=nan:1:5"), "cannot run"),
        (lambda: read("statistics=0:1:5"), "list its values"),
        (lambda: read("eps=a,b"), "outside"),
        (lambda: Budget("hours", 1), "unit"),
        (lambda: Budget("samples", 0), "from 1 to"),
        (lambda: Budget("samples", 1.5), "whole number"),
        (lambda: Budget("seconds", float("nan")), "seconds"),
    ],
)
def test_axes_and_budgets_are_checked(make, said):
    with pytest.raises(BadInput, match=said):
        make()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a plan"),
        ("[]", "rbmviz_sweep"),
        ("{}", "rbmviz_sweep"),
        ('{"rbmviz_sweep": 2}', "newer"),
        ('{"rbmviz_sweep": 1}', "part of it is missing"),
        ('{"rbmviz_sweep": 1, "algoritms": []}', "did you mean 'algorithms'"),
        ("[" * 5000, "not a plan"),
    ],
)
def test_json_that_is_no_plan_is_refused(text, said):
    with pytest.raises(BadInput, match=said):
        SweepPlan.from_json(text)


def test_every_part_of_a_plan_that_is_of_another_type_is_refused():
    content = json.loads(plan(axes=[EPS]).to_json())
    for field in dataclasses.fields(SweepPlan):
        for wrong in ({"a": 1}, [[1]], -3, field.name != "race" or "yes"):
            with pytest.raises(BadInput):
                SweepPlan.from_json(json.dumps(content | {field.name: wrong}))


def test_values_of_an_axis_lie_between_its_ends_though_they_are_rounded():
    alpha = knobs_of(samplers["rates_fpcd"])["alpha"]
    values = Axis.spaced(alpha, 0.99991, 0.99999, 4, "log").values
    assert (values[0], values[-1]) == (0.99991, 0.99999)
    assert all(0.99991 <= one <= 0.99999 for one in values)
