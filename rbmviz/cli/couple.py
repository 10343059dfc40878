"""``rbmviz couple``: meeting times of coupled chains."""

import argparse
import re
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.budget import check_memory
from rbmviz.cli import COUNT, SEED, WholeNumber, add_command, print_message
from rbmviz.cli.origins import origin_of
from rbmviz.coupling import ALGORITHMS, couple, tv_bound
from rbmviz.errors import BadInput
from rbmviz.models import load_model
from rbmviz.rbm import RBM, Model

MAX_SD = 100
"""Largest standard deviation of a random model's parameters; units are deterministic far below it."""

PAIR_BYTES = 500
"""Bytes of one pair in addition to its units: random state, counts, and its meeting time in the output."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz couple --random 500x100:0.1 --algorithm rbm --replications 1000 --max-sweeps 1000"
    command = add_command(commands, "couple", example, run, text)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help="name of a pretrained model, or a file")
    source.add_argument(
        "--random",
        metavar="MxN:SD",
        help="a random model of M visible and N hidden units: all parameters N(0, SD^2)",
    )
    command.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        default="rbm",
        help="coupling: algorithm 3 of UCD (rbm, the default), algorithm 1 (general), or the "
        "authors' program, which couples the hidden units as well (half_step)",
    )
    command.add_argument("--replications", type=COUNT, default=1000, help="pairs of chains (default 1000)")
    command.add_argument(
        "--max-sweeps",
        type=WholeNumber(2, COUNT.hi),
        default=1000,
        help="most sweeps of a pair that has not met (default 1000)",
    )
    command.add_argument(
        "--lag", type=COUNT, default=1, help="sweeps that the first chain is ahead (default 1)"
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")


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
    g = rng.generator(seed, "model")
    return RBM(g.normal(0, sd, (m, n)), g.normal(0, sd, m), g.normal(0, sd, n))


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the meeting times in sweeps, their quantiles, and the bound on total variation."""
    model = load_model(args.model) if args.model is not None else Model(_random_model(args.random, args.seed))
    rbm = model.rbm
    check_memory(
        f"couple: {args.replications:,} pairs of {rbm.n_visible} units",
        args.replications * (10 * rbm.n_visible + PAIR_BYTES),
        "give fewer --replications",
    )
    v0 = rng.generator(args.seed, "starts").integers(0, 2, (args.replications, rbm.n_visible), dtype=np.uint8)
    pairs = couple(rbm, v0, args.algorithm, args.max_sweeps, args.lag, args.seed)
    truncated = int(pairs.truncated.sum())
    if truncated:
        print_message(
            f"{truncated:,} of {args.replications:,} pairs had not met after {args.max_sweeps:,} sweeps."
        )
    times = np.unique(np.rint(np.geomspace(1, args.max_sweeps, 50)).astype(int))
    bound, error = tv_bound(pairs.tau, args.lag, times)
    return {
        "tau": pairs.tau.tolist(),
        "quantiles": {str(q): float(np.quantile(pairs.tau, q)) for q in QUANTILES},
        "share_le_10": float(((pairs.tau <= 10) & ~pairs.truncated).mean()),
        "truncated": truncated,
        "share_cut": pairs.share_cut,
        "rejected_mean": float(pairs.rejected.mean()),
        "tv_bound": [[int(t), float(x)] for t, x in zip(times, bound, strict=True)],
        "tv_std_error": error.tolist(),
        "algorithm": args.algorithm,
        "lag": args.lag,
        "origin": origin_of(args, {args.model or f"random {args.random}": model}),
    }


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    quantiles = ", ".join(f"{float(q):.0%} {tau:,.0f}" for q, tau in result["quantiles"].items())
    return (
        f"{len(result['tau']):,} pairs, algorithm {result['algorithm']}: "
        f"tau <= 10 for {result['share_le_10']:.1%}, quantiles {quantiles}; "
        f"{result['rejected_mean']:.2f} proposals rejected per pair, {result['truncated']:,} cut off"
    )
