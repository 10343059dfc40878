"""Run cells on a Dask cluster. Only this module imports ``distributed``."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from rbmviz.errors import BadInput, brought_by, quoted
from rbmviz.sweeps.cell import provide

with brought_by("cluster", "A sweep on a cluster"):
    import distributed

CONNECT_SECONDS = 10
"""Maximum seconds that a scheduler may take to answer."""


class ModelsAndData(distributed.WorkerPlugin):
    """Give each worker the models and data of a sweep once, even if it joins later."""

    name = "rbmviz models and data"

    def __init__(self, loaded: Sequence[Any]) -> None:
        self._loaded = list(loaded)

    def setup(self, worker: Any) -> None:
        """Store models and data in the worker's process, where cells look for them."""
        for model_or_data in self._loaded:
            provide(model_or_data)


@contextmanager
def connected(
    address: str, loaded: Sequence[Any], on_message: Callable[[str], None]
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Yield a scheduler's executor, whose workers have these models and data, and its number of threads.

    Raises BadInput if there is no answer, or later if the connection is lost.
    """
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(
            f"No Dask scheduler answers at {quoted(address)} ({type(error).__name__}): start one with 'dask "
            "scheduler', and give the address that it prints."
        ) from None
    with client:
        client.register_plugin(ModelsAndData(loaded))
        said = False

        def n_threads() -> int:
            nonlocal said
            try:
                n = sum(client.nthreads().values())
            except (OSError, ValueError):
                raise BadInput(
                    f"The connection to the scheduler {quoted(address)} was lost: results are kept, and the "
                    "sweep can be resumed."
                ) from None
            if not n and not said:
                on_message(f"No worker is connected to {quoted(address)}: the sweep waits for one.")
            said = not n
            return n

        yield client.get_executor(pure=False), n_threads
