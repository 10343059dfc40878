"""What speaks against trusting samples: one sentence for each reason, with its number and its threshold."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.datasets import Dataset, load_dataset
from rbmviz.metrics.by_chain import Chains, chains_of, long_run_ess
from rbmviz.metrics.coverage import COMPARED_EXAMPLES, Coverage
from rbmviz.metrics.effective_temperature import Flips, probability, spaced, temperature_of
from rbmviz.model_files import AnyModel, as_rbm
from rbmviz.rbm import RBM
from rbmviz.registry import metric

MAX_RHAT = 1.01
MIN_ESS = 100
MAX_SPURIOUS = 0.5
MAX_ERRORS = 4.5
"""Standard errors beyond which a difference is no chance: once in 150,000 comparisons."""
CHANCE = 1e-4
"""Largest probability of what is then called a finding."""
MIN_DIFFERENCE = 0.02
"""Difference of the effective inverse temperature from 1 that matters."""
REPEATED = 0.5
"""Autocorrelation at which a chain comes back to where it was, after having left."""
ROWS = 128
"""Samples whose units are compared with what the model says of them."""

VEHTARI = "Vehtari et al. (2021), doi:10.1214/20-BA1221"


@dataclass(frozen=True)
class Finding:
    """One reason not to trust the samples.

    Parameters
    ----------
    name : str
        Its kind, the same for all samples: "rhat", "ess", "drift", "repeats", "one_class", "missing_classes",
        "spurious", "temperature" or "units".
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
    """The findings, the gravest first; empty if nothing was found. ``looked_at`` names what was examined."""

    def __init__(self, found: list[Finding], looked_at: tuple[str, ...]) -> None:
        super().__init__(found)
        self.looked_at = looked_at

    def __repr__(self) -> str:
        looked_at = f"Looked at: {', '.join(self.looked_at)}."
        return "\n".join([*map(str, self), looked_at]) if self else f"Nothing was found. {looked_at}"


@metric("findings")
def findings(samples: Any, model: AnyModel, data: Dataset | str | Path | None = None) -> Findings:
    """Return what speaks against trusting samples, a list of ``Finding``.

    Examined are, for the free energy and for the number of units on: rank-normalised split R-hat, the
    effective sample size (the worse of the two counts), early samples against late ones, and returns to the
    same place; the effective temperature; every unit against what the model says of it given the others; and,
    with data, classes and spurious samples. An empty list means that nothing was found, not that nothing is
    wrong: without data, a chain that never leaves a mode looks like a chain of a model with one mode.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        At least 8 draws of each chain; the thresholds count what chance does to few draws.
    model : RBM, Model, name or file
        The model that they should be samples of.
    data : Dataset, name or file, optional
        Data of the model, with classes if there are any.

    Returns
    -------
    Findings
        A list; its attribute ``looked_at`` names what was examined.

    Raises
    ------
    BadInput
        If the samples do not fit the model or the data, or there are too few.

    Examples
    --------
    >>> hot = rbmviz.sample("bas_pcd", "gibbs:temperature=3", n=2000, seed=0)
    >>> [finding.name for finding in rbmviz.metrics.findings(hot, "bas_pcd")]
    ['temperature']
    """
    rbm = as_rbm(model)
    chains = chains_of(samples, rbm)
    ess = {name: _bulk_ess(values) for name, values in chains.scalars().items()}
    found = [*_rhat(chains), *_ess(ess), *_drift(chains), *_repeats(chains)]
    looked_at = ["R-hat", "effective sample size", "early and late samples", "repetitions"]
    if data is not None:
        dataset = data if isinstance(data, Dataset) else load_dataset(data)
        found += _classes(chains, dataset, min(ess.values()))
        looked_at += ["classes" if dataset.train_labels is not None else "", "spurious samples"]
    found += [*_temperature(chains, rbm), *_units(chains, rbm)]
    return Findings(found, (*filter(None, looked_at), "effective temperature", "units"))


def _several(values: np.ndarray) -> np.ndarray:
    """Return at least two chains: a single one is cut into halves."""
    half = values.shape[1] // 2
    return values if len(values) > 1 else values[:, : 2 * half].reshape(2, half)


def _bulk_ess(values: np.ndarray) -> float:
    from arviz_stats.base import array_stats  # imported here, because importing it takes half a second

    if np.ptp(values) == 0:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = float(array_stats.ess(_several(values), chain_axis=0, draw_axis=1, method="bulk"))
    return ess if np.isfinite(ess) else 1.0


def _rhat(chains: Chains) -> list[Finding]:
    from arviz_stats.base import array_stats
    from scipy.stats import chi2

    worst, limit, scalar = 0.0, MAX_RHAT, ""
    for name, values in chains.scalars().items():
        several = _several(values)
        if several.shape[1] < 8 or np.ptp(values) == 0:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat = float(array_stats.rhat(several, chain_axis=0, draw_axis=1, method="rank"))
        # What chance does: means of m independent parts scatter by chi-square with m - 1 degrees of freedom.
        parts = 2 * len(several)
        within = long_run_ess(several - several.mean(axis=1, keepdims=True)) / parts
        by_chance = np.sqrt(1 + chi2.isf(CHANCE, parts - 1) / (parts - 1) / max(within, 1.0))
        if rhat > max(worst, MAX_RHAT, by_chance):
            worst, limit, scalar = rhat, max(MAX_RHAT, by_chance), name
    if not scalar:
        return []
    who = "Chains" if len(chains.v) > 1 else "Parts of the chain"
    sentence = f"{who} disagree about the {scalar}: R-hat is {worst:.2f}, above {limit:.2f}."
    return [Finding("rhat", sentence, worst, np.nan, limit, VEHTARI)]


def _ess(ess: dict[str, float]) -> list[Finding]:
    scalar, least = min(ess.items(), key=lambda item: item[1])
    if least >= MIN_ESS:
        return []
    sentence = f"Only {least:.0f} effective samples, by the {scalar}: fewer than {MIN_ESS}."
    return [Finding("ess", sentence, least, np.nan, MIN_ESS, VEHTARI)]


def _drift(chains: Chains) -> list[Finding]:
    """Compare the first tenth of every chain with its second half (Geweke, 1992)."""
    found = []
    for name, values in chains.scalars().items():
        draws = values.shape[1]
        early, late = values[:, : max(draws // 10, 1)], values[:, draws // 2 :]
        ess = long_run_ess(late)
        if not ess:
            continue
        error = np.sqrt(late.var() / ess * (1 + late.size / early.size))
        difference = float(early.mean() - late.mean())
        if error and abs(difference) > MAX_ERRORS * error:
            sentence = (
                f"Early samples differ from late ones: {name} {early.mean():.1f}, then {late.mean():.1f}."
            )
            found.append(
                Finding(
                    "drift", sentence, difference, float(error), float(MAX_ERRORS * error), "Geweke (1992)"
                )
            )
    return found[:1]


def _repeats(chains: Chains) -> list[Finding]:
    """Look for an autocorrelation that rises again, as of a chain that runs in a circle."""
    from arviz_stats.base import array_stats

    values = chains.free_energy
    if np.ptp(values) == 0:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = array_stats.autocorr(values, axis=1).mean(axis=0)[: values.shape[1] // 4]
    low = np.minimum.accumulate(correlation)
    rises = np.flatnonzero((correlation > REPEATED) & (low < correlation - REPEATED))
    if not len(rises):
        return []
    lag, value = int(rises[0]), float(correlation[rises[0]])
    sentence = f"The chain repeats itself every {lag} samples: autocorrelation {value:.2f} at that lag."
    return [Finding("repeats", sentence, value, np.nan, REPEATED, "autocorrelation of the free energy")]


def _classes(chains: Chains, dataset: Dataset, ess: float) -> list[Finding]:
    coverage = Coverage(dataset, COMPARED_EXAMPLES)
    rows = chains.v.reshape(-1, chains.v.shape[2])
    classes, blank, spurious = coverage.kinds(rows)
    found = []
    share = float(spurious.mean())
    if share > MAX_SPURIOUS:
        error = float(np.sqrt(share * (1 - share) / ess))
        what = "blank" if blank.mean() > share / 2 else "unlike any of the data"
        sentence = f"{share:.0%} of the samples are no {_kind(dataset)}: most of them are {what}."
        found.append(
            Finding(
                "spurious", sentence, share, error, MAX_SPURIOUS, "nearest training example, metrics.Coverage"
            )
        )
    recognised = classes[~spurious] if len(classes) else classes
    if not len(recognised):
        return found
    counts, shares = np.bincount(recognised, minlength=len(dataset.classes)), coverage.data_shares
    missing = np.flatnonzero((counts == 0) & ((1 - shares) ** ess < CHANCE))
    names = [str(name) for name in dataset.classes]
    source = "shares of the data's classes, metrics.Coverage"
    if np.count_nonzero(counts) == 1 and shares[counts.argmax()] ** len(recognised) < CHANCE:
        sentence = (
            f"It has never left one class: all {len(recognised):,} samples are {names[counts.argmax()]}."
        )
        found.append(Finding("one_class", sentence, 1, np.nan, 2, source))
    elif len(missing):
        listed = ", ".join(names[c] for c in missing)
        sentence = f"It has never drawn {listed}, which the data have."
        found.append(Finding("missing_classes", sentence, len(missing), np.nan, 0, source))
    return found


def _kind(dataset: Dataset) -> str:
    return "digits" if len(dataset.classes) == 10 else "samples of the data's kind"


def _temperature(chains: Chains, rbm: RBM) -> list[Finding]:
    effective = temperature_of(chains, rbm)
    difference = abs(effective.beta - 1)
    limit = max(MIN_DIFFERENCE, MAX_ERRORS * effective.std_error)
    if not difference > limit:
        return []
    temperature = (
        f"temperature {1 / effective.beta:.2f}" if effective.beta > 0.05 else "a very high temperature"
    )
    warmer = "hotter" if effective.beta < 1 else "colder"
    sentence = f"Unit by unit the samples look like the model's at {temperature}, not 1 ({warmer})."
    return [
        Finding(
            "temperature",
            sentence,
            effective.beta,
            effective.std_error,
            limit,
            "metrics.effective_temperature",
        )
    ]


def _units(chains: Chains, rbm: RBM) -> list[Finding]:
    """Compare how often each unit is on with what the model says of it, given the others."""
    v = spaced(chains.v, ROWS)
    rows = v.reshape(-1, v.shape[2])
    log_odds, _ = Flips(rbm, rows, np.tile(np.arange(rows.shape[1]), (len(rows), 1))).odds(1.0)
    flipped = probability(log_odds)
    expected = np.where(rows == 1, 1 - flipped, flipped)
    slowness = len(rows) / max(long_run_ess(spaced(chains.units_on, ROWS)), 1.0)
    error = np.sqrt((expected * (1 - expected)).sum(axis=0) * slowness)
    difference = rows.sum(axis=0) - expected.sum(axis=0)
    excess = np.abs(difference) - MAX_ERRORS * error - MAX_ERRORS
    i = int(excess.argmax())
    if excess[i] <= 0:
        return []
    on, wanted = float(rows[:, i].mean()), float(expected[:, i].mean())
    sentence = f"Unit {i} is on in {on:.0%} of the samples; given the others, the model says {wanted:.0%}."
    limit = float(MAX_ERRORS * (error[i] + 1) / len(rows))
    return [
        Finding(
            "units", sentence, on - wanted, float(error[i] / len(rows)), limit, "p(v_i | the other units)"
        )
    ]
