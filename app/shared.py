"""What all sessions share: models and data by name, and what is computed from them, once for all."""

import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any, Generic, TypeVar

import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset, load_registered
from rbmviz.metrics import Kernel, reference
from rbmviz.models import describe_model, load_pretrained, pattern_model, random_model
from rbmviz.session import random_rbm

T = TypeVar("T")


class SharedObjects(Generic[T]):
    """Objects by what they are made of, for all sessions: the same question has the same object.

    So it is as long as anybody uses the object: a comparison whose model were another object would begin
    anew. Of those that nobody uses the newest few are kept, however many are asked for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._newest: OrderedDict[Any, T] = OrderedDict()
        self._used: MutableMapping[Any, T] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the object of this key; where there is none, make it."""
        found = self._used.get(key)
        if found is None:
            found = make()
        with self._lock:
            found = self._used.setdefault(key, found)  # another session may have been quicker
            self._newest[key] = found
            self._newest.move_to_end(key)
            while len(self._newest) > self._most:
                self._newest.popitem(last=False)
        return found


@st.cache_resource(show_spinner=False)
def _shared(kind: str, most: int) -> SharedObjects[Any]:
    return SharedObjects(most)


MODELS_OF_COMMAND: dict[str, Model] = {}
"""The model of a file that the command line names, under the name of that file; its page's first choice."""

FIRST_CHOICE: list[str] = []
"""The name of the model that the command line names, from a file or pretrained; empty without one."""


def begin_with(model: str | tuple[str, Model] | None) -> None:
    """Let the Sample page of every visitor begin with a pretrained model, or one under its file's name."""
    if isinstance(model, tuple):
        MODELS_OF_COMMAND[model[0]] = model[1]
    if model is not None:
        FIRST_CHOICE[:] = [model if isinstance(model, str) else model[0]]


def pretrained(name: str) -> Model:
    """Load a shipped model."""
    return _shared("pretrained", 32).get(name, lambda: load_pretrained(name))


@functools.cache
def pretrained_line(name: str) -> str:
    """Return in a line what a shipped model is."""
    return describe_model(pretrained(name))


def pattern_landscape(patterns: tuple[str, ...], depth: float) -> Model:
    """Return the small model of these patterns; the same one is the same object, so that its runs go on."""
    return _shared("patterns", 32).get((patterns, depth), lambda: pattern_model(patterns, depth))


def random_landscape(scale: float, seed: int, units: tuple[int, int] = (6, 4)) -> Model:
    """Return a small model of random weights; the same one is the same object, so that its runs go on."""
    key = scale, seed, units
    return _shared("landscapes", 32).get(key, lambda: random_model(*units, scale, seed))


def random_coupled(n_visible: int, n_hidden: int, seed: int) -> Model:
    """Return a random model to couple chains of; the same one is the same object, so that its run goes on."""
    key = n_visible, n_hidden, seed
    return _shared("drawn", 8).get(key, lambda: Model(random_rbm(n_visible, n_hidden, seed)))


def data(name: str) -> Dataset:
    """Load a registered data set, or a variant of one.

    Names come from links and from models' metadata: no file is ever read.
    """
    return _shared("data", 4).get(name, lambda: load_registered(name))


@st.cache_resource(show_spinner=False, max_entries=100)
def training_part_isl(name: str, kernel: Kernel) -> float:
    """Return the ISL that the training part of a data set has against its own test part."""
    dataset = data(name)
    return reference(dataset.train, dataset.test, dataset.validation, kernel=kernel).isl
