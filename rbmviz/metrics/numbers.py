"""The numbers of runs, each declared once: names, unit, meaning, formula, value.

Panels show them, claims in lessons and presets compare them, sweeps measure them, axes and tables take their
titles, and the glossary lists them. Live metrics declare their numbers in the same way. A value is computed
from a run's snapshot, an object of any type: this module does not import runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rbmviz.coupling import ALGORITHM_LABELS, ALGORITHMS, STATISTICS

Format = Literal[
    "fixed1",
    "fixed2",
    "fixed3",
    "signed2",
    "digits3",
    "precision2",
    "precision3",
    "compact",
    "share",
    "rate",
    "plus_minus",
    "with_error",
    "of",
    "pair",
]
"""The format of a number; ``FORMATS`` in ``rbmviz/view/panel/readouts.js`` has the same names (tested).

With "rate" the value is a counter, and the page shows its growth per second.
"""

Value = float | str | tuple[float, float] | None
"""A number, a pair ("with_error", "of", "pair"), text shown unchanged, or None if not known yet."""

SCORED_EXAMPLES = 2000
"""Maximum number of training (and test) examples for which a run computes likelihoods, evenly spaced."""


@dataclass(frozen=True)
class Number:
    """A number of a run, as shown to people and named in claims.

    name : key in frames, in claims, and in lesson files
    label : label on the panel
    help : explanation in plain words, with LaTeX between dollars for a letter or two. "": no panel shows it.
    value : value in a snapshot. NaN and infinity are shown as unknown.
    format : number format; "share" takes 0 to 1 and writes percent; "of", "pair" and "with_error" take two
        numbers (default "digits3")
    unit : text after the number; "" (the default) if the help names the unit
    formula : definition in LaTeX, without dollars; "" (the default) for plain counts
    source : paper and section, or how it is computed here
    words : name in a sentence (default: the label)
    best : "high", "low" or ""; the better of two values; "" (the default): neither
    axis_unit : unit on axes and in tables, which show no help (default: the unit)
    text : text to show instead of the value, given a snapshot; None (the default, also as a result): show
        the value
    """

    name: str
    label: str
    help: str
    value: Callable[[Any], Value]
    format: Format = "digits3"
    unit: str = ""
    formula: str = ""
    source: str = ""
    words: str = ""
    best: Literal["high", "low", ""] = ""
    axis_unit: str = ""
    text: Callable[[Any], str | None] = lambda snapshot: None

    def shown(self, snapshot: Any) -> Value:
        """Return the text or the value that a panel shows."""
        return self.text(snapshot) or self.value(snapshot)

    def measured(self, snapshot: Any) -> float | None:
        """Return the number alone, shares in percent; None if it is unknown or not finite."""
        value = self.value(snapshot)
        number = value[0] if isinstance(value, tuple) else value
        if number is None or isinstance(number, str) or not np.isfinite(number):
            return None
        return 100 * float(number) if self.format == "share" else float(number)

    @property
    def claimed_unit(self) -> str:
        """Unit of ``measured``, "" or "%"."""
        return "%" if self.format == "share" else self.unit

    def titled(self, part: str = "", unit: str = "") -> str:
        """Return the label for axes and tables, with a part of the data and a unit (default: its own)."""
        unit = unit or self.axis_unit or self.claimed_unit
        return ", ".join(filter(None, (self.label, part))) + (f" ({unit})" if unit else "")

    @property
    def in_words(self) -> str:
        """Name in a sentence."""
        if self.words:
            return self.words
        return self.label if self.label[:2].isupper() else self.label[0].lower() + self.label[1:]


def digits3(x: float) -> str:
    """Return a number as text in the format "digits3"."""
    return f"{float(f'{x:.3g}'):.15g}"


def below_best(likelihoods: Sequence[Any]) -> float | None:
    """Return how far the last mean log-likelihood is below the largest, in nats; None if there is none."""
    values = [float(point.train.mean()) for point in likelihoods]
    return max(values) - values[-1] if values else None


def _claimed(name: str, words: str, value: Callable[[Any], Value], unit: str = "", **more: Any) -> Number:
    """Return a number that claims use and no panel shows."""
    return Number(name, words, "", value, unit=unit, **more)


def rate(steps: str) -> Number:
    """Return the readout of a run's steps per second; ``steps``: their name, for example "Samples"."""
    return Number(
        "rate",
        f"{steps}/s",
        f"{steps} in a second now, as you see them come: the speed that you have set, or less where the "
        "machine cannot keep it.",
        lambda snapshot: snapshot.n,
        "rate",
        source="Counted on this page over the last three seconds.",
    )


def _isl(snapshot: Any) -> Value:
    return None if snapshot.newest is None else (snapshot.newest.isl, snapshot.newest.std_error)


def _percent(share: float | None) -> Value:
    return None if share is None else 100 * share


def _share(name: str, label: str, help: str, **more: Any) -> Number:
    """Return a number that is a share of the samples, and a percentage on panels."""

    def value(snapshot: Any) -> Value:
        return _percent(_covered(snapshot, name)) if snapshot.n else None

    return Number(name, label, help, value, "fixed1", unit="%", **more)


def _covered(snapshot: Any, name: str) -> Any:
    return None if snapshot.covered is None else getattr(snapshot.covered, name)


def _spurious_not_blank(snapshot: Any) -> Value:
    if snapshot.covered is None or not snapshot.n:
        return None
    return 100 * (snapshot.covered.spurious - snapshot.covered.blank)


def _largest_class(snapshot: Any) -> Value:
    if snapshot.occupancy is None:
        return None
    # Like the bars beside the strip; the newest samples may not be counted yet.
    classes, blanks = (bins[snapshot.bins_before :] for bins in (snapshot.occupancy, snapshot.blanks))
    counted = classes.sum() + blanks.sum()
    return 100 * float(classes.sum(axis=0).max() / counted) if counted else None


def _blank_now(snapshot: Any) -> Value:
    newest = snapshot.newest_samples.v[-100:]
    return 100 * (1 - float(newest.any(axis=1).mean())) if len(newest) else None


VISITED = Number(
    "visited",
    "Classes",
    "How many of the classes in the data (for digits: 0 to 9) have more than 1 % of the samples so far. A "
    "sample has the class of its nearest training image. Blank images, and others unlike anything in the "
    "data, have no class. A stuck chain stays at 1 or 2.",
    lambda snapshot: _covered(snapshot, "visited"),
    "of",
    best="high",
    formula=r"\left|\left\{ c : \left|\left\{ s : c(s) = c,\ s \text{ not spurious} \right\}\right| "
    r"> n / 100 \right\}\right|",
    source="Computed here: c(s) is the class of the nearest of at most 5,000 training examples, by the "
    "number of pixels that differ.",
)

ISL_OF_SAMPLES = Number(
    "isl",
    "ISL",
    "Indirect sampling likelihood: how well the samples so far predict unseen test images; closer to 0 is "
    "better. Samples of a single digit score low. Nats per test image, ± standard error. After you change a "
    "knob, it counts the samples since then; the first of them still depend on the old value.",
    _isl,
    "with_error",
    best="high",
    axis_unit="nats",
    formula=r"\left\langle \log \frac{1}{n} \sum_{s} \prod_{d} "
    r"\beta^{[t_d = s_d]} (1 - \beta)^{[t_d \ne s_d]} \right\rangle_{t \in \text{test}}",
    source="Breuleux, Bengio, Vincent (2011); rates-FPCD, section 5. The kernel’s β is chosen on the "
    "validation part. The error is that over the test pictures, not over other runs.",
)

ISL_OF_MEANS = replace(
    ISL_OF_SAMPLES,
    formula=r"\left\langle \log \frac{1}{n} \sum_{s} \prod_{d} q_{sd}^{t_d} (1 - q_{sd})^{1 - t_d} "
    r"\right\rangle_{t \in \text{test}},\ q_{sd} = 1 - \beta + (2 \beta - 1)\, p_{sd}",
    source="Breuleux, Bengio, Vincent (2011); rates-FPCD, section 5, but with the means p of the samples in "
    "place of their bits, so that it is higher than with the binary kernel. The kernel’s β is chosen on the "
    "validation part. The error is that over the test pictures, not over other runs.",
)
"""The ISL with the mean kernel."""

SPURIOUS = _share(
    "spurious",
    "Spurious",
    "Share of samples that look like nothing in the data: blank ones, and those farther from every training "
    "image than 99 % of held-out images are. It rises with the step size.",
    best="low",
    formula=r"\frac{1}{n} \left|\left\{ s : s \text{ blank, or } \min_x |s - x| > q_{99} \right\}\right|",
    source="Computed here: |s − x| is the number of pixels that differ, q their 99th percentile for "
    "validation and test pictures.",
)

SCORES: tuple[Number, ...] = (
    VISITED,
    ISL_OF_SAMPLES,
    _share(
        "class_coverage",
        "Class coverage",
        "How evenly the classes are visited: 100 % if each is as frequent as in the data, 10 % if the chain "
        "shows only one of ten digits. Spurious samples count for no class.",
        best="high",
        formula=r"\sum_{c} \min(\text{share of } c \text{ in samples},\ \text{share of } c \text{ in data})",
        source="Computed here: 1 minus the total variation distance of the two, where no sample is spurious.",
    ),
    Number(
        "switches",
        "Class switches",
        "How often the class has changed within each chain; a stuck chain rarely changes. Spurious and blank "
        "samples count with the class of their nearest training image.",
        lambda snapshot: _covered(snapshot, "switches"),
        "compact",
        best="high",
        source="Counted, by the class of the nearest training example.",
    ),
    SPURIOUS,
    _share(
        "blank",
        "Blank",
        "Share of samples that are nearly empty: fewer than half as many pixels on as in the emptiest 1 % of "
        "the training images. If the data contain an empty image, no sample is blank.",
        best="low",
        formula=r"\frac{1}{n} \left|\left\{ s : \sum_d s_d < \frac{1}{2} q_1 \right\}\right|",
        source="Computed here: q is the first percentile of the number of pixels on in the training "
        "examples.",
    ),
    _share(
        "ink",
        "Ink",
        "Mean share of pixels that are on. It falls when a chain fades to blank images, and rises when "
        "strokes become bold.",
        formula=r"\frac{1}{n} \sum_s \frac{1}{D} \sum_d s_d",
        source="Counted.",
    ),
)
"""Numbers of samplers that are scored against data."""

OF_EVERY_SAMPLER: tuple[Number, ...] = (
    rate("Samples"),
    Number(
        "own_speed",
        "Sampler’s own speed",
        "Samples per second of the sampler alone, without pauses, scoring and other panels. Highest at full "
        "speed.",
        lambda snapshot: (
            snapshot.since_turn.samples / snapshot.since_turn.seconds if snapshot.since_turn.seconds else None
        ),
        "compact",
        unit="/s",
        formula=r"\frac{n}{\text{seconds inside the sampler}}",
        source="Measured by the clock of the run since its first sample, or since a knob was turned.",
    ),
    Number(
        "sweeps",
        "Sweeps/sample",
        "Mean number of Gibbs sweeps per sample. A sweep redraws all hidden units, then all visible ones.",
        lambda snapshot: snapshot.since_turn.sweeps / snapshot.since_turn.samples if snapshot.n else None,
        formula=r"\frac{\text{sweeps}}{n}",
        source="Counted.",
    ),
    Number(
        "fast_norm",
        "Fast norm",
        "Size of the fast parameters: how far the sampler has moved away from the trained model. Gibbs "
        "sampling stays at 0. With several chains, the value of the newest sample’s chain.",
        lambda snapshot: snapshot.fast_norm,
        formula=r"|\theta_F| = \sqrt{\textstyle\sum_{ij} W_{F,ij}^2 + \sum_i b_{F,i}^2 + \sum_j c_{F,j}^2}",
        source="rates-FPCD, section 4.",
    ),
)
"""Numbers of all samplers."""


def _findings(snapshot: Any) -> Value:
    """Return the number of findings; 0 while it is too early for one."""
    found = snapshot.findings
    if found is None or not found.looked_at:
        return None
    return len(found) if found.verdict == "found" else 0


_OF_CLAIMS_SAMPLE = (
    _claimed(
        "beta", "ISL kernel’s β", lambda snapshot: None if snapshot.newest is None else snapshot.newest.beta
    ),
    _claimed("largest_class", "largest class holds", _largest_class, "%"),
    _claimed("visited_in_all", "classes visited in all", lambda snapshot: snapshot.visited_in_all),
    _claimed("spurious_in_all", "spurious in all", lambda snapshot: _percent(snapshot.spurious_in_all), "%"),
    _claimed("spurious_not_blank", "spurious, not blank", _spurious_not_blank, "%"),
    _claimed("findings", "findings", _findings),
    _claimed("blank_now", "empty among the newest 100 samples", _blank_now, "%"),
)


def _likelihood(snapshot: Any) -> Value:
    if not snapshot.likelihoods:
        return None
    newest = snapshot.likelihoods[-1]
    error = float(newest.std_error[0])
    if len(newest.train) > 1 or not error:
        return float(newest.train.mean())
    return float(newest.train[0]), error


def _scored(snapshot: Any, yardstick: str) -> Value:
    """Return the newest likelihood by one of the session's YARDSTICKS, None if there is none."""
    values = getattr(snapshot.likelihoods[-1], yardstick) if snapshot.likelihoods else np.array([np.nan])
    return float(values.mean()) if np.isfinite(values).all() else None


def _statistic(name: str, label: str, help: str, **more: Any) -> Number:
    """Return the readout of a number that the trainer computes at each update."""
    return Number(name, label, help, lambda snapshot: snapshot.newest.get(name), "compact", **more)


LIKELIHOOD = Number(
    "likelihood",
    "Log-likelihood",
    "Mean log-probability of a training example under the model; closer to 0 is better. Nats per example; "
    "an estimate has its standard error.",
    _likelihood,
    "with_error",
    best="high",
    axis_unit="nats per example",
    formula=r"\left\langle \log p(x) \right\rangle_{x}, \quad p(x) = \frac{e^{-F(x)}}{Z}",
    source="Exact by enumeration of the smaller layer, else by annealed importance sampling "
    "(Salakhutdinov, Murray 2008). Of larger data "
    f"{SCORED_EXAMPLES:,} evenly spaced examples are scored. Mean over replicates.",
)

OF_EVERY_TRAINER: tuple[Number, ...] = (
    LIKELIHOOD,
    Number(
        "below_best",
        "Below its best",
        "Nats lost since the model was best: 0 while it improves. A trainer that gets worse loses more and "
        "more.",
        lambda snapshot: below_best(snapshot.likelihoods),
        "fixed2",
        formula=r"\max_{t' \le t} \ell_{t'} - \ell_t",
        source="ℓ is the log-likelihood of the training part at an update; mean over replicates.",
    ),
    rate("Updates"),
)
"""Numbers of all trainers, apart from those that depend on the start of the training."""

RECONSTRUCTION = _statistic(
    "reconstruction",
    "Reconstruction",
    "Mean error per pixel after encoding an image in the hidden units and decoding it. Cheap, but says "
    "little: a model that copies well may still be bad.",
    formula=r"\left\langle \left| v - \mathbb{E}[v \mid \mathbb{E}[h \mid v]] \right| \right\rangle",
    source="Hinton (2012), A practical guide to training RBMs, section 5.",
    axis_unit="error per pixel",
)

TRAINER_STATISTICS: tuple[Number, ...] = (
    _statistic("gradient_norm", "Gradient norm", ""),
    _statistic("weight_norm", "Weight norm", ""),
    RECONSTRUCTION,
    _statistic("free_energy_gap", "Free energy, data − model", "", axis_unit="nats"),
    *(_statistic(f"variance_{part}", f"Gradient variance, {part}", "") for part in "Wbc"),
)
"""The statistics that every trainer reports, ``rbmviz.trainers.STATS``."""

OWN_STATS_HELP = {
    "fast_norm": "Size of the fast weights: how far the chains’ model is from the one that learns.",
    "ess": "Effective sample size of the batch: the number of equal weights with the same precision.",
    "max_weight": "Share of the batch’s weight held by its heaviest sample.",
    "tau_mean": "Sweeps until the two chains of a pair meet, on average.",
    "tau_median": "Sweeps within which half of the pairs meet.",
    "tau_max": "Sweeps of the slowest pair in the batch.",
    "rejected_mean": "Proposals that a pair rejected per step: the cost of coupling.",
    "truncated": "Share of pairs cut off before they met, which biases the update.",
    "swap_rate": "Share of proposed swaps between neighbouring temperatures that were accepted.",
    "sweeps": "Sweeps until the climb to a mode ended.",
    "moment_error": "Distance between the means of all samples so far and of the data; herding lowers it.",
}
"""Descriptions of the trainers’ own statistics, by name; other statistics are described by their label."""


def trainers_speed(begun: int, spent: float) -> Number:
    """Return the readout of the trainer's own speed since ``begun`` updates and ``spent`` seconds."""

    def own_speed(snapshot: Any) -> float | None:
        return (snapshot.n - begun) / (snapshot.seconds - spent) if snapshot.seconds > spent else None

    return Number(
        "own_speed",
        "Trainer’s own speed",
        "Updates per second of the trainer alone, without scoring and waiting.",
        own_speed,
        "compact",
        unit="/s",
        formula=r"\frac{\text{updates}}{\text{seconds inside the trainer}}",
        source="Measured by the clock of the run.",
    )


def own_numbers(trainer: Any) -> tuple[Number, ...]:
    """Return the numbers of a trainer's own statistics; ``trainer`` is its class."""
    return tuple(
        _statistic(name, label, OWN_STATS_HELP.get(name, f"{label}."), source=f"{trainer.paper}.")
        for name, label in trainer.own_stats.items()
    )


MONTE_CARLO = _claimed(
    "monte_carlo", "Monte Carlo average", lambda snapshot: _scored(snapshot, "monte_carlo")
)

PSEUDO_LIKELIHOOD = _claimed(
    "pseudo_likelihood",
    "Pseudo-likelihood",
    lambda snapshot: _scored(snapshot, "pseudo"),
    LIKELIHOOD.axis_unit,
)

_OF_CLAIMS_TRAIN = (
    _claimed(
        "likelihood_error",
        "error of the log-likelihood",
        lambda snapshot: float(snapshot.likelihoods[-1].std_error[0]) if snapshot.likelihoods else None,
    ),
    _claimed("held_out", "log-likelihood of held-out examples", lambda snapshot: _scored(snapshot, "test")),
    MONTE_CARLO,
    PSEUDO_LIKELIHOOD,
    _claimed(
        "inner",
        "Trainer’s own quantity",
        lambda snapshot: snapshot.newest.get(next(iter(snapshot.algorithm.own_stats), "")),
    ),
    _claimed("learning_rate", "learning rate", lambda snapshot: snapshot.algorithm.learning_rate),
)


def _pooled(name: str, label: str, help: str, value: Callable[[Any], Value], **more: Any) -> Number:
    """Return a readout that is known once samples have been weighted."""
    return Number(name, label, help, lambda snapshot: value(snapshot) if snapshot.pooled else None, **more)


def _ess(snapshot: Any) -> Value:
    return None if snapshot.batch is None else (snapshot.batch.ess, len(snapshot.batch.v))


def _effective(snapshot: Any) -> str | None:
    """Return the mean effective sample size of a batch; a share would rank small batches first."""
    if not snapshot.pooled or snapshot.batch is None:
        return None
    size = len(snapshot.batch.v)
    return f"{digits3(size * snapshot.ess_share)} of {size:,}"


def _too_low(snapshot: Any) -> Value:
    if snapshot.reference is None or snapshot.newest is None:
        return None
    return snapshot.reference.log_z - snapshot.newest.log_z


OF_WEIGHTS: tuple[Number, ...] = (
    _pooled(
        "ess_share",
        "Effective samples",
        "Effective sample size: all samples of a batch if they weigh the same, 1 if one has all the weight. "
        "Mean over all batches. CD weighs all samples the same.",
        lambda snapshot: snapshot.ess_share,
        format="share",
        words="Effective share",
        text=_effective,
        formula=r"\left\langle \frac{1}{n \sum_i w_i^2} \right\rangle, \quad \textstyle\sum_i w_i = 1",
        source="Krause, Fischer, Igel (2018), section 3.3; Kong (1992) for the effective sample size.",
    ),
    _pooled(
        "max_share",
        "Mean heaviest",
        "Share of a batch’s weight held by its heaviest sample, mean over all batches. Near 100 %, the other "
        "samples were drawn for nothing.",
        lambda snapshot: snapshot.max_share,
        format="share",
        formula=r"\left\langle \max_i w_i \right\rangle",
        source="Krause, Fischer, Igel (2018), section 4.2.",
    ),
    _pooled(
        "ess",
        "ESS of the batch",
        "Effective sample size of the newest batch: the number of equally weighted samples of the same "
        "precision.",
        _ess,
        format="of",
        formula=r"\mathrm{ESS} = \frac{\left( \sum_i w_i \right)^2}{\sum_i w_i^2}",
        source="Kong (1992).",
    ),
    _pooled(
        "log_z",
        "log Z estimate",
        "Z is the sum of exp(−F(v)) over all images v, which turns them into probabilities. For large "
        "models it cannot be computed. The mean of all importance weights estimates it, for any number of "
        "sweeps and any proposal: the solid line under the batch.",
        lambda snapshot: None if snapshot.newest is None else snapshot.newest.log_z,
        format="fixed2",
        formula=r"\log \frac{1}{n} \sum_i \frac{e^{-F(v_i)}}{q(v_i)}",
        source="Krause, Fischer, Igel (2018), section 3; q is the proposal. The joint proposal weighs hidden "
        "states h instead of samples v (section 3.4).",
    ),
    _pooled(
        "std_error",
        "Estimate’s error",
        "Standard error estimated from the weights so far: at most 1, and too small while rare heavy weights "
        "are missing.",
        lambda snapshot: None if snapshot.newest is None else snapshot.newest.std_error,
        format="plus_minus",
        formula=r"\frac{\mathrm{sd}(\bar{w})}{\sqrt{B}\, \langle \bar{w} \rangle}",
        source="By the delta method, over the mean weights of B batches; within a batch, the weights of a "
        "mixture are dependent.",
    ),
    Number(
        "truth",
        "log Z",
        "What the estimate should be: the dashed line under the batch.",
        lambda snapshot: "…" if snapshot.reference is None else snapshot.reference.log_z,
        "fixed2",
        axis_unit="nats",
        formula=r"\log Z = \log \sum_v e^{-F(v)}",
        source="By enumeration, or where the model is too large by annealed importance sampling "
        "(Salakhutdinov, Murray 2008).",
    ),
    Number(
        "truth_error",
        "log Z’s error",
        "Standard error of annealed importance sampling; exact by enumeration.",
        lambda snapshot: snapshot.reference and (snapshot.reference.std_error or "exact"),
        "plus_minus",
        source="Over the chains of annealed importance sampling.",
    ),
    _pooled(
        "gap",
        "Too low by",
        "log Z minus its estimate, in nats: what rare heavy weights, not drawn yet, would still add. Below "
        "0, the estimate is too high by chance, or log Z is itself an estimate.",
        _too_low,
        format="fixed2",
        formula=r"\log Z - \log \hat{Z}",
        words="log Z too low by",
        source="From the two numbers.",
    ),
    _pooled(
        "pooled",
        "Samples",
        "Samples weighed since the start, or since you changed a knob.",
        lambda snapshot: snapshot.pooled,
        format="compact",
        source="Counted.",
    ),
    rate("Batches"),
)


def _with_floor(snapshot: Any) -> str | None:
    """Return the error of visits, and that of as many independent draws."""
    newest = snapshot.curve[-1] if snapshot.curve else None
    return newest and f"{newest.visits:.3f} (noise {newest.floor:.3f})"


OF_LANDSCAPE: tuple[Number, ...] = (
    Number(
        "crossings",
        "Crossings",
        "How often the chain has moved from one valley to another. A stuck chain never does.",
        lambda snapshot: snapshot.crossings,
        "compact",
        source="Counted: two samples in a row that lie in different valleys.",
    ),
    Number(
        "visits",
        "Error of visits",
        "Distance between the shares of visits and the model’s probabilities, from 0 (equal) to 1. It falls "
        "as the chain covers the model. Noise: what as many independent draws would have on average.",
        lambda snapshot: snapshot.curve[-1].visits if snapshot.curve else None,
        "fixed3",
        axis_unit="total variation",
        formula=r"\frac{1}{2} \sum_v \left| \frac{\text{visits of } v}{n} - p(v) \right|",
        source="Total variation distance, over all states of the model.",
        text=_with_floor,
    ),
    Number(
        "raised",
        "Ground raised",
        "How many nats the sampler has raised the ground under the chain, compared with the model.",
        lambda snapshot: snapshot.raised,
        "signed2",
        formula=r"\log p(v) - \log p_{\theta + \theta_F}(v)",
        source="rates-FPCD, section 3; exact, by enumeration.",
    ),
    Number(
        "bent",
        "Ground bent by",
        "Distance between the distribution that the next sweep samples from and the model’s, from 0 to 1.",
        lambda snapshot: snapshot.bent,
        "fixed3",
        formula=r"\frac{1}{2} \sum_v \left| p_{\theta + \theta_F}(v) - p(v) \right|",
        source="Total variation distance, over all states of the model.",
    ),
    Number(
        "moments",
        "Error of moments",
        "Distance between the mean of the samples so far and the rates: the mean of the training data or, "
        "for a model that was not trained, of the model itself.",
        lambda snapshot: snapshot.curve[-1].moments if snapshot.curve else None,
        "fixed3",
        axis_unit="distance",
        formula=r"\left| \langle v \rangle_{\text{samples}} - R_b \right|",
        source="rates-FPCD, section 4.",
    ),
    Number(
        "fast_norm",
        "Fast norm",
        "Size of the fast parameters: how far the sampler has moved away from the trained model.",
        lambda snapshot: snapshot.fast_norm,
        formula=r"|\theta_F|",
        source="rates-FPCD, section 4.",
    ),
    rate("Samples"),
)

_OF_CLAIMS_CHAIN = (
    _claimed(
        "floor",
        "error of visits of independent draws",
        lambda snapshot: snapshot.curve[-1].floor if snapshot.curve else None,
    ),
    _claimed("states", "different states visited", lambda snapshot: float((snapshot.visits > 0).sum())),
    _claimed(
        "empty",
        "empty states",
        lambda snapshot: 100 * float(snapshot.visits[0] / snapshot.n) if snapshot.n else None,
        "%",
    ),
)


def _tau(pairs: Any) -> str | None:
    at_least = "≥\u00a0" if pairs.truncated_share else ""  # the large number ends at the first plain space
    return f"{at_least}{digits3(pairs.tau_mean)} sweeps" if pairs.n else None


def _errors(values: np.ndarray, truth: float | np.ndarray) -> float:
    """Return by how many standard errors the mean of "both units on" differs from the truth."""
    x = values[:, STATISTICS.index("both units on")] - truth
    return float(abs(x.mean()) / (x.std() / np.sqrt(len(x))))


def numbers_of_pairs(algorithm: str) -> tuple[Number, ...]:
    """Return the numbers for the pairs of one coupling; their names start with the coupling's name.

    algorithm : one of ``rbmviz.coupling.ALGORITHMS``
    """

    def of_pairs(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def of_snapshot(snapshot: Any) -> Any:
            found = [pair.counted for pair in snapshot.displayed_pairs if pair.algorithm == algorithm]
            return value(found[0]) if found and found[0].n else None

        return of_snapshot

    def off_the_truth(estimate: str) -> Callable[[Any], Value]:
        def of_snapshot(snapshot: Any) -> Value:
            if snapshot.truth is None:
                return None
            truth = snapshot.truth[STATISTICS.index("both units on")]
            errors: Value = of_pairs(lambda pairs: _errors(getattr(pairs, estimate), truth))(snapshot)
            return errors

        return of_snapshot

    def called(words: str) -> str:
        return f"{ALGORITHM_LABELS[algorithm]}: {words}"

    return (
        Number(
            f"{algorithm}_mean",
            "Mean τ",
            "Mean number of sweeps until the two chains are equal, over all pairs so far. ≥: some pairs were "
            "cut off and count with their last sweep, so the true mean is larger.",
            of_pairs(lambda pairs: pairs.tau_mean),
            formula=r"\mathbb{E}[\tau], \quad \tau = \min \{\, t > 1 : \xi_t = \eta_{t-1} \,\}",
            source="Qiu, Zhang, Wang (2020), section 3.",
            words=called("sweeps until they meet, on average"),
            text=of_pairs(_tau),
        ),
        Number(
            f"{algorithm}_cut",
            "Cut off",
            "Share of pairs cut off before they met, which biases estimates. Raise “Cut off after”.",
            of_pairs(lambda pairs: 100 * pairs.truncated_share),
            "precision2",
            unit="%",
            formula=r"\Pr(\tau > t_{\max})",
            source="Counted over all pairs so far.",
            words=called("cut off before they met"),
            text=of_pairs(lambda pairs: None if pairs.truncated_share else "none"),
        ),
        Number(
            f"{algorithm}_counted",
            "Pairs counted",
            "Pairs completed in the background, which the charts show. With a lag above 1, the bound has "
            "pairs of its own.",
            of_pairs(lambda pairs: pairs.n),
            "compact",
            source="Counted, up to 100,000.",
            words=called("pairs counted"),
        ),
        Number(
            f"{algorithm}_rejected",
            "Rejected, ξ | η",
            "Mean number of proposals that a pair rejects for its first and its second chain: the cost of a "
            "meeting.",
            of_pairs(lambda pairs: pairs.rejected_mean),
            "pair",
            source="Qiu, Zhang, Wang (2020), figure 2, right.",
            words=called("proposals rejected for the first chain"),
        ),
        _claimed(
            f"{algorithm}_median",
            called("sweeps until half have met"),
            of_pairs(lambda pairs: float(np.median(pairs.tau))),
        ),
        _claimed(
            f"{algorithm}_within_10",
            called("met within 10 sweeps"),
            # A pair that was cut off earlier has not met.
            of_pairs(lambda pairs: 100 * float(((pairs.tau <= 10) & ~pairs.truncated).mean())),
            "%",
        ),
        _claimed(
            f"{algorithm}_cd_off",
            called("standard errors by which CD-k is off"),
            of_pairs(lambda pairs: _errors(pairs.cd_estimate - pairs.unbiased, 0.0)),
        ),
        *(
            _claimed(
                f"{algorithm}_{name}_errors",
                called(f"standard errors by which {label} is off the exact value"),
                off_the_truth(estimate),
            )
            for name, label, estimate in (("cd", "CD-k", "cd_estimate"), ("ucd", "UCD", "unbiased"))
        ),
    )


def _of_map(of: Callable[[Any, Any], float]) -> Callable[[Any], Value]:
    """Return a function for a number of a sweep's scores at the end of its runs, on the first model."""

    def value(scores: Any) -> Value:
        choice = scores.final_choice()
        return None if choice is None else float(of(scores, choice))

    return value


def _best_along(axis: int) -> Callable[[Any, Any], float]:
    def value(scores: Any, choice: Any) -> float:
        axes = scores.plan.axes
        return float(choice.best.knobs.get(axes[axis].knob, np.nan)) if axis < len(axes) else np.nan

    return value


_OF_MAP = (
    _claimed("best", "the best score", _of_map(lambda scores, choice: choice.best.mean)),
    _claimed("worst", "the worst score", _of_map(lambda scores, choice: choice.settings[-1].mean)),
    _claimed(
        "region",
        "settings that are not told apart from the best",
        _of_map(lambda scores, choice: len(choice.region)),
    ),
    _claimed("best_x", "the best value across", _of_map(_best_along(0))),
    _claimed("best_y", "the best value up", _of_map(_best_along(1))),
)


def _by_name(*numbers: Number) -> dict[str, Number]:
    return {number.name: number for number in numbers}


NUMBERS: Mapping[str, Mapping[str, Number]] = {
    "sample": _by_name(*SCORES, *OF_EVERY_SAMPLER, *_OF_CLAIMS_SAMPLE),
    "train": _by_name(*OF_EVERY_TRAINER, trainers_speed(0, 0.0), *TRAINER_STATISTICS, *_OF_CLAIMS_TRAIN),
    "coupling": _by_name(
        *(number for algorithm in ALGORITHMS for number in numbers_of_pairs(algorithm)),
        _claimed("scale", "standard deviation of all parameters", lambda snapshot: snapshot.algorithm.scale),
    ),
    "weights": _by_name(*OF_WEIGHTS),
    "chain": _by_name(*OF_LANDSCAPE, *_OF_CLAIMS_CHAIN),
    "tune": _by_name(*_OF_MAP),
}
"""The numbers of the runs of each page, by name; trainers and live metrics add their own."""
