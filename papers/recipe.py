"""A recipe repeats one figure, table or headline claim of a paper, in one file."""

import functools
import importlib
import operator
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers import recipes
from papers.claims import Estimate, PaperClaim
from papers.drawing import Drawing
from rbmviz.errors import unknown
from rbmviz.ledger import PAPERS, PaperName, Size
from rbmviz.pages import link_to
from rbmviz.sweeps import SweepPlan


@dataclass(frozen=True)
class SweepRun:
    """A sweep of a recipe, run by the sweep engine; ``name`` is its folder."""

    name: str
    plan: SweepPlan


def sweep(name: str, **plan: Any) -> SweepRun:
    """Return the sweep of this name; ``plan`` are the fields of its ``SweepPlan``."""
    return SweepRun(name, SweepPlan(**plan))


@dataclass(frozen=True)
class Job:
    """A function call of a recipe that the sweep engine does not make.

    name : unique within the recipe: the name of its file, with ``-<seed>`` at its end if it has a seed
    function : called with the arguments; returns a dict of JSON values
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


def on_sample(model: str, *panels: str, **settings: str | int | float) -> str:
    """Return a link to the Sample page with this model, these samplers and settings."""
    return link_to("sample", panels, model=model, **settings)


def on_train(data: str, *panels: str, **settings: str | int | float) -> str:
    """Return a link to the Train page with these data, trainers and settings."""
    return link_to("train", panels, train_data=data, **settings)


def on_weights(model: str, *panels: str, **settings: str | int | float) -> str:
    """Return a link to the Weights page with this model, these trainers and settings."""
    return link_to("weights", panels, weights_model=model, **settings)


def _lacking(*_: object) -> Any:
    raise NotImplementedError("The recipe's module has no such function.")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A figure, table or headline claim of a paper, and how to repeat it.

    paper : key of ``PAPERS``
    place : order in the ledger, within the paper, of recipes without a figure or of the same one
    source : section, figure or table of the paper
    about : how it is measured here and how that differs from the paper, in whole sentences
    cost : core-minutes by size, measured or extrapolated; the recipe does not run at a missing size. A recipe
        whose full run takes more than 30 has a medium size of at most 30 (60 for two with long trainings).
    live_link : address of the page that runs it live, see ``pages.link_to``, for claims without their own
    needs : data sets that not every installation has
    work : returns the sweeps and jobs of a size. This and the next two are the functions of these names in
        the recipe's module.
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
    work: Callable[[Size], Sequence[Work]] = _lacking
    numbers: Callable[[Measurements, Size], dict[str, Estimate]] = _lacking
    drawing: Callable[[Measurements, Size], Drawing] = _lacking

    @property
    def order(self) -> tuple[str, int, int]:
        """Its place among the recipes of its paper: by number of figure and table."""
        kind, number = min(numbers_of_source(self.source), default=("without", 0))
        return kind, number, self.place

    def nearest(self, size: Size) -> Size:
        """Return the size itself; for a medium one the full one if that is cheap."""
        return "full" if size == "medium" and size not in self.cost else size


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


@functools.cache
def all_recipes() -> dict[str, Recipe]:
    """Return the recipes by name, the name of their file, in the order of the ledger."""
    found: dict[str, Recipe] = {}
    for file in pkgutil.iter_modules(recipes.__path__):
        module = importlib.import_module(f"{recipes.__name__}.{file.name}")
        functions = {name: getattr(module, name) for name in ("work", "numbers", "drawing")}
        found[file.name] = replace(module.RECIPE, **functions)
    papers = list(PAPERS)
    return dict(sorted(found.items(), key=lambda item: (papers.index(item[1].paper), item[1].order)))


def recipes_of(words: Iterable[str]) -> dict[str, Recipe]:
    """Return the recipes that all words name: by the beginning of their name, or as ``fig2`` or ``table1``.

    A whole name is only that recipe; "all" is every one; upper and lower case are the same.

    Raises
    ------
    BadInput
        If there is none.
    """
    known = all_recipes()
    chosen = dict(known)
    for word in (word.lower() for word in words):
        if word in known:
            chosen = {name: recipe for name, recipe in chosen.items() if name == word}
        elif word != "all":
            chosen = {name: recipe for name, recipe in chosen.items() if _names(word, name, recipe)}
        if not chosen:
            raise unknown("recipe", word, known, listed="'python -m papers' lists all.")
    return chosen


def _names(word: str, name: str, recipe: Recipe) -> bool:
    numbers = numbers_of_source(recipe.source)
    return name.startswith(word) or word in {f"{k[:n]}{i}" for k, i in numbers for n in (3, len(k))}
