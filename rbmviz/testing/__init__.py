"""Checks of the contract of samplers and trainers, for the built-in ones and your own.

>>> from rbmviz.samplers.gibbs import Gibbs
>>> rbmviz.testing.check_sampler(Gibbs)

The checks use an algorithm as the program does, through ``samplers.Sampler`` and ``trainers.Trainer``. They
never read a sampler's state, and of a trainer's state they read only the parts that the training loop reads.
"""

from typing import Any

from rbmviz.errors import quoted
from rbmviz.samplers import Sampler
from rbmviz.testing.promises import Check
from rbmviz.testing.sampler_promises import SAMPLER_PROMISES
from rbmviz.testing.trainer_promises import TRAINER_PROMISES
from rbmviz.trainers import Trainer

__all__ = ["SAMPLER_PROMISES", "TRAINER_PROMISES", "check_sampler", "check_trainer"]
__dir__ = __all__.copy  # what an editor offers


def check_sampler(algorithm: type[Sampler]) -> None:
    """Check that a sampler keeps all ``SAMPLER_PROMISES``, on which the program relies.

    Takes one to five seconds; longer if one sample takes many sweeps.

    Parameters
    ----------
    algorithm : class
        Decorated with ``registry.sampler``.

    Raises
    ------
    AssertionError
        If the sampler breaks a promise: one sentence with the promise, the observation, and a remedy.
    """
    _check(algorithm, SAMPLER_PROMISES)


def check_trainer(algorithm: type[Trainer]) -> None:
    """Check that a trainer keeps all ``TRAINER_PROMISES``; parameter and error as for ``check_sampler``.

    The class must be registered by ``registry.trainer``: checkpoints find a trainer by its name.
    """
    _check(algorithm, TRAINER_PROMISES)


def _check(cls: Any, promises: dict[str, Check]) -> None:
    """Run all checks; name the first broken promise in an AssertionError."""
    if not isinstance(cls, type):
        raise AssertionError(f"{quoted(cls)} is no class: give the class itself, not an instance or a name.")
    name = getattr(cls, "name", cls.__name__)
    for promise, check in promises.items():
        try:
            check(cls)
        except Exception as error:
            reason = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} does not keep its promise '{promise}': {reason}") from error
