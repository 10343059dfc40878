"""Run cells on a Dask cluster. Only this module imports ``distributed``."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from rbmviz.array_files import printable
from rbmviz.errors import BadInput, brought_by
from rbmviz.sweeps.cell import provide

with brought_by("cluster", "A sweep on a cluster"):
    import distributed

CONNECT_SECONDS = 10
"""Maximum seconds that a scheduler may take to answer."""


class Connection(NamedTuple):
    """A cluster; n_threads : returns the number of threads that all workers have now."""

    executor: Executor
    n_threads: Callable[[], int]


class ModelsAndData(distributed.WorkerPlugin):
    """Give each worker the models and data of a sweep once, even if it joins later."""

    name = "rbmviz models and data"

    def __init__(self, loaded: Sequence[Any]) -> None:
        self._loaded = list(loaded)

    def setup(self, worker: Any) -> None:
        """Store models and data in the worker's process, where cells look for them."""
        for model_or_data in self._loaded:
            provide(model_or_data)


_NOISY = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Loggers to which a lost connection writes tracebacks."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence these loggers, because errors are reported in one sentence."""
    levels = {name: logging.getLogger(name).level for name in _NOISY}
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def connected(address: str, loaded: Sequence[Any], on_message: Callable[[str], None]) -> Iterator[Connection]:
    """Connect to a scheduler, and give its workers models and data; BadInput if there is no answer."""
    with _quiet(), _client(address) as client:
        client.register_plugin(ModelsAndData(loaded))
        before, alone = 0, False

        def n_threads() -> int:
            nonlocal before, alone
            try:
                workers = client.nthreads()
            except (OSError, ValueError):
                raise BadInput(
                    f"The connection to the scheduler '{address}' was lost: what was computed is kept, and "
                    "the sweep can be resumed."
                ) from None
            if len(workers) < before:
                on_message(
                    f"{before - len(workers)} of {before} workers are gone: their cells are run again."
                )
            if not workers and not alone:
                on_message(f"No worker is connected to '{address}': the sweep waits for one.")
            before, alone = len(workers), not workers
            return sum(workers.values())

        yield Connection(client.get_executor(pure=False), n_threads)


def _client(address: str) -> distributed.Client:
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = printable(str(error).splitlines()[0])[:200] if str(error) else type(error).__name__
        raise BadInput(
            f"No Dask scheduler answers at '{printable(address)[:100]}' ({why}): start one with "
            "'dask scheduler', and give the address that it prints."
        ) from None
