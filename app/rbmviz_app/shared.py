"""Shared by all sessions: models and data by name, and results computed from them once."""

import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset, load_registered
from rbmviz.errors import BadInput
from rbmviz.lessons import Lesson
from rbmviz.metrics import Kernel, reference
from rbmviz.models import describe_model, load_pretrained, model_title, read_pretrained_headers
from rbmviz.pages import RANDOM_MODEL, Sources
from rbmviz.session import VisitorUsage
from rbmviz.session.sweeps import SweepQueue, sweeps_folder
from rbmviz.sweeps import SweepPlan
from rbmviz_app.session import ALLOWANCE, TRAINED, visitors

T = TypeVar("T")


class SharedObjects(Generic[T]):
    """A cache of objects shared by all sessions, keyed by their ingredients.

    Equal requests return the same object as long as anybody uses it: a comparison restarts if its model is
    another object, even an equal one. The last ``n_kept`` requested objects stay even if unused.
    """

    def __init__(self, n_kept: int) -> None:
        self._max_idle = n_kept
        self._newest: OrderedDict[Any, T] = OrderedDict()
        self._used: MutableMapping[Any, T] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the object of this key; make it if there is none."""
        found = self._used.get(key)
        if found is None:
            found = make()
        with self._lock:
            found = self._used.setdefault(key, found)  # another session may have been quicker
            self._newest[key] = found
            self._newest.move_to_end(key)
            while len(self._newest) > self._max_idle:
                self._newest.popitem(last=False)
        return found


@st.cache_resource(show_spinner=False)
def _shared(kind: str, n_kept: int) -> SharedObjects[Any]:
    return SharedObjects(n_kept)


@st.cache_resource(show_spinner=False)
def sweep_queue() -> SweepQueue:
    """Return the sweeps of this server and of the result folders on the command line."""
    queue = SweepQueue(sweeps_folder(), memory=VisitorUsage(visitors()))
    for folder, plan in RESULTS_OF_COMMAND:
        queue.add_results(folder, plan)
    return queue


RESULTS_OF_COMMAND: list[tuple[Path, SweepPlan]] = []
"""Result folders from the command line, and their plans."""


LESSONS_OF_COMMAND: dict[str, Lesson] = {}
"""The lessons in the folder from the command line, by name."""

MODELS_OF_COMMAND: dict[str, Model] = {}
"""The model of a file from the command line, under the file's name."""

FIRST_CHOICE: list[str] = []
"""The name of the model on the command line, from a file or pretrained; empty without one."""


def set_first_model(model: str | tuple[str, Model] | None) -> None:
    """Open the Sample page of every visitor with a pretrained model, or one under its file's name."""
    if isinstance(model, tuple):
        MODELS_OF_COMMAND[model[0]] = model[1]
    if model is not None:
        FIRST_CHOICE[:] = [model if isinstance(model, str) else model[0]]


def pretrained(name: str) -> Model:
    """Load a shipped model."""
    return _shared("pretrained", 32).get(name, lambda: load_pretrained(name))


@functools.cache
def pretrained_line(name: str) -> str:
    """Describe a shipped model in one line."""
    return describe_model(pretrained(name))


@functools.cache
def _titles() -> dict[str, str]:
    titles = {name: model_title(header.meta) for name, header in read_pretrained_headers().items()}
    return titles | {RANDOM_MODEL: "Random model"}


def title_of_model(name: str) -> str:
    """Return what people read instead of the name of a model; visitors' own names stay."""
    return _titles().get(name) or name


def once(key: Hashable, make: Callable[[], T]) -> T:
    """Return the result of a function; the same object for equal keys, so that runs continue."""
    return _shared("made", 32).get(key, make)


def data(name: str) -> Dataset:
    """Load a registered data set, or a variant of one.

    Names come from links and from models' metadata: never read a file.
    """
    return _shared("data", 4).get(name, lambda: load_registered(name))


@st.cache_resource(show_spinner=False, max_entries=100)
def training_part_isl(name: str, kernel: Kernel) -> float:
    """Return the ISL of a data set's training part against its own test part."""
    dataset = data(name)
    return reference(dataset.train, dataset.test, dataset.validation, kernel=kernel).isl


def is_own_model(name: str) -> bool:
    """Return whether this is a model from the Train page or the command line."""
    return name in TRAINED.value or name in MODELS_OF_COMMAND


def model_called(name: str) -> Model:
    """Return the listed model with this name: from the Train page, the command line, or pretrained."""
    return TRAINED.value.get(name) or MODELS_OF_COMMAND.get(name) or pretrained(name)


class _PageSources(Sources):
    """The models and data of this visitor and of the server; missing data are None."""

    def data_of(self, model: Model, name: str | None = None) -> Dataset | None:
        """Return the data to score a model against; None if there are none."""
        try:
            return super().data_of(model, name)
        except BadInput:
            return None


def page_sources() -> Sources:
    """Return where the setups of pages find models and data."""
    return _PageSources(model_called, data, once, ALLOWANCE.ensure())
