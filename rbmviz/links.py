"""The grammar of links: what the address of a page says, from text to algorithms and back.

A link names the algorithms of the panels, ``rates_fpcd:eps=0.03,k=2``, and values of settings. What it does
not name has the default value of the link's *version* (``v=1``; a link without ``v`` is of version 1, and an
address that names nothing of its page is no link, but the page as it is now). ``DEFAULTS`` keeps the defaults
of every version for good: whoever changes a default of a knob, of a page's panels or of a setting adds a
version here, so that old links open what they opened when they were written.
"""

import contextlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import numpy as np

from rbmviz.errors import MAX_SHOWN, BadInput
from rbmviz.knobs import read_knobs, values_of, write_knobs

VERSION = 3
"""Version of the links that are written now."""

VERSION_KEY = "v"
"""Name of the version in the address."""

PANELS_KEY = {"sample": "p", "train": "t", "coupling": "c", "weights": "w", "chain": "l", "tune": "m"}
"""Name of the panels in the address, by page: of the pages that lessons and recipes link to."""

NO_PANEL = "none"
"""Stands in a link for a page from which all panels have been removed."""


class Defaults(NamedTuple):
    """What a link of one version means by what it leaves out.

    knobs : by the name of a sampler, a trainer or the coupling, as ``write_knobs`` writes them
    panels : by page, the panels of a link that names none
    settings : by page, the value of each setting under its name in the address; a list of several choices
    """

    knobs: Mapping[str, str]
    panels: Mapping[str, Sequence[str]]
    settings: Mapping[str, Mapping[str, Any]]


_TRAINING = "iterations=1000,momentum=0.0,weight_decay=0.0,batch_size=0,average=false,box=0.0"
_BAS = "learning_rate=0.1,schedule=constant"

_FIRST = Defaults(
    knobs={
        "gibbs": "temperature=1.0,k=1,n_chains=1",
        "rates_fpcd": "eps=0.03,alpha=1.0,k=1,statistics=sampled,n_chains=1,share=false",
        "rates_herding": "eps=0.03,alpha=1.0,max_sweeps=50,n_chains=1,share=false",
        "sample_penalization": "eps=0.0003,alpha=0.9,k=1,n_chains=1,share=false",
        "cd": f"k=1,learning_rate=0.05,schedule=constant,{_TRAINING},n_chains=0",
        "exact": f"learning_rate=0.05,schedule=constant,{_TRAINING}",
        "fpcd": f"k=1,learning_rate=0.01,schedule=linear,{_TRAINING},n_chains=100,eps_fast=0.05,alpha=0.95",
        "herding": f"max_sweeps=50,learning_rate=1.0,schedule=constant,{_TRAINING},n_chains=100",
        "pcd": f"k=1,learning_rate=0.01,schedule=linear,{_TRAINING},n_chains=100",
        "pop_cd": "proposal=visible,mixture=10,leave_one_out=false,k=1,learning_rate=0.05,"
        f"schedule=constant,{_TRAINING},n_chains=0",
        "pt": f"n_temperatures=10,learning_rate=0.01,schedule=linear,{_TRAINING},n_chains=100",
        "ucd": f"algorithm=rbm,t_max=100,k=1,learning_rate=0.1,schedule=linear,{_TRAINING},n_chains=100",
        "coupling": "scale=1.0,max_sweeps=1000",
    },
    panels={
        "sample": ("gibbs", "rates_fpcd", "rates_herding", "sample_penalization"),
        "train": (
            f"cd:{_BAS}",
            f"pcd:{_BAS}",
            f"pop_cd:{_BAS}",
            f"ucd:{_BAS},n_chains=1000,t_max=50",
        ),
        "coupling": ("scale=1.5",),
        "weights": (
            "pop_cd:n_chains=100",
            "pop_cd:n_chains=100,k=10",
            "pop_cd:n_chains=100,proposal=joint",
            "pop_cd:n_chains=100,proposal=mixture",
        ),
        "chain": ("gibbs", "rates_fpcd:eps=0.05", "sample_penalization:eps=0.05,alpha=0.9"),
        "tune": ("rates_fpcd",),
    },
    settings={
        "sample": {
            **{
                "model": "mnist_fpcd",
                "data": "automatic",
                "kernel": "binary",
                "start": "data",
                "seed": 0,
            },
            **{"view": "sequence", "pixels": "binary", "cells": 10, "axis": "samples", "speed": 60},
            "curve": "ISL",
            "improvement": False,
        },
        "train": {
            **{"train_data": "bas", "hidden": 16, "rule": "0.5", "train_seed": 0, "replicates": 1},
            **{"show": "both", "train_pixels": "binary", "train_cells": 8, "pace": 500},
            **{"part": "train", "train_axis": "updates", "log": False, "statistic": ""},
        },
        "coupling": {
            **{"coupling_model": "random", "coupling_visible": 16, "coupling_hidden": 10},
            **{"coupling_start": "random", "coupling_seed": 0, "coupling_speed": 10},
            **{"tau_log": True, "lag": 10, "tv_log": False, "estimate_k": 1},
            "coupling_statistic": "both units on",
            "coupling_more": False,
        },
        "weights": {
            **{"weights_model": "bas_pcd", "weights_start": "data", "weights_seed": 0},
            **{"weights_pace": 10, "grown": "bas", "growth_quantity": "ratio", "weights_more": False},
        },
        "chain": {
            **{"little": "landscape", "land": "two halves", "land_depth": 9.0, "land_seed": 0},
            **{"land_order": "valley", "land_curve": "visits", "land_pace": 20},
            **{"chain_matrix": "two wells", "chain_steps": 40, "chain_log": False},
        },
        "tune": {
            **{"tune_models": ["mnist_fpcd"], "tune_samplers": ["rates_fpcd"], "tune_data": "automatic"},
            **{"tune_x": "eps", "tune_x_from": 0.001, "tune_x_to": 1.0, "tune_x_n": 7},
            **{"tune_x_scale": "log", "tune_y": "alpha", "tune_y_from": 0.8, "tune_y_to": 1.0},
            **{"tune_y_n": 5, "tune_y_scale": "linear", "tune_n": 10_000, "tune_unit": "samples"},
            **{"tune_seeds": 5, "tune_kernel": "binary", "tune_start": "data", "tune_measures": []},
            **{"tune_what": "samplers", "tune_trainers": ["cd"], "tune_train_data": "bas"},
            **{"tune_hidden": 16, "tune_updates": 3000, "tune_z": "none", "tune_z_values": ""},
            "tune_knobs": "",
            "tune_speed": 60,
        },
        "papers": {"ledger_paper": "all", "ledger_verdict": "all"},
    },
)

_START = "initial_scale=0.01,initial_law=normal,initial_biases=data"
_SECOND_KNOBS = {
    name: f"{text},{_START}" if _TRAINING in text else text for name, text in _FIRST.knobs.items()
}

# A thousand pairs made UCD so slow that the point at which all trainers are compared stayed early.
_SECOND = _FIRST._replace(
    knobs=_SECOND_KNOBS | {"sample_penalization": f"{_FIRST.knobs['sample_penalization']},units=binary"},
    panels={
        **_FIRST.panels,
        "train": (f"cd:{_BAS}", f"pcd:{_BAS}", f"pop_cd:{_BAS}", f"ucd:{_BAS},t_max=50"),
    },
)

DEFAULTS: dict[int, Defaults] = {
    1: _FIRST,
    2: _SECOND,
    # PCD, FPCD, PT and UCD learned nothing with rates that fell to zero within 1,000 updates.
    3: _SECOND._replace(
        knobs={
            name: re.sub("learning_rate=.*,schedule=linear", "learning_rate=0.05,schedule=constant", text)
            for name, text in _SECOND.knobs.items()
        }
    ),
}
"""The defaults of each version; an entry that has been published is never changed."""


def version_of(text: str | None, is_link: bool = True) -> tuple[int, str]:
    """Return the version whose defaults a link has, and a sentence if its own version is not known.

    Parameters
    ----------
    text : str or None
        What the link gives for ``v``; None: nothing, as the links of version 1 did at first.
    is_link : bool
        Whether the address names anything of its page; if not, it opens the page as it is now.
    """
    if text is None:
        return 1 if is_link else VERSION, ""
    for version in DEFAULTS:
        if text == str(version):
            return version, ""
    return VERSION, (
        f"The link's version is '{text[:MAX_SHOWN]}' and this program knows versions up to {VERSION}: what "
        "it can read of the link is open, which may not be all."
    )


def link_to(page: str, panels: Sequence[str] = (), **settings: str | int | float) -> str:
    """Return the address of a page with these panels and settings, relative to the app.

    Parameters
    ----------
    page : str
        Name of the page, ``sample``.
    panels : sequence of str
        Algorithms with their knobs, as links write them: ``rates_fpcd:eps=0.1``.
    **settings : str, int or float
        Settings by their names in the address.
    """
    parts = [*((PANELS_KEY[page], panel) for panel in panels), *settings.items(), (VERSION_KEY, VERSION)]
    return f"{page}?{urlencode(parts, safe=':,')}"


def default_panels(page: str, version: int = VERSION) -> Sequence[str]:
    """Return the panels of a link of this version that names none; none if the page is younger than it."""
    return DEFAULTS[version].panels.get(page, ())


def settings_left_out(page: str, named: Collection[str], version: int) -> dict[str, Any]:
    """Return the settings that a link of an older version leaves out and whose default is different now.

    Parameters
    ----------
    page : str
        Name of the page that the link opens.
    named : collection of str
        Names that stand in the link.
    version : int
        Version of the link.
    """
    then, now = (DEFAULTS[v].settings.get(page, {}) for v in (version, VERSION))
    return {name: value for name, value in then.items() if name not in named and now.get(name) != value}


def knob_values(cls: Any, text: str, version: int = VERSION) -> dict[str, Any]:
    """Return the values of all knobs that a text gives (``eps=0.03,k=2``) or its version's defaults do.

    Raises
    ------
    BadInput
        If a knob is unknown or out of range.
    """
    kept: dict[str, Any] = {}
    for pair in DEFAULTS[version].knobs.get(cls.name, "").split(","):
        with contextlib.suppress(BadInput):  # a knob that has gone since
            kept |= read_knobs(cls, pair)
    return kept | read_knobs(cls, text)


class Algorithms(Protocol):
    """Algorithms by name: a table of the registry, or a dictionary."""

    def __getitem__(self, name: str, /) -> Any: ...


def read_panel(table: Algorithms, text: str, version: int = VERSION) -> Any:
    """Return the algorithm of a text like ``rates_fpcd:eps=0.03,k=2``, or of a name alone.

    Raises
    ------
    BadInput
        If the algorithm or a knob is unknown, or a value is out of range.
    """
    name, _, knobs = text.partition(":")
    return table[name](**knob_values(table[name], knobs, version))


def read_panels(
    table: Algorithms, texts: Sequence[str], version: int = VERSION
) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(read_panel(table, text, version))
        except BadInput as error:
            refused.append(f"The link's panel '{text[:MAX_SHOWN]}' is left out. {error}")
    return read, refused


def write_changed_knobs(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write the knobs whose values are others than a link of the newest version has without them.

    Parameters
    ----------
    algorithm : Sampler, Trainer or Coupling
        One that is younger than the version writes all its knobs: nothing else holds what they were.
    only : collection of str or None
        Names of the knobs that are written; None: all.
    """
    meant, values = knob_values(type(algorithm), ""), values_of(algorithm)
    changed = [name for name in values if name not in meant or values[name] != meant[name]]
    return write_knobs(algorithm, [name for name in changed if only is None or name in only])


def write_panel(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write a sampler or trainer as short as it can be read again: ``rates_fpcd:eps=0.1``, or its name."""
    return f"{algorithm.name}:{write_changed_knobs(algorithm, only=only)}".removesuffix(":")


def write_panels(
    table: Algorithms, default: Sequence[str], algorithms: Sequence[Any], only: Collection[str] | None = None
) -> list[str]:
    """Write the panels of a page: nothing where they are those of a link that names none.

    table : of the algorithms; default : the texts of the panels of such a link; only : names of the knobs
    that the page's link holds, None: all
    """
    texts = [write_panel(algorithm, only) for algorithm in algorithms]
    meant, _ = read_panels(table, default)
    if texts == [write_panel(algorithm, only) for algorithm in meant]:
        return []
    return texts or [NO_PANEL]


def address_text(value: Any) -> str:
    """Return the value of a setting as it stands in the address; infinity is "full", full speed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "full" if math.isinf(value) else f"{value:g}"
    return str(value)


def read_number(text: str, what: str) -> float:
    """Return the finite number that a text holds; BadInput if it holds none."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"The link's {what} is left out: '{text[:MAX_SHOWN]}' is not a number.")
    return number


def write_matrix(A: np.ndarray) -> str:
    """Write a matrix, float64 (rows, columns), row by row: ``0.9,0.1;0.2,0.8``."""
    return ";".join(",".join(f"{p:.6g}" for p in row) for row in A)


def read_matrix(text: str, least: int, most: int) -> np.ndarray:
    """Return the square matrix of a text, float64 (n, n), with ``least`` to ``most`` rows of numbers 0 to 1.

    Raises
    ------
    BadInput
        If it is something else; nothing larger is ever built.
    """
    rows = [row.split(",", most) for row in text.split(";", most)]
    if not least <= len(rows) <= most or {len(row) for row in rows} != {len(rows)}:
        raise BadInput(
            f"The link's matrix is left out: it is not square; give {least} to {most} rows as long, as "
            "0.9,0.1,0;0.1,0.8,0.1;0,0.5,0.5."
        )
    try:
        A = np.array([[float(p) for p in row] for row in rows])
    except ValueError:
        A = np.full((1, 1), np.nan)
    if not ((A >= 0) & (A <= 1)).all():
        raise BadInput("The link's matrix is left out: it holds something else than numbers from 0 to 1.")
    return A
