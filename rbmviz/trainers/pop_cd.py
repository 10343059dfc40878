"""Population contrastive divergence: CD's samples with importance weights for the model's distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import AnyData, data_of, rows_of
from rbmviz.errors import BadInput, known_keywords
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.rbm.parameters import FixedParameters, Rows
from rbmviz.registry import trainer
from rbmviz.support.notebook import short_repr
from rbmviz.trainers import Progress, batches, common_knobs, make_trainer, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState

PROPOSALS = ("visible", "joint", "mixture")


@dataclass(frozen=True, eq=False)
class Population:
    """Weighted samples.

    Parameters
    ----------
    v : float32 (n, n_visible)
        The samples, values 0 and 1.
    log_weights : float64 (n,)
        Unnormalised; the mean of the weights estimates Z without bias, for any k and proposal.
    """

    v: np.ndarray
    log_weights: np.ndarray

    __repr__ = short_repr

    @property
    def weights(self) -> np.ndarray:
        """Normalised weights, float64 (n,), sum 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return weights / weights.sum()

    @property
    def ess(self) -> float:
        """Effective sample size, 1 / sum of the squared normalised weights: between 1 and n."""
        return float(1 / (self.weights**2).sum())

    @property
    def max_weight(self) -> float:
        """Largest normalised weight."""
        return float(self.weights.max())

    @property
    def log_z_estimate(self) -> float:
        """Logarithm of the mean weight."""
        return float(np.logaddexp.reduce(self.log_weights) - np.log(len(self.log_weights)))

    def leave_one_out(self) -> np.ndarray:
        """Return (n - 1) / n w_i / sum_{j != i} w_j (eq. 9), float64 (n,); they need not sum to 1.

        Raises
        ------
        BadInput
            If there is one sample only, which has no others.
        """
        weights, n = self.weights, len(self.log_weights)
        if n == 1:
            raise BadInput("One sample has no others: turn off leave_one_out, or use more chains.")
        # Summed, not 1 - w_i: if one weight is nearly 1, the difference would have no digits left.
        others = np.array([np.delete(weights, i).sum() for i in range(n)])
        return (n - 1) / n * weights / others


def populate(
    theta: FixedParameters, v0: np.ndarray, k: int, proposal: str, mixture: int, stream: np.ndarray
) -> Population:
    """Draw one weighted sample from each row of v0, float32 (n, n_visible).

    k - 1 Gibbs sweeps from v0 give v', then h ~ p(h|v') and v ~ p(v|h) as in CD-k. Weights
    (population CD, sections 3 and 3.4):
    visible: p~(v) / p(v|h); joint: p~(h) / p(h|v');
    mixture: p~(v) / mean_j p(v|h_j) over the hidden states of a group of ``mixture`` consecutive rows, each
    of which gives one v (the last group may be smaller).
    """
    b, c = np.array(theta.b), np.array(theta.c)  # copies: views of other kinds would be compiled for anew
    for _ in range(k - 1):
        v0 = batches.sweep(theta, v0, stream)
    up = np.array(theta.inputs(v0)[:, : len(c)])
    v = batches.sweep(theta, v0, stream)
    down = np.array(theta.inputs_of_visible(len(v)))
    log_weights, add_softplus = np.zeros(len(v)), kernels.annealing.add_softplus
    if proposal == "joint":  # the biases c of p~(h) and p(h|v') cancel
        add_softplus(down, b, np.zeros_like(down), log_weights)
        add_softplus(up, c, theta.hidden(len(v)), log_weights)
        return Population(v, log_weights)
    up = np.array(theta.inputs(v)[:, : len(c)])
    add_softplus(up, c, np.zeros_like(up), log_weights)
    if proposal == "visible":  # the biases b of p~(v) and p(v|h) cancel
        add_softplus(down, b, v, log_weights)
        return Population(v, log_weights)
    softplus = np.zeros(len(v))
    add_softplus(down, b, np.zeros_like(down), softplus)
    down -= b
    for at in range(0, len(v), mixture):
        group = slice(at, at + mixture)
        each = v[group].astype(np.float64) @ down[group].astype(np.float64).T - softplus[group]
        log_weights[group] -= np.logaddexp.reduce(each, axis=1) - np.log(len(each))
    return Population(v, log_weights)


@known_keywords
def pop_weights(
    rbm: AnyModel,
    v0: AnyData = "data",
    k: int = 1,
    seed: rng.Seed = 0,
    *,
    proposal: str = "visible",
    mixture: int = 10,
) -> Population:
    """Return weighted samples of population CD, one from each row of v0.

    k - 1 Gibbs sweeps from v0 give v', then h ~ p(h|v') and v ~ p(v|h), as in CD-k. The weights say how much
    more likely a sample is under the model than where it was drawn from (population CD, sections 3 and 3.4).

    Parameters
    ----------
    rbm : RBM, Model, name or file
        The model.
    v0 : uint8 (n, n_visible)
        Starts.
    k : int
        Gibbs sweeps of each chain (default 1).
    seed : int, SeedSequence or Generator
        Same seed, same samples (default 0).
    proposal : "visible" (default), "joint" or "mixture"
        The weight is p~(v) / p(v|h), p~(h) / p(h|v'), or p~(v) / mean_j p(v|h_j).
    mixture : int
        Hidden states h_j, for "mixture" only (default 10).

    Raises
    ------
    BadInput
        If v0 is not bits of n_visible columns, or k, proposal or mixture is out of range.

    ``v0`` may also be "data" (default), for the training examples of the model's data, or a data set, its
    name or file.

    Examples
    --------
    >>> population = rbmviz.pop_weights("bas_pcd", k=1, seed=0)
    >>> population.log_weights.shape, 1 <= population.ess <= 32
    ((32,), True)
    """
    model = as_model(rbm)
    rbm, given = model.rbm, data_of(model) if isinstance(v0, str) and v0 == "data" else v0
    v0 = rows_of("pop_weights: v0", given, rbm.n_visible, "train")
    make_trainer("pop_cd", k=k, proposal=proposal, mixture=mixture)  # checks the knobs
    theta = FixedParameters(rbm.W, rbm.b, rbm.c)
    stream = rng.kernel_state(seed, "chain")
    return populate(theta, v0.astype(np.float32), k, proposal, mixture, stream)


@trainer(
    "pop_cd",
    label="pop-CD",
    colour="#f25c6f",
    paper="Krause, Fischer, Igel (2018), sections 3 and 3.4, eq. 8 and 9",
)
class PopCD(CommonKnobs):
    """CD-k with importance weights for its samples; if all weights were equal, it would be CD-k."""

    chains: ClassVar[str] = "fresh"
    about: ClassVar[str] = (
        "CD whose samples are weighted by how much more likely they are under the model than where they were "
        r"drawn from: $w \propto e^{-F(v)} / q(v)$. There is less bias and more noise. If all weights were "
        "equal, this would be CD."
    )
    own_stats: ClassVar[dict[str, str]] = {
        "ess": "Effective sample size",
        "max_weight": "Largest weight (share)",
    }

    proposal: str = knob(
        "visible",
        front=True,
        label="Proposal",
        symbol="q",
        choices=PROPOSALS,
        help="What the weights compare the model with: p(v|h), p(h|v), or a mixture of several p(v|h).",
    )
    mixture: int = knob(
        10,
        1,
        1000,
        label="Hidden states in the mixture",
        symbol="r",
        scale="log",
        help="Only for the mixture proposal: more states make weights more even, at a proportional cost.",
    )
    leave_one_out: bool = knob(
        False,
        label="Leave one out",
        symbol="j",
        help="Normalise each weight by the others: the model’s side loses the bias of its direction, but its "
        "length varies more.",
    )
    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_starts()

    @property
    def equation(self) -> tuple[str, ...]:
        """The formulas of the weights, and of the weighted mean; see ``view.formulas``."""
        x = "h_i" if self.proposal == "joint" else "v_i"
        q = {
            "visible": r"p(v_i \mid h_i)",
            "joint": r"p(h_i \mid v'_i)",
            "mixture": r"\frac{1}{\knob{mixture}} \sum_{j=1}^{\knob{mixture}} p(v_i \mid h_j)",
        }[self.proposal]
        if self.leave_one_out:
            share = r"\frac{n-1}{n} \sum_i \frac{\omega_i}{\sum_{\knob{leave_one_out} \ne i} \omega_j}"
        else:
            share = r"\sum_i \frac{\omega_i}{\sum_{\knob{leave_one_out}} \omega_j}"
        return (
            r"v'_i\ \text{after}\ \knob{k} - 1\ \text{sweeps}",
            r"h_i \sim p(h \mid v'_i),\ v_i \sim p(v \mid h_i)",
            rf"\omega_i = \tilde{{p}}({x}) / \knob{{proposal}}({x})",
            rf"\knob{{proposal}}({x}) = {q}",
            rf"\langle s \rangle_{{\text{{model}}}} \approx {share}\, s(v_i)",
        )

    @property
    def sweeps_from(self) -> str:
        """Where kernels begin, see Trainer; they know the plain weights."""
        return "" if self.n_chains or self.leave_one_out or self.proposal != "visible" else "population"

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        nothing = Population(np.zeros((1, rbm.n_visible), np.float32), np.full(1, np.nan))
        return training.start(self, rbm, data, seed, nothing)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        v0 = training.random_starts(state, self.n_chains).astype(np.float32) if self.n_chains else batch
        population = populate(theta, v0, self.k, self.proposal, self.mixture, state.stream)
        state.own_state, state.samples = population, population.v
        state.sweeps += self.k * len(population.v)
        weights = (population.leave_one_out() if self.leave_one_out else population.weights).astype(
            np.float32
        )
        return batches.statistics(population.v, batches.mean_hidden(theta, population.v), weights)

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; the weights belong to the last mini-batch."""
        training.advance(self, state, n)
        population: Population = state.own_state
        per_chain = {"Log weights (nats)": population.log_weights}
        # Before the first update there is one row that is not a sample.
        weights = population.leave_one_out() if self.leave_one_out and state.update else population.weights
        return training.progress(
            self, state, per_chain, "", weights, ess=population.ess, max_weight=population.max_weight
        )
