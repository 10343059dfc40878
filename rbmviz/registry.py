"""The tables of samplers, trainers, metrics and data sets.

A new entry takes one file in ``samplers/`` (or ``trainers/`` ...) with one decorated class: the folder is
imported when its table is first read, and a file that cannot be imported raises its error. A sampler or
trainer file whose name begins with an underscore is an example to copy; its class is not registered.

Plug-ins are modules from elsewhere with such classes: files or modules that ``RBMVIZ_PLUGINS`` names, and
the entry points ``rbmviz.algorithms`` of installed packages. They are imported when samplers or trainers are
first read. One that cannot be imported is left out, and ``tell`` gets the sentence that says so.
"""

import dataclasses
import importlib
import importlib.util
import os
import pkgutil
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar, dataclass_transform

from rbmviz.errors import BadInput, known, quoted, shortened
from rbmviz.knobs import check_all, check_names, knob, read_knobs

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PLUGINS = "RBMVIZ_PLUGINS"
"""Environment variable of plug-ins: files and names of modules, separated as in PATH."""


class Table:
    """Named entries of one kind, read from one folder of the package, if any.

    method : what every algorithm of this kind has, and other objects do not
    unlisted : modules by the names of entries that are found by name alone, and stand in no list
    """

    def __init__(
        self, kind: str, package: str = "", method: str = "", unlisted: Mapping[str, str] | None = None
    ) -> None:
        self.kind, self.package, self.method = kind, package, method
        self._unlisted = unlisted or {}
        self._entries: dict[str, Any] = {}
        self._discovered = not package

    def add(self, name: str, entry: Any) -> None:
        """Register an entry; BadInput if another module has registered the same name.

        A module imported again replaces its own entry, as does a second class of the same name in one module.
        """
        if not entry.__module__.startswith("rbmviz."):
            self._discover()  # so that the newcomer is refused, and not the entry of the package
        if name in self._entries and (taken := self._entries[name].__module__) != entry.__module__:
            raise BadInput(f"'{name}' is the name of a {self.kind} of {taken}: choose another.")
        self._entries[name] = entry

    def _discover(self) -> None:
        if not self._discovered:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__, f"{self.package}."):
                importlib.import_module(module.name)
            self._discovered = True

    def __getitem__(self, name: str) -> Any:
        """Return the entry, also of a name in other case; or raise BadInput with the nearest name."""
        self._discover()
        _load_plugins(self)
        if name in self._unlisted:
            importlib.import_module(self._unlisted[name])
        return self._entries[name if name in self._entries else known(self.kind, name, self)]

    def __iter__(self) -> Iterator[str]:
        self._discover()
        _load_plugins(self)
        return iter(sorted(self._entries.keys() - self._unlisted.keys()))

    def source(self, name: str) -> str:
        """Return the plug-in that an entry comes from, a file or a module; "" if it is of the package."""
        module: str = self[name].__module__
        return "" if module.startswith("rbmviz.") else module

    def read(self, algorithm: Any, /, *, arguments: Iterable[str] = (), **knobs: Any) -> Any:
        """Return the algorithm that a caller has given, with further knobs.

        algorithm : its name, a text like ``rates_fpcd:eps=0.03,k=2``, its class, or the algorithm itself
        arguments : further arguments of the caller, which an unknown knob may have been meant for

        Raises BadInput if the algorithm or a knob is unknown, given twice, or a value is out of range.
        """
        if isinstance(algorithm, str):
            name, _, text = algorithm.partition(":")
            cls = self[name]
            own = read_knobs(cls, text)
            check_names(cls, knobs, arguments)
            if twice := own.keys() & knobs:
                raise BadInput(f"{name}: {min(twice)} is given twice; give it once.")
            return cls(**own, **knobs)
        cls = algorithm if isinstance(algorithm, type) else type(algorithm)
        if not (hasattr(cls, self.method) and dataclasses.is_dataclass(cls)):
            raise BadInput(
                f"{quoted(algorithm)} is not a {self.kind}: give a name, or make one with make_{self.kind}."
            )
        check_names(cls, knobs, arguments)
        if algorithm is cls:
            return cls(**knobs)
        return dataclasses.replace(algorithm, **knobs) if knobs else algorithm


samplers = Table("sampler", "rbmviz.samplers", "target", unlisted={"broken": "rbmviz.testing.broken"})
trainers = Table("trainer", "rbmviz.trainers", "negative")
metrics = Table("metric", "rbmviz.metrics")
live_metrics = Table("live metric", "rbmviz.metrics")
datasets = Table("data set", "rbmviz.datasets")

left_out: list[str] = []
"""The sentences about plug-ins that are left out; each is also given to ``tell``."""

tell: Callable[[str], object] = warnings.warn
_loading = threading.RLock()
_loaded = False


def _load_plugins(table: Table) -> None:
    """Import the plug-ins of the environment and of installed packages, once in a process."""
    global _loaded
    with _loading:
        if _loaded or table not in (samplers, trainers):
            return
        _loaded = True  # first, because a plug-in may read the tables
        from importlib.metadata import entry_points  # takes 12 ms to import, and 10 ms to read 300 packages

        installed = [entry.module for entry in entry_points(group="rbmviz.algorithms")]
        for name in dict.fromkeys([*os.environ.get(PLUGINS, "").split(os.pathsep), *installed]):
            try:
                plug_in(name) if name else None
            except BadInput as error:
                left_out.append(str(error))
                tell(str(error))


def plug_in(name: str) -> None:
    """Import a plug-in, a Python file or a module by name; all of its samplers and trainers join, or none.

    It is imported once in a process. Raises BadInput, in one sentence, if it cannot be imported.
    """
    tables = (samplers, trainers)
    for table in tables:
        table._discover()
    before = [dict(table._entries) for table in tables]
    try:
        if name.endswith(".py") or os.sep in name:
            module = _import_file(os.path.abspath(name))
        else:
            module = importlib.import_module(name)
        registered = [each.__module__ for table in tables for each in table._entries.values()]
        if module.__name__.partition(".")[0] not in {name.partition(".")[0] for name in registered}:
            raise BadInput("it has no sampler and no trainer.")
    except (Exception, SystemExit) as error:
        for table, entries in zip(tables, before, strict=True):
            table._entries = entries
        raise BadInput(f"The plug-in {quoted(name)} cannot be used: {_reason(error, name)}") from error


def _import_file(path: str) -> ModuleType:
    """Return the module in a file, whose path is its name."""
    if path not in sys.modules:
        spec = importlib.util.spec_from_file_location(path, path)
        if spec is None or spec.loader is None or not os.path.isfile(path):
            raise BadInput("there is no such Python file.")
        sys.modules[path] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[path])
        except BaseException:
            del sys.modules[path]
            raise
    return sys.modules[path]


def _reason(error: BaseException, name: str) -> str:
    """Return why an import has failed: the rest of a sentence, with the line of the file if it is known."""
    if isinstance(error, BadInput):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.endswith(name)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    said = next(iter(str(getattr(error, "msg", error)).splitlines()), "")
    return f"{type(error).__name__}: {shortened(said, 200)}{f' (line {line})' if line else ''}."


def _algorithm(table: Table, name: str, label: str, paper: str, colour: str) -> Callable[[C], C]:
    def register(cls: C) -> C:
        # Installed before dataclass() looks for it, so that every instance is checked, including those made
        # by dataclasses.replace.
        if getattr(cls, "__post_init__", check_all) is not check_all:  # also if inherited
            raise TypeError(
                f"{cls.__qualname__}: a {table.kind} has no __post_init__ of its own, which would take the "
                "place of the check of its knobs; give each knob its range or choices instead"
            )
        for base in cls.__mro__[1:]:
            fields = [key for key, value in vars(base).items() if isinstance(value, dataclasses.Field)]
            if fields:  # the base is no dataclass: dataclass() would have put defaults in their place
                raise TypeError(
                    f"{cls.__qualname__}: its base {base.__qualname__} has knobs ({', '.join(fields)}), but "
                    "only a dataclass hands them on: decorate it with dataclass(frozen=True, kw_only=True)"
                )
        cls.__post_init__ = check_all  # type: ignore[attr-defined]
        cls.name, cls.label, cls.paper, cls.colour = name, label, paper, colour  # type: ignore[attr-defined]
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)  # decorates in place
        if not cls.__module__.startswith(f"{table.package}._"):  # an example to copy
            table.add(name, cls)
        return cls

    return register


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(knob,))
def sampler(name: str, *, label: str, paper: str, colour: str = "") -> Callable[[C], C]:
    """Return a class decorator that makes a sampler a frozen dataclass and registers it.

    name : identifier on the command line, in links and in files
    label : name shown to people
    paper : source of the algorithm
    colour : its colour in charts and panels, ``#rrggbb``; "" lets the app choose one
    """
    return _algorithm(samplers, name, label, paper, colour)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(knob,))
def trainer(name: str, *, label: str, paper: str, colour: str = "") -> Callable[[C], C]:
    """Return a class decorator that makes a trainer a frozen dataclass and registers it; see ``sampler``."""
    return _algorithm(trainers, name, label, paper, colour)


def _entry(table: Table, name: str) -> Callable[[F], F]:
    def register(entry: F) -> F:
        table.add(name, entry)
        return entry

    return register


def metric(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a metric: a streaming class, or a function."""
    return _entry(metrics, name)


def live_metric(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a metric updated during runs, see ``rbmviz.metrics.live``."""
    return _entry(live_metrics, name)


def dataset(name: str, *, label: str = "", file: str = "", published: Any = None) -> Callable[[F], F]:
    """Return a decorator that registers a function that returns a Dataset.

    The first line of the function's docstring is the description of the data set.

    name : identifier on the command line and in links
    label : name shown to people, with a distinction from namesakes in brackets; default ``name``
    file : name of the published data set that the data are cut from; default ``name``
    published : a ``datasets.raw.Publication``: where the data come from; None for generated data
    """

    def register(function: F) -> F:
        function.label, function.file = label or name, file or name  # type: ignore[attr-defined]
        function.published = published  # type: ignore[attr-defined]
        return _entry(datasets, name)(function)

    return register
