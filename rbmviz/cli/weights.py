"""``rbmviz weights``: the importance weights of pop-CD."""

import argparse
from typing import Any

from rbmviz import metrics, rng
from rbmviz.budget import check_memory
from rbmviz.cli import COUNT, SEED, add_command
from rbmviz.cli.knob_flags import range_of
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import load_dataset
from rbmviz.models import data_of, load_model
from rbmviz.session.training import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz.trainers.pop_cd import PROPOSALS, PopCD, pop_weights


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz weights --model bas_pcd --dataset bas --k 1 --batch 32"
    command = add_command(commands, "weights", example, run, text)
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument("--dataset", required=True, help="a name, a file, or a folder of images")
    command.add_argument("--k", type=range_of(PopCD, "k"), default=1, help="Gibbs sweeps (default 1)")
    command.add_argument("--batch", type=COUNT, default=100, help="random training examples (default 100)")
    command.add_argument(
        "--proposal",
        choices=PROPOSALS,
        default="visible",
        help="distribution that the weights compare the model with (default visible)",
    )
    command.add_argument(
        "--mixture",
        type=range_of(PopCD, "mixture"),
        default=10,
        help="hidden states in a mixture (default 10)",
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return log weights, their ESS and log Z estimate, and for small models the exact log Z."""
    model = load_model(args.model)
    rbm, dataset = model.rbm, data_of(model, args.dataset, load_dataset)
    check_memory(
        f"weights: a batch of {args.batch:,} examples",
        args.batch * (rbm.n_visible + rbm.n_hidden) * 40,  # five float64 values per unit at the peak
        "give a smaller --batch",
    )
    chosen = rng.generator(args.seed, "data").integers(len(dataset.train), size=args.batch)
    population = pop_weights(
        rbm, dataset.train[chosen], args.k, args.seed, proposal=args.proposal, mixture=args.mixture
    )
    exact = metrics.log_z(rbm) if min(rbm.n_visible, rbm.n_hidden) <= MAX_UNITS_EXACT_LIKELIHOOD else None
    return {
        "log_weights": population.log_weights.tolist(),
        "ess": population.ess,
        "max_weight": population.max_weight,
        "log_z_estimate": population.log_z_estimate,
        "log_z": exact,
        "origin": origin_of(args, {args.model: model}, dataset),
    }


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    exact = "" if result["log_z"] is None else f" (exact {result['log_z']:.4f})"
    return (
        f"{len(result['log_weights']):,} weights: ESS {result['ess']:.2f}, "
        f"largest {result['max_weight']:.3f}, log Z estimate {result['log_z_estimate']:.4f}{exact}"
    )
