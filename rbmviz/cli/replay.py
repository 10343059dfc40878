"""``rbmviz replay``: samplers side by side as a page that needs no server, or as a moving picture."""

import argparse
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rbmviz.budget import check_memory
from rbmviz.cli import SEED, Parser, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import add_knobs, read_algorithms
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.knobs import values_of
from rbmviz.metadata import data_name
from rbmviz.models import data_of, describe_model, load_model, with_rates
from rbmviz.origin import with_origin
from rbmviz.output import write_whole
from rbmviz.rbm import Model
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler, list_samplers
from rbmviz.session import Allowance, RunHistory, SamplingRun, SamplingSetup, Start
from rbmviz.session.recorder import MAX_HELD_SAMPLES

MAX_REPLAY_BYTES = 100_000_000
"""Maximum bytes of packed samples in one file: browsers take too long to open a larger page."""

MAX_SIDE_BY_SIDE = 12
"""Maximum number of runs side by side."""

MAX_HEADING = 1000
"""Maximum number of characters of a title or a caption."""


def add_page(commands: Any, name: str, example: str, run: Any, needed: bool = True) -> Parser:
    """Add a command that writes a page of samplers, with the arguments of all such commands.

    needed : whether a model and samplers are required
    """
    command = add_command(commands, name, example, run, text)
    add_knobs(command, samplers)
    command.add_argument("--model", required=needed, help="name of a pretrained model, or a file")
    command.add_argument(
        "--samplers",
        nargs="+",
        required=needed,
        metavar="S",
        help=f"{', '.join(list_samplers())}, or with knobs: rates_fpcd:eps=0.05,k=2. A knob "
        "given as a flag (--eps 0.05) is for every sampler that has it and does not name it itself",
    )
    command.add_argument("--title", help="heading of the page; default: the name of the model")
    command.add_argument("--caption", help="sentence below the heading; default: what the model is")
    command.add_argument(
        "--cells", type=WholeNumber(1, 12), default=10, help="rows and columns of each panel (default 10)"
    )
    command.add_argument(
        "--speed", type=WholeNumber(1, 5000), default=60, help="samples per second at first (default 60)"
    )
    return command


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz replay --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0.05 -n 2000 --out run.html"
    command = add_page(commands, "replay", example, run)
    command.add_argument(
        "-n", type=WholeNumber(1, 10**9), required=True, help="samples that each sampler makes"
    )
    command.add_argument(
        "--last",
        type=WholeNumber(1, MAX_HELD_SAMPLES),
        metavar="M",
        help=f"only the last M samples are in the file (default: all, at most {MAX_HELD_SAMPLES:,})",
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")
    command.add_argument(
        "--init",
        choices=("data", "random"),
        help="initial states; default: data where the model's data are at hand, else random",
    )
    command.add_argument(
        "--dataset",
        help="data to score against and to start from: a name, a file, or a folder of images; default: the "
        "data that the model names",
    )
    command.add_argument(
        "--plain",
        action="store_true",
        help="do not compress: for browsers from before 2023",
    )
    command.add_argument(
        "--out", required=True, metavar="F.html", help="the file; with F.gif a moving picture"
    )


def check_page(args: argparse.Namespace, endings: tuple[str, ...], most: int) -> Path:
    """Return the file of a page; BadInput if it cannot be written, or has more than ``most`` samplers."""
    target, command = check_target(args, endings), args.command
    for flag in ("title", "caption"):
        if len(getattr(args, flag) or "") > MAX_HEADING:
            raise BadInput(f"{command}: --{flag} has more than {MAX_HEADING:,} characters.")
    if len(args.samplers) > most:
        raise BadInput(f"{command}: {len(args.samplers)} samplers: a page has room for {most}.")
    return target


def check_target(args: argparse.Namespace, endings: tuple[str, ...]) -> Path:
    """Return the file of a page; BadInput if it cannot be written."""
    target = Path(args.out)
    if target.suffix not in endings:
        raise BadInput(f"{args.command}: '{target}' must end in {' or '.join(endings)}.")
    check_outputs({"--out": target}, models={"--model": args.model}, datasets={"--dataset": args.dataset})
    return target


def runs_of(args: argparse.Namespace) -> tuple[Model, list[Sampler], Dataset | None]:
    """Return the model, with rates if they are needed, the samplers, and the data to score against."""
    model = load_model(args.model)
    algorithms = read_algorithms(samplers, args.samplers, args.rest)  # knobs in a text override flags
    data = scored_data(model, args)
    if args.init == "data" and data is None:
        raise BadInput("The model does not say what data it learned: give --dataset, or use --init random.")
    needed = model.rates is None and any(sampler.needs_rates for sampler in algorithms)
    if needed and args.dataset is not None and data is not None:
        model = with_rates(model, data)
    return model, algorithms, data


def scored_data(model: Model, args: argparse.Namespace) -> Dataset | None:
    """Return the data to score against; None, with a message, if the model's own data are missing."""
    if args.dataset is not None:
        return data_of(model, args.dataset, load_dataset)
    if data_name(model.meta) is None:
        return None
    try:
        return data_of(model)
    except BadInput as error:
        if args.init == "data":
            raise
        print_message(f"Nothing is scored, and the chains start at random bits: {error}")
        return None


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Draw the samples, then write the file."""
    target = check_page(args, (".html", ".gif"), MAX_SIDE_BY_SIDE)
    with brought_by("app", "A file that plays samples"):
        from rbmviz.view import moving
        from rbmviz.view.replay import replay_html
    model, algorithms, dataset = runs_of(args)
    kept = _kept(args, model, len(algorithms))
    init: Start = args.init or ("random" if dataset is None else "data")
    allowance = Allowance(len(algorithms) * kept * -(-model.rbm.n_visible // 8))
    plan = SamplingSetup(model, dataset, args.seed, init, allowance=allowance).plan()
    for algorithm in algorithms:
        check_memory("replay: the run", algorithm.state_bytes(*model.rbm.W.shape), "give fewer chains")
    histories, interrupted = histories_of([SamplingRun(1, plan, sampler) for sampler in algorithms], args.n)
    setup = SamplingSetup(model, dataset, args.seed, init)
    caption = f"{describe_model(model)}. Seed {args.seed}. {setup.start_text()}"
    replay = replay_of(args, model, [history.last(kept) for history in histories], dataset, caption)
    content = replay_html(replay, args.plain) if target.suffix == ".html" else moving.replay_gif(replay)
    result = written(args, target, content, model, dataset)
    result["samplers"] = [
        {"name": each.algorithm.name, "knobs": values_of(each.algorithm), "n": each.n} for each in histories
    ]
    result |= {"kept": kept, "seed": args.seed}
    return result | ({"interrupted": True} if interrupted else {})


def replay_of(
    args: argparse.Namespace,
    model: Model,
    histories: list[RunHistory],
    dataset: Dataset | None,
    caption: str,
    data: Dataset | None = None,
) -> Any:
    """Return the runs and their text; ``caption`` is a default, ``data`` gives the shape of pictures."""
    from rbmviz.view.replay import Replay  # imported here, because it needs the libraries of an extra
    from rbmviz.view.specs import shape_of

    return Replay(
        args.title if args.title is not None else Path(args.model).stem,
        args.caption if args.caption is not None else caption,
        histories,
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), data or dataset),
        args.cells,
        args.speed,
    )


def written(
    args: argparse.Namespace, target: Path, content: bytes, model: Model | None, dataset: Dataset | None
) -> dict[str, Any]:
    """Write a page, and return the part of the result shared by all pages."""
    source = origin_of(args, {} if model is None else {args.model: model}, dataset)
    content = with_origin(content, target.name, source)
    write_whole(target, content)
    name = dataset.name if dataset is not None else None
    place = {"out": str(target), "bytes": len(content)}
    return place | {"model": args.model, "dataset": name, "origin": source}


def _kept(args: argparse.Namespace, model: Model, n_runs: int) -> int:
    """Return the number of samples of each run in the file; BadInput if the file would be too large."""
    kept: int = min(args.n, args.last or args.n)
    room = MAX_REPLAY_BYTES // (n_runs * -(-model.rbm.n_visible // 8))
    most = min(MAX_HELD_SAMPLES, room)
    if kept > most:
        raise BadInput(
            f"replay: {kept:,} samples of {n_runs} samplers are too much for one page: with --last {most} it "
            "has the last ones."
        )
    return kept


def histories_of(runs: list[SamplingRun], n: int) -> tuple[list[RunHistory], bool]:
    """Draw n samples in each run; return their histories, and whether an interrupt came first."""
    try:
        with tqdm(total=n * len(runs), unit="sample", disable=None) as bar:
            for run in runs:
                run.prepare()
                run.watched = False
            while not all(run.n == n for run in runs):  # in turns, so that an interrupt leaves some of each
                for run in runs:
                    m = min(run.max_steps(), n - run.n)
                    if m:
                        run.record_steps(run.timed_advance(m))
                        bar.update(m)
    except KeyboardInterrupt:
        if not all(run.n for run in runs):
            raise
        print_message("Interrupted: the samples made so far are kept.")
        return [RunHistory.of(run) for run in runs], True
    for run in runs:
        run.complete()
    return [RunHistory.of(run) for run in runs], False


def text(result: dict[str, Any]) -> str:
    """Format the result."""
    return f"{result['out']}: {result['bytes'] / 1e6:.2f} MB, open it in a browser."
