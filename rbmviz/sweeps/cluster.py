"""A Dask cluster as an executor of cells. This is the only module that imports ``distributed``."""

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
"""How long a scheduler has to answer."""


class Connection(NamedTuple):
    """A cluster.

    executor : of the client; n_threads : returns how many threads all its workers have now
    """

    executor: Executor
    n_threads: Callable[[], int]


class ModelsAndData(distributed.WorkerPlugin):
    """Gives each worker the models and the data of a sweep, once, also those that join later."""

    name = "rbmviz models and data"

    def __init__(self, loaded: Sequence[Any]) -> None:
        self._loaded = list(loaded)

    def setup(self, worker: Any) -> None:
        """Keep them in the worker's process, where the cells look for them."""
        for one in self._loaded:
            provide(one)


_NOISY = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Logs in which a lost connection leaves tracebacks, each with a level of its own."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the logs silent in the block: what is wrong is said in a sentence."""
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
    """Connect to a scheduler, and hand models and data to its workers.

    Raises
    ------
    BadInput
        If no scheduler answers there.
    """
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
