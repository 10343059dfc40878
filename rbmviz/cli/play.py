"""``rbmviz play``: samplers side by side as one file, live in any browser or recorded, without a server."""

import importlib
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from tqdm import tqdm

from rbmviz.browser import scores
from rbmviz.browser.chains import MAX_LIVE_PANELS, STORED_SEEDS
from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import MANY, NUMBER, Count, Seed, read_algorithms, whole
from rbmviz.cli.origins import data_for, origin_of
from rbmviz.cli.outputs import DefaultName, check_outputs, ending_in
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.files.budget import check_state
from rbmviz.files.origin import with_origin
from rbmviz.files.output import write_whole
from rbmviz.knobs import values_of
from rbmviz.lessons import load_lesson
from rbmviz.models import describe_model, load_model, with_rates
from rbmviz.pages import PAGES
from rbmviz.rbm import RBM
from rbmviz.registry import samplers as table
from rbmviz.samplers import Sampler
from rbmviz.session import RunHistory, SamplingRun, SamplingSetup

SEED_HELP = "Random seed; of a live page, the first of ten to choose from."

MAX_REPLAY_BYTES = 100_000_000
"""Maximum bytes of packed samples in one file: browsers take too long to open a larger page."""

MAX_KEPT = 100_000
"""Maximum number of samples of a run in one file."""

MAX_SIDE_BY_SIDE = 12
"""Maximum number of recorded runs side by side."""

MAX_HEADING = 1000
"""Maximum number of characters of a title or a caption."""


def play(
    *,
    model: str | None = None,
    samplers: Annotated[list[str] | None, MANY] = None,
    lesson: str | None = None,
    recorded: bool = False,
    dataset: str | None = None,
    no_data: bool = False,
    init: Literal["data", "random"] | None = None,
    seed: Annotated[Seed, Parameter(help=SEED_HELP)] = 0,
    n: Annotated[Count, NUMBER] = 2000,
    last: Annotated[int, whole(1, MAX_KEPT)] | None = None,
    title: str | None = None,
    caption: str | None = None,
    cells: Annotated[int, whole(1, 12)] = 10,
    speed: Annotated[int, whole(1, 5000)] = 60,
    out: str = DefaultName("live.html"),
    **knobs: Annotated[str, table],
) -> Answer:
    """Write a page in which samplers run live in any browser, or a recording.

    In a live page the samplers run, in any browser; a recorded one only plays the samples that are made now.

    Parameters
    ----------
    model
        Name of a pretrained model, or a file; default: that of the Sample page.
    samplers
        Names, perhaps with knobs: rates_fpcd:eps=0.05,k=2; default: those of the Sample page. A knob given as
        a flag (--eps 0.05) is for every sampler that has it and does not name it itself.
    lesson
        In place of a model and samplers: a lesson whose steps run in the page, by name or as a file.
    recorded
        Record a run that is only played: an .html, or a moving picture, .gif.
    dataset
        Data for scores, classes and starts (a live page contains a part of them): a name, a file, or a folder
        of images; default: the data that the model names.
    no_data
        Leave the data out of a live page, which then has no scores and classes.
    init
        Initial states; default: data where the model's data are at hand, else random bits.
    n
        Recorded: samples that each sampler makes.
    last
        Recorded: only the last of them are in the file; default: all.
    title
        Heading of the page; default: the name of the model.
    caption
        Sentence below the heading; default: what the model is, and where the chains start.
    cells
        Rows and columns of each panel.
    speed
        Samples per second at first.
    out
        The file, .html, or with --recorded .gif.

    Examples
    --------
    rbmviz play --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0.05 --out live.html
    rbmviz play --recorded --model mnist_fpcd --samplers gibbs rates_fpcd -n 2000 --out run.gif
    """
    target = ending_in("play", out, ".html", *((".gif",) if recorded else ()))
    check_outputs({"--out": out}, models={"--model": model}, datasets={"--dataset": dataset})
    if lesson is not None:
        given = {
            **{"model": model, "samplers": samplers, "title": title, "caption": caption, "dataset": dataset},
            **{"no_data": no_data, "recorded": recorded, "knobs": knobs},
        }
        return _lesson(lesson, target, [name for name, value in given.items() if value])
    for flag, heading in (("title", title), ("caption", caption)):
        if len(heading or "") > MAX_HEADING:
            raise BadInput(f"play: --{flag} has more than {MAX_HEADING:,} characters.")
    sample = PAGES["sample"]
    name = sample.settings["model"].default if model is None else model
    texts = samplers or list(sample.default_panels)
    most = MAX_SIDE_BY_SIDE if recorded else MAX_LIVE_PANELS
    if len(texts) > most:
        raise BadInput(f"play: {len(texts)} samplers: a page has room for {most}.")
    with brought_by("app", "A page in which samplers run"):
        from rbmviz.view import live, moving
        from rbmviz.view.replay import Replay, replay_html
        from rbmviz.view.specs import shape_of
    algorithms = read_algorithms(table, texts, knobs)  # knobs in a text override flags
    setup = _setup(name, dataset, algorithms, seed, init)
    loaded, data = setup.model, setup.dataset
    shape = shape_of(loaded.rbm.n_visible, loaded.meta.get("image_shape"), data)
    said = f"{describe_model(loaded)}. {f'Seed {seed}. ' if recorded else ''}{setup.start_text()}"
    heading, said = Path(name).stem if title is None else title, said if caption is None else caption
    result: dict[str, Any] = {"model": name, "init": "random" if setup.first_state() is None else "data"}
    result["samplers"] = [{"name": each.name, "knobs": values_of(each)} for each in algorithms]
    if recorded:
        kept = _kept(n, last, algorithms, loaded.rbm)
        histories, interrupted = _histories(setup, algorithms, n, kept)
        replay = Replay(heading, said, histories, data, shape, cells, speed)
        content = replay_html(replay) if target.suffix == ".html" else moving.replay_gif(replay)
        for made, history in zip(result["samplers"], histories, strict=True):
            made["n"] = history.n
        result |= {"kept": kept, "seed": seed} | ({"interrupted": True} if interrupted else {})
        return _written(target, content, origin_of({name: loaded}, data, seed=seed), data, result)
    shown = None if no_data else data
    live.check_playable(algorithms, loaded)
    print_message(f"The page will contain {_contents(shown)}.")
    starts = live.starts_of(setup)
    page = live.Live(heading, said, loaded, algorithms, shown, shape, starts, cells, speed)
    result |= {"contains": _contents(shown), "seeds": list(range(seed, seed + STORED_SEEDS))}
    source = origin_of({name: loaded}, shown, seed=seed)
    return _written(target, live.play_html(page), source, shown, result)


def _lesson(name: str, target: Path, options: list[str]) -> Answer:
    if options:
        raise BadInput(f"play: the lesson decides what runs: leave {' and '.join(options)} out.")
    with brought_by("app", "A lesson as a page"):
        # By name, because the package is a layer below the app and is also installed without its libraries.
        page = importlib.import_module("rbmviz_app.play.lesson")
    lesson = load_lesson(name)
    content, dataset = page.lesson_html(lesson)
    contained = _contents(dataset, "the lesson, its models and the kernels")
    print_message(f"The page will contain {contained}.")
    result: dict[str, Any] = {"model": None, "lesson": lesson.name, "contains": contained}
    result["steps"] = [step.title for step in lesson.steps]
    return _written(target, content, origin_of({}, dataset), dataset, result)


def _setup(
    name: str,
    dataset: str | None,
    algorithms: list[Sampler],
    seed: int,
    init: Literal["data", "random"] | None,
) -> SamplingSetup:
    """Return the model with its data; a model without rates gets those of named data."""
    model = load_model(name)
    data = data_for(model, dataset, "use --init random" if init == "data" else "")
    if model.rates is None and dataset and data and any(each.needs_rates for each in algorithms):
        model = with_rates(model, data)
    return SamplingSetup(model, data, seed, init or "data")  # without data they start at random bits


def _kept(n: int, last: int | None, algorithms: list[Sampler], rbm: RBM) -> int:
    """Return the number of samples of each run in the file; BadInput if that or a run is too large."""
    kept = min(n, last or n)
    most = min(MAX_KEPT, MAX_REPLAY_BYTES // (len(algorithms) * -(-rbm.n_visible // 8)))
    if kept > most:
        raise BadInput(
            f"play: {kept:,} samples of {len(algorithms)} samplers are too much for one page: with --last "
            f"{most} it has the last ones."
        )
    for algorithm in algorithms:
        check_state("play: the run", algorithm, rbm.n_visible, rbm.n_hidden, "give fewer chains")
    return kept


def _histories(
    setup: SamplingSetup, algorithms: list[Sampler], n: int, kept: int
) -> tuple[list[RunHistory], bool]:
    """Draw n samples of each; return the histories of the last ones, and whether an interrupt came first."""
    plan, interrupted = setup._replace(held=kept).plan(), False
    runs = [SamplingRun(1, plan, algorithm) for algorithm in algorithms]
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
        interrupted = True
        print_message("Interrupted: the samples made so far are kept.")
    for run in () if interrupted else runs:
        run.complete()
    return [RunHistory.of(run).last(kept) for run in runs], interrupted


def _written(
    target: Path, content: bytes, source: dict[str, Any], dataset: Dataset | None, result: dict[str, Any]
) -> Answer:
    """Write a page; return its result with what all pages share."""
    content = with_origin(content, target.name, source)
    write_whole(target, content)
    result |= {"dataset": None if dataset is None else dataset.name, "origin": source}
    result |= {"out": str(target), "bytes": len(content)}
    return result, f"{target}: {len(content) / 1e6:.2f} MB, open it in a browser."


def _contents(dataset: Dataset | None, kernels: str = "the model and the kernels") -> str:
    """Describe the data in a page with this data set."""
    if dataset is None:
        return f"{kernels}, and no data"
    return f"{kernels}, and {scores.contents(dataset)}"
