"""``rbmviz play``: a page in which samplers run live, in any browser, without a server or network."""

import argparse
import importlib
from pathlib import Path
from typing import Any

from rbmviz.browser.chains import RECORDED, STORED_SEEDS, check_runs
from rbmviz.cli import SEED, print_message
from rbmviz.cli.origins import origin_of
from rbmviz.cli.replay import add_page, check_page, histories_of, runs_of
from rbmviz.datasets import Dataset
from rbmviz.errors import brought_by
from rbmviz.knobs import values_of
from rbmviz.models import describe_model
from rbmviz.origin import with_origin
from rbmviz.output import write_whole
from rbmviz.session import Allowance, SamplingRun, SamplingSetup, Start

MAX_LIVE_PANELS = 6
"""Samplers in a page: each has a worker, and phones have few cores."""


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
        # By name, because the package is a layer below the app and is also installed without its libraries.
        app = importlib.import_module("rbmviz_app.replay")
        page = importlib.import_module("rbmviz_app.play.page")
        shape_of = importlib.import_module("rbmviz_app.panel").shape_of
    model, algorithms, data = runs_of(args)
    for sampler in algorithms:
        check_runs(sampler)
    page.check_size(model)
    dataset = None if args.no_data else data
    print_message(f"The page will contain {contents(dataset)}.")
    init: Start = args.init
    seeds = range(args.seed, args.seed + STORED_SEEDS)
    starts = [
        (seed, SamplingSetup(model, data, seed).starts(1) if init == "data" else None) for seed in seeds
    ]
    allowance = Allowance(len(algorithms) * RECORDED * -(-model.rbm.n_visible // 8))
    plan = SamplingSetup(
        model, dataset if init == "random" else data, args.seed, init, allowance=allowance
    ).plan()
    runs = [SamplingRun(1, plan, sampler) for sampler in algorithms]
    histories, interrupted = histories_of(runs, RECORDED)
    replay = app.Replay(
        args.title if args.title is not None else Path(args.model).stem,
        args.caption if args.caption is not None else f"{describe_model(model)}.",
        histories,
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), data),
        args.cells,
        args.speed,
    )
    content = with_origin(
        page.play_html(replay, model, starts), target.name, origin_of(args, {args.model: model}, dataset)
    )
    write_whole(target, content)
    result: dict[str, Any] = {
        "out": str(target),
        "bytes": len(content),
        "model": args.model,
        "dataset": dataset.name if dataset is not None else None,
        "contains": contents(dataset),
        "samplers": [{"name": each.name, "knobs": values_of(each)} for each in algorithms],
        "seeds": list(seeds),
        "init": init,
    }
    return result | ({"interrupted": True} if interrupted else {})


def contents(dataset: Dataset | None) -> str:
    """Say what data a page with this data set contains."""
    kernels = "the model, the kernels and a recording"
    if dataset is None:
        return f"{kernels}, and no data"
    page = importlib.import_module("rbmviz.browser.scores")
    return f"{kernels}, and {page.contents(dataset)}"
