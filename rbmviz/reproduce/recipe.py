"""A recipe repeats one figure, table or headline claim of a paper, in one file."""

import functools
import importlib
import math
import operator
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbmviz.errors import unknown
from rbmviz.reproduce.claims import Estimate, PaperClaim, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.papers import PAPERS, PaperName
from rbmviz.sweeps import SweepPlan

RECIPES = "rbmviz.reproduce.recipes"
"""The package with a file per recipe: ``RECIPE`` and functions ``work``, ``numbers``, ``drawing``."""


@dataclass(frozen=True)
class SweepRun:
    """A sweep of a recipe, run by the sweep engine; ``name`` is its folder."""

    name: str
    plan: SweepPlan


@dataclass(frozen=True)
class Job:
    """A function call of a recipe that the sweep engine does not make.

    name : unique within the recipe: the name of its file
    function : called with the arguments; returns a dict of JSON values. The job runs again if the arguments
        change, or the source of the function, of functions that it calls in its module or in this package, of
        constants there, or of ``run.JOB_SOURCES``.
    arguments : JSON values
    """

    name: str
    function: Callable[..., dict[str, Any]]
    arguments: Mapping[str, Any]


Work = SweepRun | Job


class Measurements:
    """The results of a recipe's sweeps and jobs.

    tables : table of each sweep, in long form, by name
    jobs : return value of each job by name, in the order of the work
    """

    def __init__(
        self, tables: Mapping[str, Mapping[str, np.ndarray]], jobs: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.tables, self.jobs = dict(tables), dict(jobs)

    def each(self, prefix: str) -> list[Mapping[str, Any]]:
        """Return the results of all jobs with names that begin with ``prefix``."""
        return [result for name, result in self.jobs.items() if name.startswith(prefix)]

    def mean(self, prefix: str, value: str | Callable[[Mapping[str, Any]], float]) -> Estimate:
        """Return the mean over these jobs of a key of their results, or of a function of them."""
        take = operator.itemgetter(value) if isinstance(value, str) else value
        return Estimate.of([take(result) for result in self.each(prefix)])


def per_seed(
    name: str, function: Callable[..., dict[str, Any]], arguments: Mapping[str, Any], each: Iterable[int]
) -> list[Work]:
    """Return a job ``<name>-<seed>`` for each seed, which is among its arguments."""
    return [Job(f"{name}-{seed}", function, {**arguments, "seed": seed}) for seed in each]


def seeds(size: Size, quick: int, full: int, medium: int = 0) -> tuple[int, ...]:
    """Return the seeds of a run: 0, 1, ..., below the number of its size."""
    return tuple(range({"quick": quick, "medium": medium, "full": full}[size]))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A figure, table or headline claim of a paper, and how to repeat it.

    paper : key of ``PAPERS``
    place : order in the ledger, within the paper, of recipes without a figure or of the same one
    source : section, figure or table of the paper
    about : how it is measured here and how that differs from the paper, in whole sentences
    cost : core-minutes by size, measured or extrapolated; the recipe does not run at a missing size. A recipe
        whose full run takes more than 30 has a medium size of at most 30 (60 for three with large models).
    live_link : address of the page that runs it live, see ``pages.link_to``, for claims without their own
    needs : data sets that not every installation has
    not_run : why the recipe has no ``work``, in one sentence
    work : returns the sweeps and jobs of a size; without it the recipe never runs. This and the next two are
        the functions of these names in the recipe's module.
    numbers : returns the measured estimates of the claims by key
    drawing : returns the figure
    """

    paper: PaperName
    place: int
    title: str
    source: str
    claims: Sequence[PaperClaim]
    about: str
    cost: Mapping[Size, float]
    live_link: str = ""
    needs: Sequence[str] = ()
    not_run: str = ""
    work: Callable[[Size], Sequence[Work]] | None = None
    numbers: Callable[[Measurements, Size], dict[str, Estimate]] | None = None
    drawing: Callable[[Measurements, Size], Drawing] | None = None

    def nearest(self, size: Size) -> Size:
        """Return the size itself; for a medium one the full one if that is cheap."""
        return "full" if size == "medium" and size not in self.cost else size

    def is_run(self, size: Size) -> bool:
        """Whether it runs at this size."""
        return self.work is not None and size in self.cost


def numbers_of_source(source: str) -> list[tuple[str, int]]:
    """Return the figures and tables that a recipe's source names, figures first, each with its number.

    Examples
    --------
    >>> numbers_of_source("Section 6.1, figure 2; appendix B.1, figures 6 and 7 and table 1")
    [('figure', 2), ('figure', 6), ('figure', 7), ('table', 1)]
    """
    named = re.findall(r"(figure|table)s? (\d+(?:(?:, | and )\d+)*)", source)
    return sorted((kind, int(number)) for kind, text in named for number in re.findall(r"\d+", text))


def number_text(source: str) -> str:
    """Return the numbers of figures and tables as text; the whole source if it names none.

    Examples
    --------
    >>> number_text("Section 6.1, figure 2; appendix B.1, figures 6 and 7 and table 1")
    'Figures 2, 6, 7; table 1'
    """
    numbers = numbers_of_source(source)
    parts = []
    for kind in dict.fromkeys(kind for kind, _ in numbers):
        own = [str(number) for other, number in numbers if other == kind]
        parts.append(f"{kind}{'s' * (len(own) > 1)} {', '.join(own)}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] or source


def live_link_of(recipe: Recipe, claim: PaperClaim) -> str:
    """Return the address of the page that runs a claim live."""
    return claim.live_link or recipe.live_link


def minutes_text(minutes: float) -> str:
    """Return core-minutes in three digits, whole from 100 on: ``2.5``, ``2,500``."""
    return f"{minutes:,.0f}" if minutes >= 100 else f"{minutes:.3g}"


@functools.cache
def all_recipes() -> dict[str, Recipe]:
    """Return the recipes by name, the name of their file: by paper, then by number of figure and table."""
    recipes: dict[str, Recipe] = {}
    for file in pkgutil.iter_modules(importlib.import_module(RECIPES).__path__):
        module = importlib.import_module(f"{RECIPES}.{file.name}")
        functions = {name: getattr(module, name, None) for name in ("work", "numbers", "drawing")}
        recipes[file.name] = replace(module.RECIPE, **functions)
    papers = list(PAPERS)

    def order(name: str) -> tuple[int, tuple[str, float], int]:
        recipe = recipes[name]
        first = min(numbers_of_source(recipe.source), default=("without", math.inf))
        return papers.index(recipe.paper), first, recipe.place

    return {name: recipes[name] for name in sorted(recipes, key=order)}


def recipe_named(name: str) -> Recipe:
    """Return a recipe by name; BadInput if there is none."""
    if name not in all_recipes():
        raise unknown("recipe", name, all_recipes(), listed="'rbmviz reproduce' lists all.")
    return all_recipes()[name]
