"""The declaration of a page, which the app draws, links write and read, and lessons set."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmviz.datasets import Dataset, load_registered
from rbmviz.links import Algorithms
from rbmviz.metrics.numbers import NUMBERS, Number
from rbmviz.models import data_of, load_pretrained
from rbmviz.pages.settings import SettingSpec
from rbmviz.rbm import Model
from rbmviz.session import Allowance

AUTOMATIC = "automatic"
"""The choice of data that stands for the data that the model was trained on."""

RANDOM_MODEL = "random"
"""The choice of a model with random parameters."""


def _make(key: Hashable, make: Callable[[], Any]) -> Any:
    return make()


@dataclass(frozen=True)
class Sources:
    """Where a setup finds the models and data that the settings name.

    Parameters
    ----------
    model : callable
        Returns the model of a name (default: a pretrained one).
    data : callable
        Returns the data set of a name (default: a registered one).
    once : callable
        Returns what a function makes; the app returns the same object for equal keys, so that runs go on.
    allowance : Allowance or None
        Bytes for the stored samples of all runs (default None: each run has its own).
    """

    model: Callable[[str], Model] = load_pretrained
    data: Callable[[str], Dataset] = load_registered
    once: Callable[[Hashable, Callable[[], Any]], Any] = _make
    allowance: Allowance | None = None

    def data_of(self, model: Model, name: str | None = None) -> Dataset | None:
        """Return the data of this name to score a model against; None: those that it was trained on.

        Raises
        ------
        BadInput
            If they are not on this machine, or do not fit the model. The app returns None instead, and its
            page scores nothing.
        """
        return data_of(model, name, self.data)


@dataclass(frozen=True)
class PageSpec:
    """A page with live panels.

    Parameters
    ----------
    name : str
        Its path in the address.
    panels_key : str
        Name of its panels in the address.
    algorithms : Algorithms
        What a panel can run, by name.
    default_panels : tuple of str
        The panels of a page that is opened without a link, as links write them.
    settings : mapping of str to SettingSpec
        Its settings by their names in the address.
    setup : callable
        Returns what all panels share, from the values of the settings and their sources.
    steps : str
        What its panels count: "samples".
    speed : str
        Name of the setting with the steps a second.
    own_numbers : callable
        Returns further numbers of its runs from the algorithm of a panel, or None, for those of all (default:
        none).
    only : str
        The one algorithm that its panels can run (default "": any).
    max_panels : int
        Most panels that a lesson can open (default 8).
    own_parts : mapping of str to str
        Other names in the address, which stand for something of a visitor's own, and what that is.
    """

    name: str
    panels_key: str
    algorithms: Algorithms
    default_panels: tuple[str, ...]
    settings: Mapping[str, SettingSpec]
    setup: Callable[[Mapping[str, Any], Sources], Any]
    steps: str
    speed: str
    own_numbers: Callable[[Any], Iterable[Number]] = lambda algorithm: ()
    only: str = ""
    max_panels: int = 8
    own_parts: Mapping[str, str] = field(default_factory=dict)

    def defaults(self) -> dict[str, Any]:
        """Return the default of each setting."""
        return {name: choice.default for name, choice in self.settings.items()}

    def numbers(self, algorithm: Any) -> dict[str, Number]:
        """Return the numbers of runs of an algorithm (None: of any), by name, for panels and claims."""
        return {**NUMBERS[self.name], **{number.name: number for number in self.own_numbers(algorithm)}}

    def number(self, name: str) -> Number:
        """Return the number of this name."""
        return self.numbers(None)[name]

    def run_settings(self) -> tuple[str, ...]:
        """Return the names of the settings that the runs depend on."""
        return tuple(name for name, choice in self.settings.items() if choice.makes_samples)
