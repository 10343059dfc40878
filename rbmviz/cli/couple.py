"""``rbmviz couple``: meeting times of coupled chains."""

import re
from typing import Annotated, Literal

import numpy as np

from rbmviz import coupling as coupled
from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import Count, Seed, whole
from rbmviz.cli.origins import origin_of
from rbmviz.errors import BadInput
from rbmviz.files.budget import check_memory
from rbmviz.models import load_model, random_rbm
from rbmviz.rbm import RBM, Model

MAX_SD = 100
"""Largest standard deviation of a random model's parameters; units are deterministic far below it."""

PAIR_BYTES = 500
"""Bytes of one pair in addition to its units: random state, counts, and its meeting time in the output."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def _random_model(text: str, seed: int) -> RBM:
    match = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9}):([0-9.eE+-]{1,20})", text)
    try:
        m, n, sd = int(match[1]), int(match[2]), float(match[3])  # type: ignore[index]
        if m < 1 or n < 1 or not 0 <= sd <= MAX_SD:
            raise ValueError
    except (TypeError, ValueError):
        raise BadInput(
            f"couple: --random '{text[:40]}' is not of the form 500x100:0.1, with at least one unit a layer "
            f"and a standard deviation from 0 to {MAX_SD}."
        ) from None
    check_memory(f"couple: a model of {m:,} x {n:,} units", 16 * (m * n + m + n), "give fewer units")
    return random_rbm(m, n, seed, sd)


def couple(
    *,
    model: str | None = None,
    random: str | None = None,
    algorithm: Literal["rbm", "general", "half_step"] = "rbm",
    replications: Count = 1000,
    max_sweeps: Annotated[int, whole(2, 10**9)] = 1000,
    lag: Count = 1,
    seed: Seed = 0,
) -> Answer:
    """Measure when coupled Gibbs chains meet.

    The chains start at random bits; the meeting times bound their distance from the model in total variation.

    Parameters
    ----------
    model
        Name of a pretrained model, or a file; default bas_pcd.
    random
        In place of it, a random model MxN:SD of M visible and N hidden units: all parameters N(0, SD^2).
    algorithm
        Coupling: algorithm 3 of UCD (rbm), algorithm 1 (general), or the authors' program, which couples the
        hidden units as well (half_step).
    replications
        Pairs of chains.
    max_sweeps
        Most sweeps of a pair that has not met.
    lag
        Sweeps that the first chain is ahead.

    Examples
    --------
    rbmviz couple --random 500x100:0.1 --algorithm rbm --replications 1000 --max-sweeps 1000
    """
    if model is not None and random is not None:
        raise BadInput("couple: --model and --random both name a model: give one of them.")
    name = f"random {random}" if random is not None else "bas_pcd" if model is None else model
    loaded = Model(_random_model(random, seed)) if random is not None else load_model(name)
    rbm = loaded.rbm
    check_memory(
        f"couple: {replications:,} pairs of {rbm.n_visible} units",
        replications * (10 * rbm.n_visible + PAIR_BYTES),
        "give fewer --replications",
    )
    pairs = coupled.couple(rbm, "random", algorithm, max_sweeps, lag, seed, replications=replications)
    truncated = int(pairs.truncated.sum())
    if truncated:
        print_message(f"{truncated:,} of {replications:,} pairs had not met after {max_sweeps:,} sweeps.")
    times = np.unique(np.rint(np.geomspace(1, max_sweeps, 50)).astype(int))
    bound, error = coupled.tv_bound(pairs.tau, lag, times)
    quantiles = {q: float(np.quantile(pairs.tau, q)) for q in QUANTILES}
    share, rejected = float(((pairs.tau <= 10) & ~pairs.truncated).mean()), float(pairs.rejected.mean())
    result = {
        "tau": pairs.tau.tolist(),
        "quantiles": {str(q): tau for q, tau in quantiles.items()},
        "share_le_10": share,
        "truncated": truncated,
        "share_cut": pairs.share_cut,
        "rejected_mean": rejected,
        "tv_bound": [[int(t), float(x)] for t, x in zip(times, bound, strict=True)],
        "tv_std_error": error.tolist(),
        "algorithm": algorithm,
        "lag": lag,
        "origin": origin_of({name: loaded}, seed=seed),
    }
    return result, (
        f"{replications:,} pairs, algorithm {algorithm}: tau <= 10 for {share:.1%}, "
        f"quantiles {', '.join(f'{q:.0%} {tau:,.0f}' for q, tau in quantiles.items())}; "
        f"{rejected:.2f} proposals rejected per pair, {truncated:,} cut off"
    )
