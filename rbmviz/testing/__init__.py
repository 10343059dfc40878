"""The contract of samplers and trainers, those of this package and those of other authors.

>>> from rbmviz.samplers.gibbs import Gibbs
>>> rbmviz.testing.check_sampler(Gibbs)

If an algorithm breaks a promise, an ``AssertionError`` names the promise and says in a sentence what was
observed. Algorithms are used as the program uses them, through the protocols ``samplers.Sampler`` and
``trainers.Trainer``. No check reads the state of a sampler. Of the state of a trainer, the checks read what
the training loop reads: ``training.TrainingState``.
"""

from typing import Any

from rbmviz.errors import shown
from rbmviz.samplers import Sampler
from rbmviz.testing.promises import Check
from rbmviz.testing.sampler_promises import SAMPLER_PROMISES
from rbmviz.testing.trainer_promises import TRAINER_PROMISES
from rbmviz.trainers import Trainer

__all__ = ["SAMPLER_PROMISES", "TRAINER_PROMISES", "check_sampler", "check_trainer"]


def check_sampler(algorithm: type[Sampler]) -> None:
    """Check that a sampler keeps all ``SAMPLER_PROMISES``, on which the program relies.

    Takes a second to ten, for a sampler in plain numpy three to twenty; in proportion longer where one
    sample takes many sweeps.

    Parameters
    ----------
    algorithm : class
        Decorated with ``registry.sampler``, which also registers it (but for examples to copy, in files whose
        names begin with an underscore).

    Raises
    ------
    AssertionError
        If it breaks a promise: one sentence with the promise's name.
    """
    _check(algorithm, SAMPLER_PROMISES)


def check_trainer(algorithm: type[Trainer]) -> None:
    """Check that a trainer keeps all ``TRAINER_PROMISES``, on which the program relies.

    Parameters
    ----------
    algorithm : class
        Decorated with ``registry.trainer``, and registered: checkpoints find it by its name.

    Raises
    ------
    AssertionError
        If it breaks a promise: one sentence with the promise's name.
    """
    _check(algorithm, TRAINER_PROMISES)


def _check(cls: Any, promises: dict[str, Check]) -> None:
    """Check all promises of an algorithm; the first broken one is named in an AssertionError."""
    if not isinstance(cls, type):
        raise AssertionError(f"{shown(cls)} is no class: give the class itself, not an instance or a name.")
    name = getattr(cls, "name", getattr(cls, "__name__", cls))
    for promise, check in promises.items():
        try:
            check(cls)
        except Exception as error:
            seen = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} does not keep its promise '{promise}': {seen}") from error
