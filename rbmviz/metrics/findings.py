"""What speaks against trusting samples: one sentence for each reason, with its number and its threshold."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbmviz.datasets import Dataset, load_dataset
from rbmviz.metrics.coverage import COMPARED_EXAMPLES, Coverage
from rbmviz.metrics.temperature import (
    Flips,
    PseudoLikelihood,
    batch_variance,
    batches_of,
    local_rows,
    probability,
)
from rbmviz.metrics.thinned import Thinned, thinned
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric

FEWEST_SAMPLES, FEWEST_DRAWS = 100, 16
"""Samples, and draws of each chain, before anything is said."""

CHANCE = 1e-4
"""Largest probability with which chance alone makes one comparison of independent draws a finding."""

PATIENCE = 5000
"""Samples from which on too few effective samples are a finding, and not a reason to wait."""

GROWTH = 1.2
"""Factor by which a run grows before its findings are made again."""

VEHTARI = "Vehtari et al. (2021), doi:10.1214/20-BA1221"
MARGOSSIAN = "nested R-hat, Margossian et al. (2024), doi:10.1214/24-BA1453"

Verdict = Literal["fine", "unsure", "found"]


@dataclass(frozen=True)
class Rule:
    """A kind of finding, as data.

    sentence : its words, with {fields}
    threshold : what the number is compared with; where chance alone does more, that counts instead
    source : where the measure comes from
    looked_at : what was examined, in the words of a list
    needs_data : whether it needs the data of the model
    """

    sentence: str
    threshold: float
    source: str
    looked_at: str
    needs_data: bool = False


RULES: Mapping[str, Rule] = {
    "spurious": Rule(
        "{share} of the samples look like nothing in the data, blank ones among them: {blank}.",
        0.5,
        "nearest training example, metrics.Coverage",
        "spurious samples",
        needs_data=True,
    ),
    "one_class": Rule(
        "{who} left {which} in {n} samples looked at.",
        1,
        "nearest training example, metrics.Coverage",
        "classes",
        needs_data=True,
    ),
    "missing_classes": Rule(
        "Among {n} samples looked at there is no {names}, which the data have.",
        0,
        "nearest training example, metrics.Coverage",
        "classes",
        needs_data=True,
    ),
    "repeats": Rule(
        "The chain repeats itself: every {lag} samples it is where it was.",
        0.5,
        "autocorrelation of the free energy, and equal bits",
        "repetitions",
    ),
    "drift": Rule(
        "Early samples differ from late ones: {scalar} {early}, then {late}.",
        0,
        "Geweke (1992), with batch means",
        "early and late samples",
    ),
    "rhat": Rule(
        "{who} disagree about the {scalar}: R-hat is {rhat}, above {threshold}.", 1.01, VEHTARI, "R-hat"
    ),
    "units": Rule(
        "Unit {unit} is on in {on} of the samples; given the others, the model says {expected}.",
        0.02,
        "p(v_i | the other units)",
        "single units",
    ),
    "temperature": Rule(
        "Unit by unit, the samples look {warmer} than the model: like temperature {temperature}, not 1.",
        0.02,
        "metrics.effective_temperature",
        "effective temperature",
    ),
    "ess": Rule(
        "Effective samples: {ess} of {n}, by the {scalar}; {threshold} are needed.",
        100,
        VEHTARI,
        "effective sample size",
    ),
}
"""The kinds of findings, the gravest first."""


@dataclass(frozen=True)
class Finding:
    """One reason not to trust the samples.

    Parameters
    ----------
    name : str
        Its kind, a key of ``RULES``.
    sentence : str
        What was found, in words.
    value, error, threshold : float
        The number, its standard error (NaN where none is known), and the threshold that it is beyond.
    source : str
        Where the measure comes from.
    """

    name: str
    sentence: str
    value: float
    error: float
    threshold: float
    source: str

    def __str__(self) -> str:
        return self.sentence


class Findings(list[Finding]):
    """The findings, the gravest first; empty if nothing was found.

    Attributes
    ----------
    n : int
        Number of samples.
    looked_at : tuple of str
        What was examined; empty if there are too few samples.
    """

    def __init__(self, found: list[Finding], n: int, looked_at: tuple[str, ...]) -> None:
        super().__init__(found)
        self.n, self.looked_at = n, looked_at

    @property
    def verdict(self) -> Verdict:
        """Whether the samples look "fine", there is a finding ("found"), or it is too early ("unsure")."""
        early = self.n < PATIENCE and all(finding.name == "ess" for finding in self)
        if not self.looked_at or (self and early):
            return "unsure"
        return "found" if self else "fine"

    @property
    def sentence(self) -> str:
        """The gravest finding, or why there is none."""
        if self:
            return self[0].sentence
        if not self.looked_at:
            return f"Too few samples to tell: {self.n:,}."
        return f"Nothing was found. Looked at: {', '.join(self.looked_at)}."

    def as_data(self) -> dict[str, Any]:
        """Return verdict, findings and what was looked at, for JSON; an error that is not known is None."""
        found = [
            {name: None if value != value else value for name, value in asdict(one).items()} for one in self
        ]
        return {"verdict": self.verdict, "findings": found, "looked_at": list(self.looked_at)}

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or self.sentence


@metric("findings")
def findings(
    samples: Any,
    model: AnyModel,
    data: Dataset | str | Path | None = None,
    start: np.ndarray | None = None,
) -> Findings:
    """Return what speaks against trusting samples, a list of ``Finding``.

    Examined are, for the free energy and for the number of units on: R-hat, the effective sample size (of the
    worse of the two), early samples against late ones, and repetitions; the effective temperature; every
    unit against what the model says of it given the others; and, with data, classes and spurious samples. An
    empty list means that nothing was found, not that nothing is wrong: without data, a chain that never
    leaves a mode looks like a chain of a model with one mode. About 2,000 samples are looked at, evenly
    spaced.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        With fewer than 100 samples, or 16 draws of each chain, nothing is said.
    model : RBM, Model, name or file
        The model that they should be samples of.
    data : Dataset, name or file, optional
        Data of the model, with classes if there are any.
    start : uint8 (n_visible,) or (chains, n_visible), optional
        Where the chains began. If several began at the same row, and there are several such rows, chains with
        one start count as one (nested R-hat): many short chains need not be long each.

    Returns
    -------
    Findings
        A list; ``verdict`` is "fine", "unsure" or "found", and ``looked_at`` names what was examined.

    Raises
    ------
    BadInput
        If the samples do not fit the model or the data.

    Examples
    --------
    >>> hot = rbmviz.sample("bas_pcd", "gibbs:temperature=3", n=2000, seed=0)
    >>> rbmviz.metrics.findings(hot, "bas_pcd")
    Unit by unit, the samples look hotter than the model: like temperature 3.0, not 1.
    """
    rbm = as_rbm(model)
    kept = thinned(samples, rbm)
    dataset = data if data is None or isinstance(data, Dataset) else load_dataset(data)
    return Watch(rbm, dataset, kept.n_chains, start, kept).findings()


class Watch:
    """``findings`` of samples while they come: ``update`` is cheap, ``findings`` looks only at what is new.

    Parameters
    ----------
    rbm, dataset, n_chains, start
        As for ``findings``; sample t belongs to chain t % n_chains.
    kept : Thinned, optional
        Samples so far (default: none).
    """

    def __init__(
        self,
        rbm: RBM,
        dataset: Dataset | None = None,
        n_chains: int = 1,
        start: np.ndarray | None = None,
        kept: Thinned | None = None,
    ) -> None:
        self._rbm, self._dataset = rbm, dataset
        self._coverage = None if dataset is None else Coverage(dataset, COMPARED_EXAMPLES)
        self._kept = kept or Thinned(rbm.n_visible, n_chains)
        self._superchains = _superchains(start, self._kept.n_chains)
        # Of each kept row: free energy, units on, class (-1: spurious), and whether it is blank.
        self._rows = np.zeros((self._kept.n_chains, 0, 4))
        self._stride = self._kept.stride
        self._residuals: dict[int, np.ndarray] = {}
        self._beta = 1.0
        self._newest: Findings | None = None

    def update(self, v: np.ndarray, packed: bool = False) -> None:
        """Take the next samples; see ``Thinned.update``."""
        self._kept.update(v, packed)

    def findings(self) -> Findings:
        """Return the findings; the same as before until there are a fifth more samples."""
        n = self._kept.n
        if self._newest is None or not self._newest.looked_at or n >= GROWTH * self._newest.n:
            self._newest = self._look()
        return self._newest

    def _look(self) -> Findings:
        kept = self._kept
        if kept.n < FEWEST_SAMPLES or kept.rounds < FEWEST_DRAWS:
            return Findings([], kept.n, ())
        self._look_at_rows()
        energy, on, classes, blank = np.moveaxis(self._rows, 2, 0)
        scalars = {"free energy": energy, "number of units on": on}
        found = [
            *_rhat(scalars, self._superchains),
            *_ess(scalars, kept.n),
            *_drift(scalars),
            *self._repeats(energy),
            *self._temperature(),
            *self._units(),
        ]
        if self._coverage is not None:
            found += [*_spurious(classes < 0, blank), *self._classes(classes.astype(int))]
        order = list(RULES)
        return Findings(sorted(found, key=lambda one: order.index(one.name)), kept.n, self._looked_at())

    def _looked_at(self) -> tuple[str, ...]:
        labelled = self._coverage is not None and self._coverage.labels is not None
        names = [
            rule.looked_at
            for rule in RULES.values()
            if not rule.needs_data
            or (labelled if rule.looked_at == "classes" else self._coverage is not None)
        ]
        return tuple(dict.fromkeys(names))

    def _look_at_rows(self) -> None:
        """Compute what is kept of the rows that are new."""
        kept = self._kept
        rows = self._rows[:, :: kept.stride // self._stride]
        self._stride = kept.stride
        new = kept.rows(rows.shape[1])
        flat = new.reshape(-1, kept.n_visible)
        values = np.full((len(flat), 4), -1.0)
        values[:, 0], values[:, 1] = self._rbm.free_energy(flat), flat.sum(axis=1, dtype=np.int64)
        if self._coverage is not None:
            classes, blank, spurious = self._coverage.kinds(flat)
            values[:, 2] = np.where(spurious, -1, classes if len(classes) else 0)
            values[:, 3] = blank
        self._rows = np.concatenate([rows, values.reshape(*new.shape[:2], 4)], axis=1)

    def _classes(self, classes: np.ndarray) -> list[Finding]:
        """Compare the classes that were visited with those of the data, as if draws were independent."""
        assert self._coverage is not None
        assert self._dataset is not None
        shares, names = self._coverage.data_shares, self._dataset.classes
        recognised = classes[classes >= 0]
        n = len(recognised)
        if not len(shares) or not n:
            return []
        own = [np.unique(chain[chain >= 0]) for chain in classes]
        counts = np.bincount(recognised, minlength=len(shares))
        chance = max(shares) ** (n // len(classes))
        if max(map(len, own)) == 1 and chance < CHANCE:
            alone, visited = len(classes) == 1, np.count_nonzero(counts)
            which = f"class {names[counts.argmax()]}" if visited == 1 else "its class"
            who = "The chain has never" if alone else "None of the chains has ever"
            return [_finding("one_class", 1, fields={"who": who, "which": which, "n": f"{n:,}"})]
        missing = np.flatnonzero((counts == 0) & (shares > 0) & ((1 - shares) ** n < CHANCE))
        if not len(missing):
            return []
        listed = " or ".join(str(names[c]) for c in missing)
        return [_finding("missing_classes", len(missing), fields={"names": listed, "n": f"{n:,}"})]

    def _repeats(self, values: np.ndarray) -> list[Finding]:
        """Look for an autocorrelation that rises again, as of a chain that runs in a circle."""
        from arviz_stats.base import array_stats

        if values.shape[1] < FEWEST_SAMPLES or np.ptp(values) == 0:
            return []
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = array_stats.autocorr(values, axis=1).mean(axis=0)[: values.shape[1] // 4]
        threshold = RULES["repeats"].threshold
        risen = correlation - np.minimum.accumulate(correlation) > threshold
        rises = np.flatnonzero(risen & (correlation > threshold))
        if not len(rises):
            return []
        # Rare large values at equal distances correlate, too; only a circle comes back to the same bits.
        lag = int(rises[correlation[rises].argmax()])
        rows, low = self._kept.rows(), int(correlation[:lag].argmin())
        back, away = ((rows[:, x:] != rows[:, :-x]).mean() for x in (lag, low))
        if back > threshold * away:
            return []
        return [_finding("repeats", correlation[lag], fields={"lag": f"{lag * self._kept.stride:,}"})]

    def _temperature(self) -> list[Finding]:
        from scipy.stats import t

        likelihood = PseudoLikelihood(self._rbm, local_rows(self._kept, self._rbm))
        threshold = float(t.isf(CHANCE / 2, max(likelihood.batches - 1, 1)))
        if not abs(likelihood.at(1.0).in_errors) > threshold:
            return []
        self._beta, at = likelihood.highest(self._beta)
        if not abs(self._beta - 1) > RULES["temperature"].threshold:
            return []
        error = np.sqrt(at.variance) / at.information if at.information > 0 else np.nan
        temperature = f"{1 / self._beta:.2g}" if self._beta > 0.05 else "20 or more"
        fields = {"warmer": "hotter" if self._beta < 1 else "colder", "temperature": temperature}
        return [_finding("temperature", self._beta, error, fields=fields)]

    def _units(self) -> list[Finding]:
        """Compare how often each unit is on with what the model says of it, given the others."""
        residuals = self._residuals_of_rows()
        rows, m = residuals.shape[0] * residuals.shape[1], residuals.shape[2]
        difference = residuals.sum(axis=(0, 1))
        off = np.abs(residuals)  # p (1 - p) is off (1 - off), whether the unit is on or not
        variance = np.maximum((off * (1 - off)).sum(axis=(0, 1)), batch_variance(residuals))
        # Bernstein's inequality, for all units at once: the sum of rare events is far from normal.
        log = np.log(2 * m / CHANCE)
        by_chance = log / 3 + np.sqrt(log**2 / 9 + 2 * log * variance)
        limits = np.maximum(by_chance / rows, RULES["units"].threshold)
        i = int((np.abs(difference) / rows - limits).argmax())
        value, error = difference[i] / rows, np.sqrt(variance[i]) / rows
        if abs(value) <= limits[i]:
            return []
        on = float(local_rows(self._kept, self._rbm)[..., i].mean())
        fields = {"unit": str(i), "on": f"{on:.0%}", "expected": f"{on - value:.0%}"}
        return [_finding("units", value, error, limits[i], fields)]

    def _residuals_of_rows(self) -> np.ndarray:
        """Return each unit less its mean given the others, (chains, draws, n_visible), new rows computed."""
        kept, known = self._kept, self._residuals
        every, chains = kept.local(self._rbm.n_hidden)
        rounds = range(0, kept.rounds, every)
        missing = [x for x in rounds if x * kept.stride not in known]
        v = kept.rows(0, 1, chains)[:, missing].swapaxes(0, 1)  # (rounds, chains, n_visible)
        flat = np.ascontiguousarray(v.reshape(-1, kept.n_visible))
        if len(flat):
            units = np.tile(np.arange(kept.n_visible, dtype=np.int32), (len(flat), 1))
            flipped = probability(Flips(self._rbm, flat).log_odds(units, 1.0))
            residuals = np.where(flat == 1, flipped, -flipped).astype(np.float32).reshape(v.shape)
            known |= {x * kept.stride: part for x, part in zip(missing, residuals, strict=True)}
        self._residuals = {x * kept.stride: known[x * kept.stride] for x in rounds}
        return np.stack(list(self._residuals.values()), axis=1)


def _finding(
    name: str, value: float, error: float = np.nan, threshold: float | None = None, fields: Any = None
) -> Finding:
    rule = RULES[name]
    threshold = rule.threshold if threshold is None else threshold
    source = MARGOSSIAN if fields.get("nested") else rule.source
    return Finding(name, rule.sentence.format(**fields), float(value), float(error), float(threshold), source)


def _superchains(start: np.ndarray | None, n_chains: int) -> np.ndarray | None:
    """Return the chains of each common start, int (starts, chains of a start); None unless there are several.

    Chains beyond the fewest of a start are left out, because nested R-hat wants equally many.
    """
    if start is None or start.ndim == 1 or len(start) != n_chains:
        return None
    _, ids, counts = np.unique(start, axis=0, return_inverse=True, return_counts=True)
    if len(counts) < 2 or counts.min() < 2:
        return None
    return np.stack([np.flatnonzero(ids.ravel() == k)[: counts.min()] for k in range(len(counts))])


def _rhat(scalars: Mapping[str, np.ndarray], superchains: np.ndarray | None) -> list[Finding]:
    from arviz_stats.base import array_stats  # imported here, because importing it takes half a second
    from scipy.stats import chi2

    worst, limit, of = 0.0, np.inf, ""
    for name, values in scalars.items():
        if np.ptp(values) == 0:
            continue
        several = values
        if len(values) == 1:
            half = values.shape[1] // 2
            several = values[:, : 2 * half].reshape(2, half)
        with np.errstate(divide="ignore", invalid="ignore"):
            if superchains is None:
                rhat = float(array_stats.rhat(several, chain_axis=0, draw_axis=1, method="rank"))
                parts = 2 * len(several)
            else:
                parts, of_each = superchains.shape
                several, ids = values[superchains.ravel()], np.repeat(np.arange(parts), of_each)
                rhat = float(array_stats.rhat_nested(several, ids, "rank", 0, 1))
        # Means of independent parts scatter by chance: chi-square with a degree of freedom less than parts.
        within = several - several.mean(axis=1, keepdims=True)
        ess = several.size**2 * within.var() / max(float(batch_variance(within)), 1e-300) / parts
        chance = np.sqrt(1 + chi2.isf(CHANCE / 4, parts - 1) / (parts - 1) / max(ess, 1.0))
        threshold = max(RULES["rhat"].threshold, float(chance))
        if rhat > max(threshold, worst):
            worst, limit, of = rhat, threshold, name
    if not of:
        return []
    who = "Chains" if len(next(iter(scalars.values()))) > 1 else "Parts of the chain"
    shown = f"{worst:.3f}" if worst < 100 else "over 100"
    fields = {"who": who, "scalar": of, "rhat": shown, "threshold": f"{limit:.3f}"}
    return [_finding("rhat", worst, np.nan, limit, fields | {"nested": superchains is not None})]


def _ess(scalars: Mapping[str, np.ndarray], n: int) -> list[Finding]:
    from arviz_stats.base import array_stats

    least, of = np.inf, ""
    for name, values in scalars.items():
        if np.ptp(values) == 0:
            continue  # one scalar may be the same in all modes
        with np.errstate(divide="ignore", invalid="ignore"):
            ess = float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk"))
        if ess < least:
            least, of = ess, name
    values, threshold = next(iter(scalars.values())), RULES["ess"].threshold
    if not of:
        least, of = float(len(values)), "free energy"
    if least >= threshold or values.size < 2 * threshold:
        return []  # hardly more draws have fewer by chance
    fields = {"ess": f"{least:.0f}", "n": f"{n:,}", "scalar": of, "threshold": f"{threshold:.0f}"}
    return [_finding("ess", least, fields=fields)]


def _drift(scalars: Mapping[str, np.ndarray]) -> list[Finding]:
    """Compare the first tenth of every chain with its second half."""
    from scipy.stats import t

    for name, values in scalars.items():
        draws = values.shape[1]
        early, late = values[:, : max(draws // 10, 1)], values[:, draws // 2 :]
        error = np.sqrt(batch_variance(late) * (1 + late.size / early.size)) / late.size
        difference = float(early.mean() - late.mean())
        limit = float(t.isf(CHANCE / 4, max(batches_of(late) - 1, 1)) * error)
        if error and abs(difference) > limit:
            fields = {"scalar": name, "early": f"{early.mean():.1f}", "late": f"{late.mean():.1f}"}
            return [_finding("drift", difference, float(error), limit, fields)]
    return []


def _spurious(spurious: np.ndarray, blank: np.ndarray) -> list[Finding]:
    share = float(spurious.mean())
    if share <= RULES["spurious"].threshold:
        return []
    error = float(np.sqrt(batch_variance(spurious.astype(float)))) / spurious.size
    return [
        _finding("spurious", share, error, fields={"share": f"{share:.0%}", "blank": f"{blank.mean():.0%}"})
    ]
