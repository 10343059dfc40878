"""What speaks against trusting samples: one sentence for each reason, with its number and its threshold."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from rbmviz import kernels
from rbmviz.datasets import AnyData, as_dataset
from rbmviz.metrics.coverage import COMPARED_EXAMPLES, VISITED_SHARE, Coverage
from rbmviz.metrics.temperature import PseudoLikelihood, flip_odds, sigmoid
from rbmviz.metrics.thinned import FEWEST_DRAWS, Thinned, batch_variance, batches_of, local_rows, thinned
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric

FEWEST_SAMPLES = 100
"""Samples before anything is said."""

CHANCE = 1e-4
"""Probability with which chance alone makes one comparison of independent draws a finding."""

PATIENCE = 5000
"""Samples from which on too few effective samples are a finding, and not a reason to wait."""

GROWTH = 1.25
"""Factor by which a run grows before its findings are made again."""

LOCAL_GROWTH = 4
"""Factor by which a run grows before temperature and units are looked at again: nine tenths of a look."""

VEHTARI = "Vehtari et al. (2021), doi:10.1214/20-BA1221"
MARGOSSIAN = "nested R-hat, Margossian et al. (2024), doi:10.1214/24-BA1453"
NEAREST = "nearest training example, metrics.Coverage"

Verdict = Literal["fine", "unsure", "found"]
Scalars = Mapping[str, np.ndarray]
"""Scalars of the draws by what they are called, float64 (chains, draws); constant ones are left out."""


@dataclass(frozen=True)
class Rule:
    """A kind of finding, as data.

    looked_at : what is examined
    line : what was found, in a few words, with {fields}
    sentence : the same in a sentence
    threshold : what the number is compared with; where chance alone does more, that counts instead
    source : where the measure comes from
    of_data : whether it needs the data of the model
    """

    looked_at: str
    line: str
    sentence: str
    threshold: float
    source: str
    of_data: bool = False


RULES: Mapping[str, Rule] = {
    "spurious": Rule(
        "spurious samples",
        "{share} unlike the data",
        "{share} of the samples look like nothing in the data, blank ones among them: {blank}. Such samples "
        "are a safe bet: by the ISL they are better than clear ones of a wrong class.",
        *(0.5, NEAREST, True),
    ),
    "one_class": Rule(
        "classes",
        "almost only {which}",
        "{who} left {which} in {n} samples looked at.",
        *(1 - VISITED_SHARE, NEAREST, True),
    ),
    "missing_classes": Rule(
        "classes",
        "{few} {which} yet",
        "Among {n} samples looked at there is {few} {names}, which the data have.",
        *(VISITED_SHARE, NEAREST, True),
    ),
    "repeats": Rule(
        "repetitions",
        "goes in a circle",
        "The chain repeats itself: every {lag} samples it is where it was.",
        *(0.5, "autocorrelation of the free energy, and equal bits"),
    ),
    "drift": Rule(
        "early and late samples",
        "still drifting",
        "Early samples differ from late ones: {scalar} {early}, then {late}.",
        *(0, "Geweke (1992), with batch means"),
    ),
    "rhat": Rule(
        "R-hat",
        "parts disagree: R-hat {rhat}",
        "{who} disagree about the {scalar}: R-hat is {rhat}, above {threshold}.",
        *(1.01, VEHTARI),
    ),
    "units": Rule(
        "single units",
        "unit {unit}: on in {on}",
        "Unit {unit} is on in {on} of the samples; given the others, the model says {expected}.",
        *(0.02, "p(v_i | the other units)"),
    ),
    "temperature": Rule(
        "effective temperature",
        "not exact: like T {temperature}",
        "Unit by unit, the samples look {warmer} than the model: like temperature {temperature}, not 1.",
        *(0.02, "metrics.effective_temperature"),
    ),
    "ess": Rule(
        "effective sample size",
        "only {ess} effective samples",
        "Effective samples: {ess} of {n}, by the {scalar}; {threshold} are needed.",
        *(100, VEHTARI),
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
    line, sentence : str
        What was found, in a few words and in a sentence.
    value, error, threshold : float
        The number, its standard error (NaN where none is known), and the threshold that it is beyond.
    source : str
        Where the measure comes from.
    """

    name: str
    line: str
    sentence: str
    value: float
    error: float
    threshold: float
    source: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Traces:
    """The rows that were looked at, of each chain every ``stride``-th.

    Parameters
    ----------
    energy : float64 (chains, draws)
        Free energies.
    classes : int64 (chains, draws)
        Classes of the nearest training examples, -1 unlike the data, -2 blank; without classes 0.
    autocorrelation : float64 (lags,)
        Of the free energy, averaged over the chains; a lag is ``stride`` samples of a chain.
    stride : int
        Samples of a chain from one row to the next.
    """

    energy: np.ndarray
    classes: np.ndarray
    autocorrelation: np.ndarray
    stride: int


class Findings(list[Finding]):
    """The findings, the gravest first; empty if nothing was found.

    Attributes
    ----------
    n : int
        Number of samples.
    looked_at : tuple of str
        What was examined; empty if there are too few samples.
    traces : Traces or None
        The rows that were examined; None if there are too few samples.
    """

    def __init__(
        self, found: list[Finding], n: int, looked_at: tuple[str, ...], traces: Traces | None = None
    ) -> None:
        super().__init__(found)
        self.n, self.looked_at, self.traces = n, looked_at, traces

    @property
    def verdict(self) -> Verdict:
        """Whether the samples look "fine", there is a finding ("found"), or it is too early ("unsure")."""
        early = self.n < PATIENCE and {finding.name for finding in self} == {"ess"}
        return "unsure" if early or not self.looked_at else "found" if self else "fine"

    @property
    def sentence(self) -> str:
        """The gravest finding, or why there is none."""
        if not self.looked_at:
            return f"Too few samples to tell: {self.n:,}."
        return self[0].sentence if self else f"Nothing was found. Looked at: {', '.join(self.looked_at)}."

    def as_data(self) -> dict[str, Any]:
        """Return verdict, findings and what was looked at, for JSON; an error that is not known is None."""
        found = [asdict(one) | {"error": None if np.isnan(one.error) else one.error} for one in self]
        return {"verdict": self.verdict, "findings": found, "looked_at": list(self.looked_at)}

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or self.sentence


@metric("findings")
def findings(
    samples: Any,
    model: AnyModel,
    data: AnyData | None = None,
    start: np.ndarray | None = None,
) -> Findings:
    """Return what speaks against trusting samples, a list of ``Finding``.

    Examined are, for the free energy and for the number of units on: R-hat, the effective sample size (of the
    worse of the two), early samples against late ones, and repetitions; the effective temperature; every
    unit against what the model says of it given the others; and, with data, classes and spurious samples. An
    empty list means that nothing was found, not that nothing is wrong: without data, a chain that never
    leaves a mode looks like a chain of a model with one mode. A class that the data have and the samples do
    not may be missing in the model, too. About 2,000 samples are looked at, evenly spaced.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        With fewer than 100 samples, or 16 draws of each chain, nothing is said.
    model : RBM, Model, name or file
        The model that they should be samples of.
    data : Dataset, name, file or rows, optional
        Data of the model, with classes if there are any.
    start : uint8 (n_visible,) or (chains, n_visible), optional
        Where the chains began. If several began at each of several rows, the chains of a row count as one
        (nested R-hat): they need not be long each.

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
    Unit by unit, the samples look hotter than the model: like temperature 3, not 1.
    """
    rbm = as_rbm(model)
    kept = thinned(samples, rbm)
    watch = Watch(rbm, data, kept.n_chains, start)
    watch.kept = kept
    return watch.findings()


class Watch:
    """``findings`` of samples while they come: ``update`` is cheap, ``findings`` looks only at what is new.

    The temperature and single units are looked at again when there are LOCAL_GROWTH times as many samples.

    Parameters
    ----------
    rbm, dataset, n_chains, start
        As for ``findings``; sample t belongs to chain t % n_chains.

    Attributes
    ----------
    kept : Thinned
        The samples that are looked at.
    """

    def __init__(
        self,
        rbm: AnyModel,
        dataset: AnyData | None = None,
        n_chains: int = 1,
        start: np.ndarray | None = None,
    ) -> None:
        rbm, dataset = as_rbm(rbm), None if dataset is None else as_dataset(dataset)
        self._rbm, self.kept = rbm, Thinned(rbm.n_visible, n_chains)
        self._coverage = None if dataset is None else Coverage(dataset, COMPARED_EXAMPLES)
        self._class_names = () if dataset is None else dataset.classes
        self._superchains = _superchains(start, n_chains)
        self._values = np.zeros((n_chains, 0, 3))  # see _look_at_rows
        self._stride = 1  # of these values
        self._residuals: dict[int, np.ndarray] = {}
        self._beta = 1.0
        self._local: list[Finding] = []  # of temperature and units, from the first so many samples
        self._local_at, self._part = 0, 1
        self._newest = Findings([], 0, ())

    def update(self, v: np.ndarray) -> None:
        """Take the next samples; see ``Thinned.update``."""
        self.kept.update(v)

    def findings(self, part: int = 1) -> Findings:
        """Return the findings; the same as before until there are a quarter more samples.

        part : above 1, single units and the number of the temperature come from one row in so many, first at
            LOCAL_GROWTH * FEWEST_SAMPLES samples; with a smaller part than before all is looked at again
        """
        n = self.kept.n
        if n < FEWEST_SAMPLES or self.kept.rounds < FEWEST_DRAWS:
            return Findings([], n, ())
        finer = part < self._part
        if part != self._part:
            self._part, self._beta, self._residuals = part, 1.0, {}
        if finer or n >= GROWTH * self._newest.n:
            energy, on, classes = self._look_at_rows()
            both = {"free energy": energy, "number of units on": on}
            scalars = {name: values for name, values in both.items() if np.ptp(values) > 0}
            found = _ess(scalars, len(energy), energy.size, n) + _drift(scalars)
            correlation = _autocorrelation(energy)
            found += _rhat(scalars, self._superchains) + self._repeats(correlation)
            if finer or n >= LOCAL_GROWTH * (self._local_at or FEWEST_SAMPLES * (part > 1)):
                self._local, self._local_at = self._temperature() + self._units(), n
            found += self._local
            skipped = set() if self._class_names else {"classes"}
            skipped |= set() if self._local_at else {"single units", "effective temperature"}
            if self._coverage is not None:
                found += _spurious(classes) + self._classes(classes)
            looked_at = [x.looked_at for x in RULES.values() if self._coverage is not None or not x.of_data]
            found.sort(key=lambda one: [*RULES].index(one.name))
            traces = Traces(energy, classes.astype(int), correlation, self.kept.stride)
            looked_at = [x for x in dict.fromkeys(looked_at) if x not in skipped]
            self._newest = Findings(found, n, tuple(looked_at), traces)
        return self._newest

    def _look_at_rows(self) -> np.ndarray:
        """Return free energy, units on, and class (-1: far from the data, -2: blank) of all kept rows."""
        known = self._values[:, :: self.kept.stride // self._stride]
        new = self.kept.rows(slice(known.shape[1], None))
        flat = new.reshape(-1, self.kept.n_visible)
        values = np.zeros((len(flat), 3))
        values[:, 0], values[:, 1] = _free_energy(self._rbm, flat), flat.sum(axis=1, dtype=np.int64)
        if self._coverage is not None:
            classes, blank, spurious = self._coverage.kinds(flat)
            values[:, 2] = np.where(blank, -2, np.where(spurious, -1, classes if len(classes) else 0))
        self._values = np.concatenate([known, values.reshape(*new.shape[:2], 3)], axis=1)
        self._stride = self.kept.stride
        return np.moveaxis(self._values, 2, 0)

    def _classes(self, classes: np.ndarray) -> list[Finding]:
        """Compare the classes that were visited with those of the data, as if draws were independent.

        As on the pages a class is visited if it has more than VISITED_SHARE of the samples.
        """
        assert self._coverage is not None
        shares, names = self._coverage.data_shares, self._class_names
        if not len(shares) or not (classes >= 0).any():
            return []
        each = [np.bincount(chain[chain >= 0].astype(int), minlength=len(shares)) for chain in classes]
        counts = np.sum(each, axis=0)
        n, least = int(counts.sum()), min(int(chain.sum()) for chain in each)
        most = [chain.max() / max(chain.sum(), 1) for chain in each]
        if min(most) >= 1 - VISITED_SHARE and least * _divergence(min(most), max(shares)) > -np.log(CHANCE):
            never, alone = min(most) == 1, len(classes) == 1
            one = len({int(chain.argmax()) for chain in each}) == 1
            which = f"class {names[counts.argmax()]}" if one else "its class" if never else "their classes"
            who = ("The chain has never" if alone else "None of the chains has ever") if never else None
            who = who or f"The chain{'s have' if not alone else ' has'} hardly"
            return [_finding("one_class", min(most), who=who, which=which, n=f"{n:,}")]
        found = counts / n
        missing = [
            c
            for c, share in enumerate(shares)
            if found[c] <= min(VISITED_SHARE, share) and n * _divergence(found[c], share) > -np.log(CHANCE)
        ]
        if not missing:
            return []
        *others, last = (str(names[c]) for c in missing)
        listed = f"{', '.join(others)} or {last}" if others else last
        few = "hardly any" if counts[missing].any() else "no"
        which = listed if 2 * len(missing) <= len(shares) else "other class"
        most_seen = max(found[missing])
        return [_finding("missing_classes", most_seen, few=few, names=listed, which=which, n=f"{n:,}")]

    def _repeats(self, correlation: np.ndarray) -> list[Finding]:
        """Look for an autocorrelation that rises again, as of a chain that runs in a circle."""
        threshold = RULES["repeats"].threshold
        risen = correlation - np.minimum.accumulate(correlation) > threshold
        rises = np.flatnonzero(risen & (correlation > threshold))
        if not len(rises) or self.kept.rounds < FEWEST_SAMPLES:
            return []
        # Rare large values at equal distances correlate, too; only a circle comes back to the same bits.
        lag = int(rises[correlation[rises].argmax()])
        rows, low = self.kept.rows(), int(correlation[:lag].argmin())
        back, away = ((rows[:, x:] != rows[:, :-x]).mean() for x in (lag, low))
        if back > threshold * away:
            return []
        return [_finding("repeats", correlation[lag], lag=f"{lag * self.kept.stride:,}")]

    def _temperature(self) -> list[Finding]:
        from scipy.stats import t

        rows = local_rows(self.kept, self._rbm)
        likelihood = PseudoLikelihood(self._rbm, rows)
        if abs(likelihood.at(1.0).in_errors) <= t.isf(CHANCE / 2, likelihood.batches - 1):
            return []
        likelihood = likelihood if self._part == 1 else PseudoLikelihood(self._rbm, rows[:, :: self._part])
        self._beta, at = likelihood.highest(self._beta)
        if abs(self._beta - 1) <= RULES["temperature"].threshold:
            return []
        like = f"{1 / self._beta:.2g}" if self._beta > 0.05 else "20 or more"
        warmer = "hotter" if self._beta < 1 else "colder"
        return [_finding("temperature", self._beta, at.std_error, warmer=warmer, temperature=like)]

    def _units(self) -> list[Finding]:
        """Compare how often each unit is on with what the model says of it, given the others."""
        residuals = self._residuals_of_rows()
        rows, off = residuals[..., 0].size, np.abs(residuals)  # p (1 - p) is off (1 - off), on or not
        variance = np.maximum((off * (1 - off)).sum(axis=(0, 1)), batch_variance(residuals))
        # Bernstein's inequality, for all units at once: the sum of rare events is far from normal.
        log = np.log(2 * residuals.shape[2] / CHANCE)
        by_chance = (log / 3 + np.sqrt(log**2 / 9 + 2 * log * variance)) / rows
        limits, difference = np.maximum(by_chance, RULES["units"].threshold), residuals.mean(axis=(0, 1))
        i = int((np.abs(difference) - limits).argmax())
        value, limit = difference[i], limits[i]
        if abs(value) <= limit:
            return []
        on = float(local_rows(self.kept, self._rbm, self._part)[..., i].mean())
        fields = {"unit": i, "on": f"{on:.0%}", "expected": f"{on - value:.0%}"}
        return [_finding("units", value, np.sqrt(variance[i]) / rows, limit, **fields)]

    def _residuals_of_rows(self) -> np.ndarray:
        """Return each unit less its mean given the others, (chains, draws, n_visible), new rows computed."""
        rounds, chains = self.kept.local(self._rbm.n_hidden, self._part)
        known, stride = self._residuals, self.kept.stride
        missing = [x for x in rounds if x * stride not in known]
        if missing:
            v = self.kept.rows(missing, chains)
            flat = np.ascontiguousarray(v.reshape(-1, v.shape[2]))
            units = np.tile(np.arange(flat.shape[1], dtype=np.int32), (len(flat), 1))
            flipped = sigmoid(flip_odds(self._rbm, flat, units, 1.0)[0]).astype(np.float32).reshape(v.shape)
            residuals = np.where(v == 1, flipped, -flipped)
            known |= {x * stride: residuals[:, i] for i, x in enumerate(missing)}
        self._residuals = {x * stride: known[x * stride] for x in rounds}
        return np.stack(list(self._residuals.values()), axis=1)


def _free_energy(rbm: RBM, v: np.ndarray) -> np.ndarray:
    """Return the free energies of rows to 1e-4, float64 (rows,), in a third of ``RBM.free_energy``'s time."""
    v, softplus = v.astype(np.float32), np.full(len(v), rbm.n_hidden * np.log(2))  # the kernel leaves it out
    kernels.annealing.add_log_ratio(v @ rbm.W, 1.0, 0.0, rbm.c.astype(np.float64), softplus)
    return -(v @ rbm.b) - softplus


def _divergence(found: float, expected: float) -> float:
    """Return the rate of Chernoff's bound: n draws have such a share by chance with at most exp(-n rate)."""
    ends = ((found, expected), (1 - found, 1 - expected))
    return sum(float(p * np.log(p / max(q, 1e-12))) for p, q in ends if p > 0)


def _finding(
    name: str, value: float, error: float = np.nan, threshold: float | None = None, **fields: Any
) -> Finding:
    rule, threshold = RULES[name], RULES[name].threshold if threshold is None else threshold
    source = MARGOSSIAN if fields.get("nested") else rule.source
    line, sentence = (
        text.format(threshold=f"{threshold:.4g}", **fields) for text in (rule.line, rule.sentence)
    )
    return Finding(name, line, sentence, float(value), float(error), float(threshold), source)


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


def _autocorrelation(values: np.ndarray) -> np.ndarray:
    """Return the mean autocorrelation of chains, up to a quarter of them; NaN if one is constant."""
    from arviz_stats.base import array_stats  # imported here, because importing it takes half a second

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(array_stats.autocorr(values, axis=1).mean(axis=0)[: values.shape[1] // 4])


def _rhat(scalars: Scalars, superchains: np.ndarray | None) -> list[Finding]:
    from arviz_stats.base import array_stats
    from scipy.stats import chi2

    found = []
    for name, values in scalars.items():
        chains = values
        if len(values) == 1:
            chains = values[:, : values.shape[1] // 2 * 2].reshape(2, -1)
        if superchains is None:
            rhat, parts = float(array_stats.rhat(chains, chain_axis=0, draw_axis=1)), 2 * len(chains)
        else:
            parts, of_each = superchains.shape
            chains, ids = values[superchains.ravel()], np.repeat(np.arange(parts), of_each)
            rhat = float(array_stats.rhat_nested(chains, ids, chain_axis=0, draw_axis=1))
        # Means of independent parts scatter by chance: chi-square with a degree of freedom less than parts.
        within = chains - chains.mean(axis=1, keepdims=True)
        ess = within.size**2 * within.var() / max(float(batch_variance(within)), 1e-300) / parts
        by_chance = np.sqrt(1 + chi2.isf(CHANCE / 4, parts - 1) / (parts - 1) / max(ess, 1.0))
        limit = max(RULES["rhat"].threshold, float(by_chance))
        if rhat > limit:
            who = "Chains" if len(values) > 1 else "Parts of the chain"
            shown = f"{rhat:.4g}" if rhat < 100 else "over 100"
            fields = {"who": who, "scalar": name, "rhat": shown}
            found.append(_finding("rhat", rhat, np.nan, limit, nested=superchains is not None, **fields))
    return sorted(found, key=lambda one: -one.value)[:1]


def _ess(scalars: Scalars, n_chains: int, kept: int, n: int) -> list[Finding]:
    from arviz_stats.base import array_stats

    each = {name: float(array_stats.ess(x, chain_axis=0, draw_axis=1)) for name, x in scalars.items()}
    scalar = min(each, key=lambda name: each[name], default="free energy")
    least, threshold = each.get(scalar, n_chains), RULES["ess"].threshold  # frozen: one of each chain
    if least >= threshold or kept < 2 * threshold:
        return []  # hardly more draws have fewer by chance
    return [_finding("ess", least, scalar=scalar, ess=f"{least:.0f}", n=f"{n:,}")]


def _drift(scalars: Scalars) -> list[Finding]:
    """Compare the first tenth of every chain with its second half."""
    from scipy.stats import t

    for name, values in scalars.items():
        draws = values.shape[1]
        early, late = values[:, : draws // 10], values[:, draws // 2 :]
        error = float(np.sqrt(batch_variance(late) * (1 + late.size / early.size))) / late.size
        difference, limit = early.mean() - late.mean(), t.isf(CHANCE / 4, batches_of(late) - 1) * error
        if error and abs(difference) > limit:
            means = {"early": f"{early.mean():.1f}", "late": f"{late.mean():.1f}"}
            return [_finding("drift", difference, error, limit, scalar=name, **means)]
    return []


def _spurious(classes: np.ndarray) -> list[Finding]:
    spurious, blank = classes < 0, float((classes == -2).mean())
    share, error = spurious.mean(), float(np.sqrt(batch_variance(spurious))) / spurious.size
    found = _finding("spurious", share, error, share=f"{share:.0%}", blank=f"{blank:.0%}")
    return [found] if share > found.threshold else []
