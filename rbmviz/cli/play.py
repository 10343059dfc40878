"""``rbmviz play``: a page in which samplers run live, in any browser, without a server or network."""

import argparse
from typing import Any

from rbmviz.browser import scores
from rbmviz.browser.chains import MAX_LIVE_PANELS, RECORDED, STORED_SEEDS
from rbmviz.cli import SEED, print_message
from rbmviz.cli.replay import add_page, check_page, histories_of, replay_of, runs_of, written
from rbmviz.datasets import Dataset
from rbmviz.errors import brought_by
from rbmviz.knobs import values_of
from rbmviz.models import describe_model
from rbmviz.session import SamplingSetup, Start


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz play --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0.05 --out live.html"
    command = add_page(commands, "play", example, run)
    command.add_argument(
        "--seed", type=SEED, default=0, help=f"the first of {STORED_SEEDS} seeds (default 0)"
    )
    command.add_argument(
        "--init", choices=("data", "random"), default="random", help="initial states (default random)"
    )
    command.add_argument(
        "--dataset",
        help="data for scores, classes and --init data, of which the page contains a part: a name, a file, "
        "or a folder of images; default: the data that the model names",
    )
    command.add_argument(
        "--no-data", action="store_true", help="leave the data out: a page without scores and classes"
    )
    command.add_argument("--out", required=True, metavar="F.html", help="the file")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Record the fallback, then write the file."""
    target = check_page(args, (".html",), MAX_LIVE_PANELS)
    with brought_by("app", "A page in which samplers run"):
        from rbmviz.view import live
    model, algorithms, data = runs_of(args)
    live.check_playable(algorithms, model)
    dataset = None if args.no_data else data
    print_message(f"The page will contain {contents(dataset)}.")
    init: Start = args.init
    setup = SamplingSetup(model, dataset if init == "random" else data, args.seed, init)
    histories, interrupted = histories_of(live.runs_to_record(setup, algorithms), RECORDED)
    replay = replay_of(args, model, histories, dataset, f"{describe_model(model)}.", data)
    result = written(args, target, live.play_html(replay, model, live.starts_of(setup)), model, dataset)
    result["samplers"] = [{"name": each.name, "knobs": values_of(each)} for each in algorithms]
    seeds = list(range(args.seed, args.seed + STORED_SEEDS))
    result |= {"contains": contents(dataset), "seeds": seeds, "init": init}
    return result | ({"interrupted": True} if interrupted else {})


def contents(dataset: Dataset | None) -> str:
    """Say what data a page with this data set contains."""
    kernels = "the model, the kernels and a recording"
    if dataset is None:
        return f"{kernels}, and no data"
    return f"{kernels}, and {scores.contents(dataset)}"
