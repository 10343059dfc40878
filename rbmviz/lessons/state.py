"""The state of a page as a link, from text to what its runs are made of; its content is not trusted."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qs, urlsplit

from rbmviz.coupling import STATISTICS
from rbmviz.datasets import Dataset, list_datasets, load_registered
from rbmviz.errors import BadInput, shown, unknown
from rbmviz.links import (
    DEFAULTS,
    NO_PANEL,
    PANELS_KEY,
    VERSION_KEY,
    Algorithms,
    address_text,
    default_panels,
    read_number,
    read_panel,
    read_panels,
    version_of,
    write_panel,
)
from rbmviz.metrics import Kernel
from rbmviz.metrics.landscape import Order
from rbmviz.models import (
    LANDSCAPE_PATTERNS,
    data_of,
    list_models,
    load_pretrained,
    pattern_model,
)
from rbmviz.rbm import Model
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import list_samplers
from rbmviz.session import (
    Coupling,
    CouplingSetup,
    LandscapeSetup,
    SamplingSetup,
    Start,
    TrainingSetup,
    WeightSetup,
    random_rbm,
)
from rbmviz.session.equal_points import SAMPLER_UNITS, TRAINER_UNITS
from rbmviz.sweeps import list_measures
from rbmviz.sweeps.from_settings import KIND_OF, plan_of
from rbmviz.trainers import STATS, list_trainers

DATA_OF_MODEL, RANDOM_MODEL = "automatic", "random"
"""The data that belong to a model; a coupled model of random parameters."""

MAX_LINK = 2000
"""Longest link, in characters."""

MAX_RUNS_OF_MAP = 400
"""Most runs of the sweep of a step about the page tune: settings times seeds."""

MAX_STEP_PANELS = 8
"""Most panels of a step."""

LEFT_OUT = {VERSION_KEY, "preset", "present", "paused", "paused_at", "lesson", "step", "result", "ui"}
"""Parts of a copied address that say nothing about what runs."""

LEFT_ALONE = {
    "sample": ("improvement",),
    "train": ("rule",),
    "weights": ("grown", "growth_quantity"),
}
"""Settings of a page that a step leaves as the visitor has them: what opens a study below the panels, or is
about files of a visitor's own."""

OF_ONES_OWN = {
    "kept": "files",
    "own": "a file",
    "A": "a matrix",
    "lam": "a matrix",
    "sweep": "a sweep",
    "on": "a sweep",
}
"""Parts of an address that name something of a visitor's own, which a step cannot open."""


class Whole(NamedTuple):
    """A setting that may be any whole number from lo to hi."""

    lo: int
    hi: int


class MultipleOf(NamedTuple):
    """A setting that may be any multiple of ``step`` from lo to hi."""

    lo: float
    hi: float
    step: float


class RealNumber(NamedTuple):
    """A setting that may be any number from lo to hi."""

    lo: float
    hi: float


class FreeText(NamedTuple):
    """A setting that may be a short text: names and values of knobs, which are checked where they are used.

    pattern : regular expression of what it may be
    """

    pattern: str = r"[a-z0-9_.,:=]{0,100}"


class Several(NamedTuple):
    """A setting that may be several names of a list."""

    names: Callable[[], list[str]]


Allowed = tuple[Any, ...] | Whole | MultipleOf | RealNumber | FreeText | Several | Callable[[], list[str]]
"""What a setting may be: one of some values, a range, or a name of a list that is read when it is needed."""

ANY_SEED, SWITCH = Whole(0, 2**31 - 1), (False, True)
FULL = math.inf


def _data() -> list[str]:
    return [DATA_OF_MODEL, *list_datasets()]


def _statistics() -> list[str]:
    own = [name for trainer in list_trainers() for name in trainers[trainer].own_stats]
    return list(dict.fromkeys([*own, *STATS]))


def _coupled() -> list[str]:
    return [RANDOM_MODEL, *list_models()]


OFFERED: dict[str, dict[str, Allowed]] = {
    "sample": {
        **{"model": list_models, "data": _data, "kernel": get_args(Kernel), "start": get_args(Start)},
        **{"seed": ANY_SEED, "view": ("sequence", "single"), "pixels": ("binary", "mean")},
        **{
            "cells": (6, 8, 10, 12),
            "curve": ("ISL", "difference to the best"),
            "axis": tuple(SAMPLER_UNITS),
            "speed": (5, 20, 60, 200, 1000, 5000, FULL),
        },
    },
    "train": {
        **{"train_data": list_datasets, "hidden": Whole(1, 2000), "train_seed": ANY_SEED},
        **{"replicates": Whole(1, 100), "show": ("both", "samples", "filters")},
        **{"train_pixels": ("binary", "mean"), "train_cells": (4, 6, 8, 10, 12)},
        **{"pace": (1, 10, 50, 200, 500, 2000, FULL), "part": ("train", "test")},
        **{"train_axis": tuple(TRAINER_UNITS), "log": SWITCH, "statistic": _statistics},
    },
    "coupling": {
        **{"coupling_model": _coupled, "coupling_visible": Whole(1, 1000), "coupling_hidden": Whole(1, 1000)},
        **{
            "coupling_start": ("random", "data"),
            "coupling_seed": ANY_SEED,
            "tau_log": SWITCH,
            "tv_log": SWITCH,
        },
        **{"lag": (1, 2, 5, 10, 20, 50, 100, 200, 500), "coupling_statistic": tuple(STATISTICS)},
        **{"estimate_k": (1, 2, 3, 5, 10, 20, 50), "coupling_more": SWITCH},
        **{"coupling_speed": (1, 2, 5, 10, 30, 100, FULL)},
    },
    "weights": {
        **{"weights_model": list_models, "weights_start": get_args(Start), "weights_seed": ANY_SEED},
        **{"weights_pace": (1, 3, 10, 30, 100, 300, FULL), "weights_more": SWITCH},
    },
    "chain": {
        **{"little": ("landscape", "matrix", "units"), "land": tuple(LANDSCAPE_PATTERNS)},
        **{"land_depth": MultipleOf(2.0, 12.0, 0.5), "land_seed": ANY_SEED, "land_order": get_args(Order)},
        **{"land_curve": ("visits", "moments"), "land_pace": (1, 2, 5, 10, 20, 100, 1000, FULL)},
        **{"chain_steps": (10, 20, 40, 100, 400, 2000), "chain_log": SWITCH},
        "chain_matrix": (
            *("two wells", "sticky ring", "one deep trap", "it backfires", "Gibbs on 3 units"),
            "the landscape’s Gibbs chain",
        ),
    },
    "tune": {
        **{"tune_what": tuple(KIND_OF), "tune_models": Several(list_models), "tune_data": _data},
        **{"tune_samplers": Several(list_samplers), "tune_trainers": Several(list_trainers)},
        **{"tune_train_data": list_datasets, "tune_hidden": Whole(1, 30), "tune_updates": Whole(1, 20_000)},
        **{"tune_x": FreeText(), "tune_x_from": RealNumber(0, 1e4), "tune_x_to": RealNumber(0, 1e4)},
        **{"tune_x_n": Whole(1, 40), "tune_x_scale": ("log", "linear")},
        **{"tune_y": FreeText(), "tune_y_from": RealNumber(0, 1e4), "tune_y_to": RealNumber(0, 1e4)},
        **{"tune_y_n": Whole(1, 40), "tune_y_scale": ("log", "linear")},
        **{"tune_z": FreeText(), "tune_z_values": FreeText(), "tune_knobs": FreeText()},
        # Not seconds: another machine would find other scores.
        **{"tune_n": Whole(1, 20_000), "tune_unit": ("samples", "sweeps"), "tune_seeds": Whole(1, 20)},
        **{"tune_kernel": get_args(Kernel), "tune_start": get_args(Start)},
        **{"tune_measures": Several(lambda: list(list_measures("sampler")))},
        "tune_speed": (5, 20, 60, 200, 1000, 5000, FULL),
    },
}
"""What each setting of a page with live panels may be; what stands in no list here, no lesson sets.

Pages in ``app/pages`` say the same of their widgets; ``tests/app/test_card.py`` holds both together."""

RUN_SETTINGS: dict[str, tuple[str, ...]] = {
    "sample": ("model", "data", "kernel", "start", "seed"),
    "train": ("train_data", "hidden", "train_seed", "replicates"),
    "coupling": ("coupling_model", "coupling_visible", "coupling_hidden", "coupling_start", "coupling_seed"),
    "weights": ("weights_model", "weights_start", "weights_seed"),
    "chain": ("land", "land_depth", "land_seed"),
}
"""The settings that the setup of each page is made of, where there can be a challenge; the others say how
it is shown."""

STEPS_CALLED = {
    "sample": "samples",
    "train": "updates",
    "coupling": "pairs",
    "weights": "batches",
    "chain": "samples",
    "tune": "runs",
}
"""What is counted on each page."""


class _Tuned:
    """Samplers and trainers by name; no two of them are called alike."""

    def __getitem__(self, name: str) -> Any:
        return (trainers if name in trainers else samplers)[name]


ALGORITHMS_OF_PAGE: dict[str, Algorithms] = {
    "sample": samplers,
    "train": trainers,
    "coupling": {Coupling.name: Coupling},
    "weights": trainers,
    "chain": samplers,
    "tune": _Tuned(),
}
"""The algorithms that the panels of each page can have, by name."""


class Branch(NamedTuple):
    """A training that goes on from what another one has learned.

    Parameters
    ----------
    of : int
        Place of the panel from which it goes on, from 0.
    at : int
        Updates of that one by then.
    panel : str
        Its trainer, as in a link.
    """

    of: int
    at: int
    panel: str


class PageState(NamedTuple):
    """A page, its panels and its settings.

    Parameters
    ----------
    page : str
        Name of the page.
    panels : tuple of str
        The panels, each as in a link.
    settings : dict
        Value of every setting that ``OFFERED`` has for the page: those that the link leaves out are defaults.
    branches : tuple of Branch
        On Train: panels that whoever does the step adds on the right (default: none).
    """

    page: str
    panels: tuple[str, ...]
    settings: dict[str, Any]
    branches: tuple[Branch, ...] = ()

    def algorithms(self) -> list[Any]:
        """Return the algorithm of each panel with which the page is opened."""
        return read_panels(ALGORITHMS_OF_PAGE[self.page], self.panels)[0]

    def all_algorithms(self) -> list[Any]:
        """Return the algorithm of each panel, those of branches last."""
        table = ALGORITHMS_OF_PAGE[self.page]
        return [*self.algorithms(), *(read_panel(table, branch.panel) for branch in self.branches)]

    def setup(self, data: Callable[[str], Dataset] = load_registered) -> Any:
        """Return what all panels share.

        data : loads registered data by name

        Raises
        ------
        BadInput
            If data are not on this machine, or do not belong to the model.
        """
        return SETUPS[self.page](self.settings, data)


def _sampling(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> SamplingSetup:
    model, name = load_pretrained(values["model"]), values["data"]
    dataset = data_of(model, None if name == DATA_OF_MODEL else name, data)
    return SamplingSetup(model, dataset, values["seed"], values["start"], values["kernel"])


def _training(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> TrainingSetup:
    return TrainingSetup(
        data(values["train_data"]), values["hidden"], values["train_seed"], values["replicates"]
    )


def _coupling(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> CouplingSetup:
    name, seed = values["coupling_model"], values["coupling_seed"]
    if name == RANDOM_MODEL:
        model = Model(random_rbm(values["coupling_visible"], values["coupling_hidden"], seed))
    else:
        model = load_pretrained(name)
    dataset = None if values["coupling_start"] == "random" else data_of(model, None, data)
    return CouplingSetup(model.rbm, dataset, seed)


def _weights(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> WeightSetup:
    model = load_pretrained(values["weights_model"])
    return WeightSetup(model, data_of(model, None, data), values["weights_seed"], values["weights_start"])


def _landscape(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> LandscapeSetup:
    return LandscapeSetup(
        pattern_model(LANDSCAPE_PATTERNS[values["land"]], values["land_depth"]), values["land_seed"]
    )


def _beside_the_map(values: Mapping[str, Any], data: Callable[[str], Dataset]) -> Any:
    """Return what the runs beside the map share."""
    if values["tune_what"] == "trainers":
        return TrainingSetup(data(values["tune_train_data"]), values["tune_hidden"])
    model, name = load_pretrained(values["tune_models"][0]), values["tune_data"]
    dataset = data_of(model, None if name == DATA_OF_MODEL else name, data)
    return SamplingSetup(model, dataset, 0, values["tune_start"], values["tune_kernel"])


SETUPS: dict[str, Callable[[Mapping[str, Any], Callable[[str], Dataset]], Any]] = {
    "sample": _sampling,
    "train": _training,
    "coupling": _coupling,
    "weights": _weights,
    "chain": _landscape,
    "tune": _beside_the_map,
}


def read_state(link: str) -> PageState:
    """Return the state of a page that a link describes: ``chain?land_depth=12&l=gibbs``, or a whole address.

    Raises
    ------
    BadInput
        If the page is none with live panels, a panel cannot be read, or a setting is none of the page or has
        a value that the page does not offer.
    """
    if len(link) > MAX_LINK:
        raise BadInput(f"the link has {len(link):,} characters and may have {MAX_LINK:,}.")
    try:
        parts = urlsplit(link)
        said = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise BadInput(f"{shown(link)} is not a link, as 'chain?land_depth=12&l=gibbs' is.") from None
    page = parts.path.rstrip("/").rpartition("/")[2] or "sample"
    if page not in OFFERED:
        raise unknown("page with live panels", page, OFFERED)
    version, unknown_version = version_of(said.get(VERSION_KEY, [None])[0])
    if unknown_version:
        raise BadInput(f"the link's version {shown(said[VERSION_KEY][0])} is not known.")
    key, known = PANELS_KEY[page], OFFERED[page]
    texts = said.pop(key, None)
    values = {name: DEFAULTS[version].settings[page][name] for name in known}
    for name, given in said.items():
        if name in LEFT_OUT or name in LEFT_ALONE.get(page, ()):
            continue
        if name in OF_ONES_OWN:
            raise BadInput(
                f"the link's '{name}' names {OF_ONES_OWN[name]} of your own, which a step cannot open."
            )
        if name not in known:
            raise unknown(f"setting of the page {page}", name, [key, *known])
        choice = known[name]
        if isinstance(choice, Several):
            values[name] = [read_setting(name, text, choice.names) for text in dict.fromkeys(given)]
        else:
            values[name] = read_setting(name, given[-1], choice)
    panels = _read_panels(page, texts, values, version)
    if page == "train" and "statistic" not in said:  # the page shows the first that the panels have
        names = [name for text in panels for name in read_panel(trainers, text).own_stats]
        values["statistic"] = next(iter([*names, *STATS]))
    if page == "tune" and (size := plan_of(values).size) > MAX_RUNS_OF_MAP:
        raise BadInput(f"the map has {size:,} runs and may have {MAX_RUNS_OF_MAP:,}.")
    return PageState(page, panels, values)


def _read_panels(
    page: str, texts: list[str] | None, values: Mapping[str, Any], version: int
) -> tuple[str, ...]:
    """Return the panels as texts of the newest version, those of the page if the link has none."""
    if page == "coupling":  # its address has the knobs alone
        random = values["coupling_model"] == RANDOM_MODEL
        texts = [
            f"{Coupling.name}:{text}".rstrip(":")
            for text in texts or (default_panels(page, version) if random else [""])
        ]
    panels = tuple(texts or default_panels(page, version))
    if panels == (NO_PANEL,) or len(panels) > (1 if page == "coupling" else MAX_STEP_PANELS):
        raise BadInput(f"the link has {len(panels)} panels: give from 1 to {MAX_STEP_PANELS}, on Coupling 1.")
    read, refused = read_panels(ALGORITHMS_OF_PAGE[page], panels, version)
    if refused:
        raise BadInput(refused[0])
    if page == "weights" and {one.name for one in read} != {"pop_cd"}:
        raise BadInput("the panels of the page weights are all pop_cd.")
    return tuple(write_panel(algorithm) for algorithm in read)


def read_setting(name: str, text: str, choice: Allowed) -> Any:
    """Return the value of a setting that a text gives.

    Parameters
    ----------
    name : str
        What an error calls it.
    text : str
        From the link.
    choice
        What it may be.

    Raises
    ------
    BadInput
        If it may not be that.
    """
    if isinstance(choice, Whole):
        if re.fullmatch("[0-9]{1,10}", text, re.ASCII) and choice.lo <= int(text) <= choice.hi:
            return int(text)
        raise BadInput(f"{name} = {shown(text)} is not a whole number from {choice.lo:,} to {choice.hi:,}.")
    if isinstance(choice, RealNumber):
        number = read_number(text, name)
        if choice.lo <= number <= choice.hi:
            return number
        raise BadInput(f"{name} = {shown(text)} is not a number from {choice.lo:g} to {choice.hi:g}.")
    if isinstance(choice, FreeText):
        if re.fullmatch(choice.pattern, text, re.ASCII):
            return text
        raise BadInput(f"{name} = {shown(text)} is not a list of names and numbers, as k=2,alpha=1 is.")
    offered: dict[str, Any]
    if isinstance(choice, MultipleOf):
        known = [choice.lo + i * choice.step for i in range(round((choice.hi - choice.lo) / choice.step) + 1)]
        offered = {f"{value:g}": value for value in known} | {str(value): value for value in known}
    else:
        if isinstance(choice, Several):
            choice = choice.names
        values = choice() if callable(choice) else choice
        offered = {address_text(value): value for value in values} | {str(value): value for value in values}
        base = text.partition("@")[0]
        if name == "train_data" and base in offered:  # a variant, whose name its list does not have
            offered[text] = text
    if text not in offered:
        texts = list(dict.fromkeys(address_text(value) for value in offered.values()))
        raise BadInput(f"{name} = {shown(text)} is none of {', '.join(texts)}.")
    return offered[text]
