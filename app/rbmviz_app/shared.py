"""Objects shared by all sessions: models and data by name, and results computed from them once."""

import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import streamlit as st

from rbmviz import RBM, Model
from rbmviz.datasets import Dataset, load_registered
from rbmviz.datasets.own import READERS
from rbmviz.errors import BadInput
from rbmviz.files.metadata import data_name
from rbmviz.lessons import Lesson
from rbmviz.metrics import Kernel, reference
from rbmviz.models import describe_model, list_models, load_pretrained, model_title, read_pretrained_headers
from rbmviz.pages import RANDOM_MODEL, Sources
from rbmviz.sweeps import SweepPlan
from rbmviz_app.jobs import Jobs, sweeps_folder
from rbmviz_app.session import TRAINED, UPLOADS

T = TypeVar("T")


class SharedObjects(Generic[T]):
    """A cache of objects shared by all sessions, keyed by their ingredients.

    Equal requests return the same object as long as anybody uses it: a race restarts if its model is
    another object, even an equal one. The last ``n_kept`` requested objects stay even if unused.
    """

    def __init__(self, n_kept: int) -> None:
        self._max_idle = n_kept
        self._newest: OrderedDict[Any, T] = OrderedDict()
        self._used: MutableMapping[Any, T] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the object for this key; make it if there is none."""
        value = self._used.get(key)
        if value is None:
            value = make()
        with self._lock:
            value = self._used.setdefault(key, value)  # another session may have been quicker
            self._newest[key] = value
            self._newest.move_to_end(key)
            while len(self._newest) > self._max_idle:
                self._newest.popitem(last=False)
        return value


@st.cache_resource(show_spinner=False)
def _shared(kind: str, n_kept: int) -> SharedObjects[Any]:
    return SharedObjects(n_kept)


@st.cache_resource(show_spinner=False)
def sweep_jobs() -> Jobs:
    """Return the sweeps of this server and of the result folders on the command line."""
    jobs = Jobs(sweeps_folder())
    for folder in RESULTS_OF_COMMAND:
        jobs.add_results(folder)
    return jobs


RESULTS_OF_COMMAND: list[Path] = []
"""Result folders from the command line."""


LESSONS_OF_COMMAND: dict[str, Lesson] = {}
"""The lessons in the folder from the command line, by name."""

MODELS_OF_COMMAND: dict[str, Model] = {}
"""The model of a file from the command line, under the file's name."""

FIRST_CHOICE: list[str] = []
"""The name of the model on the command line, from a file or pretrained; empty without one."""


def set_first_model(model: str | tuple[str, Model] | None) -> None:
    """Make every visitor's Sample page open with this model: pretrained, or named after its file."""
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
    """Return the title shown in place of a model's name; names given by visitors stay as they are."""
    return _titles().get(name) or name


def once(key: Hashable, make: Callable[[], T]) -> T:
    """Return the result of a function; the same object for equal keys, so that runs continue."""
    return _shared("made", 32).get(key, make)


def is_upload(dataset: Dataset) -> bool:
    """Return whether data come from a file, so that on a server they exist only as an upload."""
    names = dataset.name, dataset.name.rpartition("@")[0]
    return any(Path(name).suffix.lower() in READERS for name in names)


def own_data() -> dict[str, Dataset]:
    """Return the data that this visitor has uploaded on any page, by name, including the file extension."""
    contents = (upload.content for upload in UPLOADS.value.values())
    return {data.name: data for data in contents if isinstance(data, Dataset) and is_upload(data)}


def own_models() -> dict[str, Model]:
    """Return this visitor's models, by name: from files uploaded on any page, or from the Train page."""
    uploads = UPLOADS.value.values()
    files = {upload.name: upload.content for upload in uploads if isinstance(upload.content, Model)}
    return files | TRAINED.value


def data(name: str) -> Dataset:
    """Return the visitor's data of this name, or load a registered data set or a variant of one.

    Names come from links and from models' metadata: never read a file.
    """
    own = own_data().get(name)
    return own if own is not None else _shared("data", 4).get(name, lambda: load_registered(name))


@st.cache_resource(show_spinner=False, max_entries=100)
def _training_part_isl(key: str, kernel: Kernel, _dataset: Dataset, _rbm: RBM | None) -> float:
    return reference(_dataset.train, _dataset.test, _dataset.validation, kernel=kernel, rbm=_rbm).isl


def training_part_isl(dataset: Dataset, kernel: Kernel, model: Model) -> float:
    """Return the ISL of a data set's training part against its test part: of its means, for kernel "mean"."""
    # All visitors share the results, and two visitors may have files with the same name.
    key = dataset.digest() if is_upload(dataset) else dataset.name
    if kernel == "binary":
        return _training_part_isl(key, kernel, dataset, None)
    return _training_part_isl(f"{key} {model.digest()}", kernel, dataset, model.rbm)


def is_own_model(name: str) -> bool:
    """Return whether this is a model from a file, the Train page or the command line."""
    return name in own_models() or name in MODELS_OF_COMMAND


def is_known_model(name: str) -> bool:
    """Return whether this visitor can choose a model with this name."""
    return name in list_models() or is_own_model(name)


def own_content(plan: SweepPlan) -> dict[str, Model | Dataset]:
    """Return the models and data in a plan that belong to this visitor or come from the command line."""
    models = {name: model_called(name) for name in plan.models if is_own_model(name)}
    names = {plan.data} if plan.data else {data_name(model.meta) for model in models.values()}
    return {**models, **{name: dataset for name, dataset in own_data().items() if name in names}}


def model_called(name: str) -> Model:
    """Return the listed model with this name: the visitor's, the command line's, or pretrained."""
    return own_models().get(name) or MODELS_OF_COMMAND.get(name) or pretrained(name)


class _Lenient(Sources):
    """Sources that return None for missing data."""

    def data_of(self, model: Model, name: str | None = None) -> Dataset | None:
        """Return the data to score a model against; None if there are none."""
        try:
            return super().data_of(model, name)
        except BadInput:
            return None


def page_sources(lenient: bool = True) -> Sources:
    """Return the sources of models and data for the setups of pages: this visitor's and the server's.

    lenient : whether to return None for missing data
    """
    return (_Lenient if lenient else Sources)(model_called, data, once)
