"""The log-likelihood during a training, exact or estimated, and what it says of the training."""

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping

import numpy as np

from rbmviz import rng
from rbmviz.metrics import ais_log_z, independent_log_likelihood, log_z
from rbmviz.metrics.numbers import SCORED_EXAMPLES
from rbmviz.rbm import RBM

MAX_UNITS_EXACT_LIKELIHOOD = 16
"""Maximum size of the smaller layer for exact likelihoods; larger models use AIS."""

LIVE_AIS_CHAINS, LIVE_AIS_TEMPERATURES = 64, 500
"""Chains and temperatures of live AIS: good to a fraction of a nat if a model mixes; else its ESS warns."""

LIKELIHOODS = {"exact": 10, "ais": 6}
"""Likelihoods of a training that nobody looks at, evenly spaced, by method."""

LEAST_CHANGE, SURE_ERRORS = 0.05, 3
"""Nats, and standard errors of an estimate, from which on a curve has fallen or risen."""

SMOOTHED, FEWEST_SCORES = 3, 5
"""Likelihoods whose median counts, because single ones jump, and of a run before anything is said."""

COLUMNS = ("log_likelihood", "log_likelihood_error", "ais_ess", "independent_log_likelihood")
"""Columns of a history that ``likelihood`` fills."""


def method_of(n_visible: int, n_hidden: int) -> str:
    """Return how the likelihoods of a training are computed: "exact" or "ais"."""
    return "exact" if min(n_visible, n_hidden) <= MAX_UNITS_EXACT_LIKELIHOOD else "ais"


def scored_examples(rows: np.ndarray, most: int = SCORED_EXAMPLES) -> np.ndarray:
    """Return at most ``most`` rows, evenly spaced."""
    n = min(len(rows), most)
    return rows[np.arange(n) * len(rows) // n] if n else rows


def likelihood(rows: np.ndarray, rbm: RBM, seed: rng.Seed, most: int | None = None) -> dict[str, float]:
    """Return COLUMNS of a model: the mean log-likelihood of training rows in nats, its error, and two others.

    It is exact up to MAX_UNITS_EXACT_LIKELIHOOD units, of at most ``most`` rows (default: all), with an error
    of 0 and no ESS (NaN). Above, AIS gives log Z, and ``scored_examples`` are scored.
    """
    if method_of(*rbm.W.shape) == "exact":
        of_log_z, scored = (log_z(rbm), 0.0, math.nan), scored_examples(rows, most or len(rows))
    else:
        found = ais_log_z(rbm, rows, n_chains=LIVE_AIS_CHAINS, betas=LIVE_AIS_TEMPERATURES, seed=seed)
        of_log_z, scored = (found.log_z, found.std_error, found.ess), scored_examples(rows)
    mean = float(-rbm.free_energy(scored).mean() - of_log_z[0])
    return dict(zip(COLUMNS, (mean, *of_log_z[1:], independent_log_likelihood(scored)), strict=True))


def climb(points: Iterable[tuple[float, float, float]]) -> tuple[float, float, bool] | None:
    """Return the newest log-likelihood, how far it is below the best (0: hardly), and whether it still rises.

    It rises if it is at its best, and higher than after half of the updates; it has fallen if it is further
    below its best than it swings. None before there are FEWEST_SCORES.

    points : updates, log-likelihood and its standard error, in nats
    """
    known = [point for point in points if math.isfinite(point[1])]
    if len(known) < FEWEST_SCORES:
        return None
    updates, means, errors = zip(*known, strict=True)
    values = [statistics.median(means[i : i + SMOOTHED]) for i in range(len(means) - SMOOTHED + 1)]
    halfway = next(
        y for update, y in zip(updates[SMOOTHED - 1 :], values, strict=True) if 2 * update >= updates[-1]
    )
    least = max(LEAST_CHANGE, SURE_ERRORS * errors[-1])
    swing = statistics.median(abs(y - x) for x, y in itertools.pairwise(values))
    below = max(values) - values[-1]
    return (
        values[-1],
        below if below > max(least, 2 * swing) else 0.0,
        not below and values[-1] - halfway > least,
    )


def remarks(history: Mapping[str, np.ndarray]) -> list[str]:
    """Return sentences about a training that is not above independent units, or has fallen below its best."""
    columns = [history.get(name, np.zeros(0)) for name in ("update", *COLUMNS)]
    points = [point for point in zip(*(c.tolist() for c in columns), strict=False) if math.isfinite(point[1])]
    said: list[str] = []
    if not points:
        return said
    _, newest, error, _, independent = points[-1]
    if newest - 2 * error <= independent:
        said.append(
            f"The model is not above independent units ({independent:.3f} nats): it has learned nothing of "
            "how they depend on each other. Train longer, or with another learning rate."
        )
    found = climb([point[:3] for point in points])
    if found is not None and found[1]:
        best = max(points, key=lambda point: point[1])
        said.append(
            f"The log-likelihood has fallen to {newest:.3f} nats, from {best[1]:.3f} after {best[0]:,} "
            "updates: train less long, or with a lower learning rate."
        )
    return said
