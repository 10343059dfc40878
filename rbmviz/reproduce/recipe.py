"""A recipe: all that is needed to repeat one figure, table or headline claim of a paper, in one file."""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz.errors import unknown
from rbmviz.reproduce.claims import Number, PaperClaim, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.papers import PAPERS, PaperName
from rbmviz.sweeps import SweepPlan

RECIPES = "rbmviz.reproduce.recipes"
"""The package with one file for each recipe."""


@dataclass(frozen=True)
class SweepRun:
    """A sweep: that share of a recipe's work which the sweep engine does.

    Parameters
    ----------
    name : str
        Its name within the recipe: that of its folder.
    plan : SweepPlan
        What is run.
    """

    name: str
    plan: SweepPlan


@dataclass(frozen=True)
class Piece:
    """One call of a function: a share of a recipe's work that the sweep engine does not do.

    Parameters
    ----------
    name : str
        Its name within the recipe: that of its file.
    function : callable
        Called with the arguments; returns a dict of JSON values. The piece is computed anew when the
        arguments change, its source, that of a function that it calls in its module or in this package (as
        ``trainings.annealed``), a constant there, or one of ``run.PIECE_SOURCES``.
    arguments : dict
        JSON values.
    """

    name: str
    function: Callable[..., dict[str, Any]]
    arguments: Mapping[str, Any]


Work = SweepRun | Piece


class Found:
    """What the sweeps and pieces of a recipe have measured.

    Parameters
    ----------
    tables : dict of str to dict of ndarray
        Table of each sweep, in long form, by the sweep's name.
    pieces : dict of str to dict
        What each piece has returned, by its name, in the order of the work.
    """

    def __init__(
        self, tables: Mapping[str, Mapping[str, np.ndarray]], pieces: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.tables, self.pieces = dict(tables), dict(pieces)

    def each(self, prefix: str) -> list[Mapping[str, Any]]:
        """Return what all pieces have returned whose names begin so."""
        return [found for name, found in self.pieces.items() if name.startswith(prefix)]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A figure, a table or a headline claim of a paper, and how it is repeated.

    Parameters
    ----------
    paper : str
        Key of ``PAPERS``.
    place : int
        Place in the ledger, within the paper.
    title : str
        What it is about.
    source : str
        Section, figure or table of the paper.
    claims : sequence of PaperClaim
        What the paper says.
    about : str
        How it is measured here, and in what that differs from the paper: in whole sentences.
    cost : dict of str to float
        Expected core-minutes by size, measured, or reckoned from what was measured; where a size is missing,
        the recipe is not run at that size.
    work : callable
        Returns the sweeps and pieces of a size. Without it the recipe is not run at all.
    numbers : callable
        Returns the numbers of the claims from what the work has found, by key. A number that is not there was
        not measured.
    drawing : callable
        Returns the figure from the same.
    live_link : str
        Address of the page that runs it live, see ``links.link_to``: of all claims without one of their own.
    needs : sequence of str
        Data sets beyond those that every installation has.
    not_run : str
        Where there is no ``work``: why, in one sentence.
    """

    paper: PaperName
    place: int
    title: str
    source: str
    claims: Sequence[PaperClaim]
    about: str
    cost: Mapping[Size, float]
    work: Callable[[Size], Sequence[Work]] | None = None
    numbers: Callable[[Found, Size], dict[str, Number]] | None = None
    drawing: Callable[[Found, Size], Drawing] | None = None
    live_link: str = ""
    needs: Sequence[str] = ()
    not_run: str = ""

    def is_run(self, size: Size) -> bool:
        """Whether it is run at this size."""
        return self.work is not None and size in self.cost


def live_link_of(recipe: Recipe, claim: PaperClaim) -> str:
    """Return the address of the page that runs a claim live."""
    return claim.live_link or recipe.live_link


def minutes_text(minutes: float) -> str:
    """Return core-minutes in at most three digits, whole from 100 on: ``2.5``, ``2,500``."""
    return f"{minutes:,.0f}" if minutes >= 100 else f"{minutes:.3g}"


@functools.cache
def all_recipes() -> dict[str, Recipe]:
    """Return the recipes by name, which is that of the file, in the order of the papers."""
    package = importlib.import_module(RECIPES)
    found = {
        module.name: importlib.import_module(f"{RECIPES}.{module.name}").RECIPE
        for module in pkgutil.iter_modules(package.__path__)
    }
    papers = list(PAPERS)
    return dict(sorted(found.items(), key=lambda one: (papers.index(one[1].paper), one[1].place)))


def recipe_named(name: str) -> Recipe:
    """Return a recipe by name.

    Raises
    ------
    BadInput
        If there is none.
    """
    if name not in all_recipes():
        raise unknown("recipe", name, all_recipes(), listed="'rbmviz reproduce' lists all.")
    return all_recipes()[name]
