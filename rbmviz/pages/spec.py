"""The declaration of a page, which the app draws, links write and read, and lessons set."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmviz.datasets import Dataset, data_of, load_registered
from rbmviz.metrics.numbers import NUMBERS, Number
from rbmviz.models import load_pretrained
from rbmviz.pages.settings import SettingSpec
from rbmviz.rbm import Model
from rbmviz.registry import Table
from rbmviz.session.run import Run
from rbmviz.sweeps import SweepPlan

RANDOM_MODEL = "random"
"""The choice of a model with random parameters."""


def _make(key: Hashable, make: Callable[[], Any]) -> Any:
    return make()


def _advance(run: Run, values: Mapping[str, Any], n: int) -> None:
    run.advance_to(n)
    run.complete()


@dataclass(frozen=True)
class Sources:
    """The source of the models and data named by the settings.

    model : returns the model with a name (default: a pretrained model)
    data : returns the data set with a name (default: a registered data set)
    once : returns the result of a function; the app returns the same object for equal keys, so that runs
        continue
    """

    model: Callable[[str], Model] = load_pretrained
    data: Callable[[str], Dataset] = load_registered
    once: Callable[[Hashable, Callable[[], Any]], Any] = _make

    def data_of(self, model: Model, name: str | None = None) -> Dataset | None:
        """Return the data with this name for scoring a model; None: the data that the model was trained on.

        The app returns None instead of raising BadInput, and its page shows no scores.

        Raises
        ------
        BadInput
            If they are not on this machine, or do not fit the model. The app then returns None, and its page
            shows no scores.
        """
        return data_of(model, name, self.data)


@dataclass(frozen=True)
class PageSpec:
    """A page with live panels.

    name : its path in the address
    panels_key : name of its panels in the address
    algorithms : algorithms that a panel can run, by name
    default_panels : panels of a page opened without a link, in the format of links
    settings : its settings by name in the address
    setup : returns the setup shared by all panels, given the values of the settings and their sources
    steps : name of the steps that panels count, for example "samples"
    speed : name of the setting for steps per second
    own_numbers : returns further numbers of its runs, given a panel's algorithm or None for all algorithms
        (default: none)
    only : the only algorithm that its panels can run (default "": any)
    single : whether the page always has exactly one panel (default False)
    own_parts : further names in the address that refer to a visitor's own content, with a description of each
    own_panels : returns the panels of a page opened without any, given the values of the settings, or () for
        ``default_panels`` (default: always)
    sweep : returns the plan of the sweep that the settings describe; None (the default): the page has no map
    count : returns the number of the page's steps in a snapshot (default: its ``n``)
    advance : makes a run's steps up to the n-th, as a pause after it does, given run, settings and n
    first : returns a snapshot as it would appear at a common point of n steps, given snapshot and n (default:
        the snapshot itself)
    """

    name: str
    panels_key: str
    algorithms: Table
    default_panels: tuple[str, ...]
    settings: Mapping[str, SettingSpec]
    setup: Callable[[Mapping[str, Any], Sources], Any]
    steps: str
    speed: str
    own_numbers: Callable[[Any], Iterable[Number]] = lambda algorithm: ()
    only: str = ""
    single: bool = False
    own_parts: Mapping[str, str] = field(default_factory=dict)
    own_panels: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda values: ()
    sweep: Callable[[Mapping[str, Any]], SweepPlan] | None = None
    count: Callable[[Any], int] = lambda snapshot: int(snapshot.n)
    advance: Callable[[Any, Mapping[str, Any], int], None] = _advance
    first: Callable[[Any, int], Any] = lambda snapshot, n: snapshot

    def defaults(self) -> dict[str, Any]:
        """Return the default of each setting."""
        return {name: choice.default for name, choice in self.settings.items()}

    def numbers(self, algorithm: Any) -> dict[str, Number]:
        """Return the numbers of an algorithm's runs (None: of any) by name, for panels and claims."""
        return {**NUMBERS[self.name], **{number.name: number for number in self.own_numbers(algorithm)}}

    def number(self, name: str) -> Number:
        """Return the number with this name."""
        return self.numbers(None)[name]

    def first_panels(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the panels of a page that is opened without any."""
        return self.own_panels(values) or self.default_panels
