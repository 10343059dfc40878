"""Knobs that trainers have in common: the record ``CommonKnobs`` of those that all have, and others.

A trainer inherits the record, and declares again what shall begin at another default:
``learning_rate: float = common_knobs.learning_rate(0.01)``. The functions below make the knobs that only
some trainers have; they are functions because a dataclass field belongs to one class.
"""

from dataclasses import dataclass
from typing import Any

from rbmviz.knobs import knob


def learning_rate(default: float = 0.05) -> Any:
    """Return the knob of the learning rate at the first update."""
    text = "Size of an update at the start: too large and the likelihood falls, or the weights explode."
    return knob(default, 1e-6, 10.0, label="Learning rate", scale="log", front=True, help=text)


def schedule(default: str = "constant") -> Any:
    """Return the knob that says how the learning rate falls."""
    text = "A falling rate averages the noise of the updates away: look at the end of the curve."
    return knob(default, label="Schedule", choices=("constant", "linear", "inverse_sqrt"), help=text)


@dataclass(frozen=True, kw_only=True)
class CommonKnobs:
    """Knobs that the training loop and its update rule read of every trainer, see ``training.updates``."""

    learning_rate: float = learning_rate()
    schedule: str = schedule()
    iterations: int = knob(
        1000,
        1,
        10_000_000,
        label="Iterations",
        scale="log",
        help="Updates until the linear schedule reaches zero; later updates change nothing.",
    )
    momentum: float = knob(
        0.0,
        0.0,
        0.99,
        label="Momentum",
        help="Share of the last step that is taken again: faster along valleys, wilder where it is noisy.",
    )
    weight_decay: float = knob(
        0.0,
        1e-7,
        1.0,
        label="Weight decay",
        scale="log",
        zero=True,
        help="Pull of W to zero: keeps chains mixing, and blurs what the model knows.",
    )
    batch_size: int = knob(
        0,
        1,
        10_000,
        label="Batch size",
        scale="log",
        zero=True,
        help="Training examples in one update: "
        "fewer are noisier and cheaper; 0 is 100, or all of smaller data.",
    )
    average: bool = knob(
        False,
        label="Average",
        help="The model is the mean of all parameters since this was switched on: "
        "less noise, and some delay.",
    )
    box: float = knob(
        0.0,
        0.01,
        100.0,
        label="Box",
        scale="log",
        zero=True,
        help="No parameter may leave [-box, box]: "
        "chains keep mixing, and updates cannot run away; 0 is no box.",
    )


# Knobs that some trainers have


def k() -> Any:
    """Return the knob of the Gibbs sweeps in one update."""
    text = "Gibbs sweeps an update: more sweeps, less bias, and as much more time."
    return knob(1, 1, 1000, label="Sweeps per update", scale="log", front=True, help=text)


def n_chains() -> Any:
    """Return the knob of chains that are kept from update to update, or drawn in a fixed number."""
    text = "Persistent chains that estimate the model's side: more chains, less noise."
    return knob(100, 1, 10_000, label="Chains", scale="log", live=False, help=text)


def n_starts() -> Any:
    """Return the knob of chains that start anew at every update; 0 starts them at the mini-batch."""
    text = "Chains of an update, begun at training examples of their own; 0 begins them at the mini-batch."
    return knob(0, 1, 10_000, label="Chains", scale="log", zero=True, help=text)
