"""``rbmviz play``: a page in which samplers run live, in any browser, without a server or network."""

import argparse
import importlib
from pathlib import Path
from typing import Any

from rbmviz.browser.chains import RECORDED, STORED_SEEDS, check_runs
from rbmviz.cli import SEED, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import knob_help
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.cli.replay import MAX_HEADING, histories_of, samplers_of, scored_data
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.knobs import values_of
from rbmviz.models import describe_model, load_model, with_rates
from rbmviz.origin import with_origin
from rbmviz.output import write_whole
from rbmviz.registry import samplers
from rbmviz.session import Allowance, SamplingRun, SamplingSetup, Start

MAX_LIVE_PANELS = 6
"""Samplers in a page: each has a worker, and phones have few cores."""


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz play --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0.05 --out live.html"
    command = add_command(commands, "play", example, run, text)
    command.set_defaults(takes_knobs=True)
    command.epilog = f"{command.epilog}\n{knob_help(samplers, sorted(samplers))}".replace("%", "%%")
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument(
        "--samplers",
        nargs="+",
        required=True,
        metavar="S",
        help="gibbs, rates_fpcd, rates_herding, sample_penalization, or with knobs: rates_fpcd:eps=0.05,k=2. "
        "A knob given as a flag (--eps 0.05) is for every sampler that has it and does not name it itself",
    )
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
    command.add_argument("--title", help="heading of the page; default: the name of the model")
    command.add_argument("--caption", help="sentence below the heading; default: what the model is")
    command.add_argument(
        "--cells", type=WholeNumber(1, 12), default=10, help="rows and columns of each panel (default 10)"
    )
    command.add_argument(
        "--speed", type=WholeNumber(1, 5000), default=60, help="samples per second at first (default 60)"
    )
    command.add_argument("--out", required=True, metavar="F.html", help="the file")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Record the fallback, then write the file."""
    target = Path(args.out)
    if target.suffix != ".html":
        raise BadInput(f"play: '{target}' must end in .html.")
    for flag in ("title", "caption"):
        if len(getattr(args, flag) or "") > MAX_HEADING:
            raise BadInput(f"play: --{flag} has more than {MAX_HEADING:,} characters.")
    if len(args.samplers) > MAX_LIVE_PANELS:
        raise BadInput(f"play: {len(args.samplers)} samplers: a page has room for {MAX_LIVE_PANELS}.")
    check_outputs({"--out": target}, models={"--model": args.model}, datasets={"--dataset": args.dataset})
    with brought_by("app", "A page in which samplers run"):
        # By name, because the package is a layer below the app and is also installed without its libraries.
        app = importlib.import_module("rbmviz_app.replay")
        page = importlib.import_module("rbmviz_app.play.page")
        shape_of = importlib.import_module("rbmviz_app.panel").shape_of
    model = load_model(args.model)
    algorithms = samplers_of(args)
    for sampler in algorithms:
        check_runs(sampler)
    page.check_size(model)
    data = scored_data(model, args)
    if args.init == "data" and data is None:
        raise BadInput("The model does not say what data it learned: give --dataset, or use --init random.")
    needed = model.rates is None and any(sampler.needs_rates for sampler in algorithms)
    if needed and args.dataset is not None and data is not None:
        model = with_rates(model, data)
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
    histories, _ = histories_of([SamplingRun(1, plan, sampler) for sampler in algorithms], RECORDED)
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
    return {
        "out": str(target),
        "bytes": len(content),
        "model": args.model,
        "dataset": dataset.name if dataset is not None else None,
        "contains": contents(dataset),
        "samplers": [{"name": each.name, "knobs": values_of(each)} for each in algorithms],
        "seeds": list(seeds),
        "init": init,
    }


def contents(dataset: Dataset | None) -> str:
    """Say what data a page with this data set contains."""
    kernels = "the model, the kernels and a recording"
    if dataset is None:
        return f"{kernels}, and no data"
    page = importlib.import_module("rbmviz.browser.scores")
    return f"{kernels}, and {page.contents(dataset)}"


def text(result: dict[str, Any]) -> str:
    """Format the result."""
    return f"{result['out']}: {result['bytes'] / 1e6:.2f} MB, open it in a browser."
