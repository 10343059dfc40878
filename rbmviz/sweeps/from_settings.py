"""Build a sweep's plan from the settings of the Tune page."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rbmviz.errors import BadInput
from rbmviz.knobs import read_algorithms, split_knobs
from rbmviz.models import AUTOMATIC
from rbmviz.sweeps.axis import Axis, knob_named
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import TABLES, Budget, Kind, SweepPlan

NO_AXIS = "none"
"""The choice of no axis."""

What = Literal["samplers", "trainers"]
"""Kind of the tuned algorithms, as in the address."""

KIND_OF: dict[What, Kind] = {"samplers": "sampler", "trainers": "trainer"}

PARTS_OF_AXIS = ("", "_from", "_to", "_n", "_scale")
"""Suffixes of the names of an axis's settings, such as ``tune_x_from``."""


def plan_of(values: Mapping[str, Any]) -> SweepPlan:
    """Return the plan that the settings' values, by name, describe; BadInput if they are invalid."""
    kind = KIND_OF[values["tune_what"]]
    trains = kind == "trainer"
    names = values["tune_trainers" if trains else "tune_samplers"]
    if not names or not (trains or values["tune_models"]):
        raise BadInput(f"Choose at least one {'trainer' if trains else 'model and one sampler'}.")
    common: dict[str, Any] = {
        "kind": kind,
        "algorithms": read_algorithms(TABLES[kind], names, split_knobs(values["tune_knobs"], "Other knobs")),
        "axes": _axes_of(values, [TABLES[kind][name] for name in names]),
        "seeds": range(values["tune_seeds"]),
    }
    if trains:
        return SweepPlan(
            **common,
            data=values["tune_train_data"],
            n_hidden=values["tune_hidden"],
            budget=Budget("updates", values["tune_updates"]),
        )
    return SweepPlan(
        **common,
        models=values["tune_models"],
        data="" if values["tune_data"] == AUTOMATIC else values["tune_data"],
        budget=Budget(values["tune_unit"], values["tune_n"]),
        metrics=(*DEFAULT_MEASURES["sampler"], *values["tune_measures"]),
        kernel=values["tune_kernel"],
        start=values["tune_start"],
    )


def _axes_of(values: Mapping[str, Any], algorithms: Sequence[type]) -> list[Axis]:
    axes = []
    for axis in ("x", "y"):
        knob, lo, hi, n, scale = (values[f"tune_{axis}{part}"] for part in PARTS_OF_AXIS)
        if knob != NO_AXIS:
            declared = knob_named(knob, algorithms)
            if scale == "log1m" and declared.hi != 1:  # the default, in a link that changes only the knob
                scale = "linear"
            axes.append(Axis.spaced(declared, lo, hi, n, scale))
    return axes
