"""``rbmviz play``: a page that runs samplers live, in any browser, without a server or network."""

import argparse
import importlib
from typing import Any

from rbmviz.browser import scores
from rbmviz.browser.chains import MAX_LIVE_PANELS, RECORDED, STORED_SEEDS
from rbmviz.cli import SEED, print_message
from rbmviz.cli.replay import (
    add_page,
    check_page,
    check_target,
    histories_of,
    replay_of,
    runs_of,
    written,
)
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.knobs import values_of
from rbmviz.lessons import load_lesson
from rbmviz.models import describe_model
from rbmviz.pages import PAGES
from rbmviz.session import SamplingSetup, Start

OF_SAMPLERS = "model", "samplers", "title", "caption", "dataset", "no_data"
"""Arguments that are refused with a lesson."""


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz play --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0.05 --out live.html"
    command = add_page(commands, "play", example, run, needed=False)
    command.add_argument(
        "--lesson",
        metavar="L",
        help="in place of a model and samplers: a lesson whose steps run in the page, by name or as a file",
    )
    command.add_argument(
        "--seed", type=SEED, default=0, help=f"the first of {STORED_SEEDS} seeds (default 0)"
    )
    command.add_argument(
        "--init",
        choices=("data", "random"),
        help="initial states; default: data where the model's data are at hand, else random",
    )
    command.add_argument(
        "--dataset",
        help="data for scores, classes and --init data (the page contains a part of it): a name, a file, "
        "or a folder of images; default: the data that the model names",
    )
    command.add_argument(
        "--no-data", action="store_true", help="leave the data out: a page without scores and classes"
    )
    command.add_argument("--out", default="live.html", metavar="F.html", help="the file (default live.html)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the page of samplers, or of a lesson."""
    if args.lesson is not None:
        return _of_lesson(args)
    sample_page = PAGES["sample"]
    args.model = args.model or sample_page.settings["model"].default
    args.samplers = args.samplers or list(sample_page.default_panels)
    target = check_page(args, (".html",), MAX_LIVE_PANELS)
    with brought_by("app", "A page in which samplers run"):
        from rbmviz.view import live
    model, algorithms, data = runs_of(args)
    live.check_playable(algorithms, model)
    dataset = None if args.no_data else data
    print_message(f"The page will contain {contents(dataset)}.")
    init: Start = args.init or ("random" if data is None else "data")
    setup = SamplingSetup(model, dataset if init == "random" else data, args.seed, init)
    histories, interrupted = histories_of(live.runs_to_record(setup, algorithms), RECORDED)
    replay = replay_of(
        args, model, histories, dataset, f"{describe_model(model)}. {setup.start_text()}", data
    )
    result = written(args, target, live.play_html(replay, model, live.starts_of(setup)), model, dataset)
    result["samplers"] = [{"name": each.name, "knobs": values_of(each)} for each in algorithms]
    seeds = list(range(args.seed, args.seed + STORED_SEEDS))
    result |= {"contains": contents(dataset), "seeds": seeds, "init": init}
    return result | ({"interrupted": True} if interrupted else {})


def _of_lesson(args: argparse.Namespace) -> dict[str, Any]:
    options = [name for name in OF_SAMPLERS if getattr(args, name)]
    if options or args.rest:
        raise BadInput(f"play: a lesson says itself what runs: leave {' and '.join(options) or 'knobs'} out.")
    target = check_target(args, (".html",))
    with brought_by("app", "A lesson as a page"):
        # By name, because the package is a layer below the app and is also installed without its libraries.
        page = importlib.import_module("rbmviz_app.play.lesson")
    lesson = load_lesson(args.lesson)
    content, dataset = page.lesson_html(lesson)
    contained = contents(dataset, "the lesson, its models and the kernels")
    print_message(f"The page will contain {contained}.")
    result = written(args, target, content, None, dataset)
    result |= {"lesson": lesson.name, "contains": contained}
    return result | {"steps": [step.title for step in lesson.steps]}


def contents(dataset: Dataset | None, kernels: str = "the model, the kernels and a recording") -> str:
    """Describe the data in a page with this data set."""
    if dataset is None:
        return f"{kernels}, and no data"
    return f"{kernels}, and {scores.contents(dataset)}"
