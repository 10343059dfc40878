"""Knobs that all trainers share (``CommonKnobs``), and knobs that some trainers share.

A trainer inherits ``CommonKnobs``. To change a default, declare the knob again:
``learning_rate: float = common_knobs.learning_rate(1.0)``. Functions make the knobs of some trainers,
because a dataclass field belongs to one class.

All trainers begin with one learning rate and one schedule, so that they are compared on equal terms; the
documentation's page on the algorithms has the gain of each. Herding has a rate of 1, because its
updates are not steps towards a maximum.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from rbmviz.knobs import knob


def learning_rate(default: float = 0.05) -> Any:
    """Return the knob of the learning rate at the first update."""
    text = "Size of an update at the start: too large and the likelihood falls, or the weights explode."
    return knob(
        default, 1e-6, 10.0, label="Learning rate", symbol=r"\eta", scale="log", front=True, help=text
    )


def schedule(default: str = "constant") -> Any:
    """Return the knob of how the learning rate falls."""
    text = (
        "A falling rate averages the noise of the updates away: a linear one is zero after the iterations, "
        "the others never end."
    )
    choices = ("constant", "linear", "inverse_sqrt")
    return knob(default, label="Schedule", symbol="t", choices=choices, help=text)


def batch_size(
    text: str = "Training examples in one update: "
    "fewer are noisier and cheaper; 0 means 100, or all if there are fewer.",
    symbol: str = "B",
) -> Any:
    """Return the knob of the size of mini-batches; symbol: "" if no equation has it."""
    return knob(0, 1, 10_000, label="Batch size", symbol=symbol, scale="log", zero=True, help=text)


@dataclass(frozen=True, kw_only=True)
class CommonKnobs:
    """The knobs of all trainers, read by the training loop and the update rule, see ``training.updates``."""

    update_equation: ClassVar[tuple[str, ...]] = (
        r"g = \langle s \rangle_{\knob{batch_size}} - \langle s \rangle_{\text{model}}",
        r"u \leftarrow \knob{momentum}\, u + g - \knob{weight_decay}\, W",
        r"\theta \leftarrow \theta + \knob{learning_rate}_{\knob{schedule}}\, u",
    )
    """The update that every trainer makes, with its estimate of the model's side; see ``view.formulas``."""

    learning_rate: float = learning_rate()
    schedule: str = schedule()
    iterations: int = knob(
        1000,
        1,
        10_000_000,
        label="Iterations",
        symbol="",
        scale="log",
        help="Updates until the linear schedule reaches zero; with it, later updates move no parameter.",
    )
    momentum: float = knob(
        0.0,
        0.0,
        0.99,
        label="Momentum",
        symbol=r"\mu",
        help="Share of the last step that is added to the next: faster along valleys, noisier elsewhere.",
    )
    weight_decay: float = knob(
        0.0,
        1e-7,
        1.0,
        label="Weight decay",
        symbol=r"\lambda",
        scale="log",
        zero=True,
        help="Pull of W towards zero: chains keep mixing, and the model becomes less sharp.",
    )
    batch_size: int = batch_size()
    initial_scale: float = knob(
        0.01,
        1e-6,
        10.0,
        label="Initial scale",
        scale="log",
        zero=True,
        live=False,
        help="Spread of the first weights: standard deviation, or half width of a uniform distribution.",
    )
    initial_law: str = knob(
        "normal",
        label="Initial law",
        choices=("normal", "uniform"),
        live=False,
        help="Distribution of the first weights: N(0, scale²), or uniform from -scale to scale.",
    )
    initial_biases: str = knob(
        "data",
        label="Initial biases",
        choices=("data", "zero", "random"),
        live=False,
        help="First biases: log odds of the data’s pixels (hidden ones 0), all 0, or drawn as the weights "
        "are.",
    )
    average: bool = knob(
        False,
        label="Average",
        symbol="",
        help="The model is the mean of all parameters since this was switched on: "
        "less noise, and some delay.",
    )
    box: float = knob(
        0.0,
        0.01,
        100.0,
        label="Box",
        symbol="",
        scale="log",
        zero=True,
        help="No parameter may leave [-box, box]: "
        "chains keep mixing, and updates cannot run away; 0: no box.",
    )


# Knobs that some trainers have

SWEEPS_PER_UPDATE = "Sweeps"
"""Label of the knob ``k`` of trainers that make k Gibbs sweeps in each update, and count them."""


def k() -> Any:
    """Return the knob of the Gibbs sweeps in one update."""
    text = "Gibbs sweeps per update: more sweeps, less bias, and proportionally more time."
    return knob(1, 1, 1000, label=SWEEPS_PER_UPDATE, symbol="k", scale="log", front=True, help=text)


def n_chains() -> Any:
    """Return the knob for a number of chains that cannot change during the training."""
    text = "Persistent chains that estimate the model's side: more chains, less noise."
    return knob(100, 1, 10_000, label="Chains", scale="log", live=False, help=text)


def n_starts() -> Any:
    """Return the knob for the number of chains that restart at every update; 0: at the mini-batch."""
    text = "Chains per update, each started at a random training example; 0 starts them at the mini-batch."
    return knob(0, 1, 10_000, label="Chains", symbol="", scale="log", zero=True, help=text)
