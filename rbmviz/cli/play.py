"""``rbmviz play``: samplers side by side as one file, live in any browser or recorded, without a server."""

import importlib
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from tqdm import tqdm

from rbmviz.browser import scores
from rbmviz.browser.chains import MAX_LIVE_PANELS, STORED_SEEDS
from rbmviz.cli import print_message
from rbmviz.cli.options import MANY, NUMBER, Count, Seed, read_algorithms, whole
from rbmviz.cli.origins import data_for, origin_of
from rbmviz.cli.outputs import DefaultName, check_outputs
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.files.budget import check_state
from rbmviz.files.origin import with_origin
from rbmviz.files.output import write_whole
from rbmviz.knobs import values_of
from rbmviz.lessons import load_lesson
from rbmviz.models import describe_model, load_model, with_rates
from rbmviz.pages import PAGES
from rbmviz.rbm import Model
from rbmviz.registry import samplers as table
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
) -> dict[str, Any]:
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
    target, endings = Path(out), (".html", ".gif") if recorded else (".html",)
    if target.suffix not in endings:
        raise BadInput(f"play: '{target}' must end in {' or '.join(endings)}.")
    check_outputs({"--out": out}, models={"--model": model}, datasets={"--dataset": dataset})
    if lesson is not None:
        given: dict[str, Any] = {
            "model": model,
            "samplers": samplers,
            "title": title,
            "caption": caption,
            "dataset": dataset,
        }
        given |= {"no_data": no_data, "recorded": recorded, "knobs": knobs}
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
    loaded = load_model(name)
    algorithms = read_algorithms(table, texts, knobs)  # knobs in a text override flags
    data = data_for(loaded, dataset, "use --init random" if init == "data" else "")
    if loaded.rates is None and dataset and data and any(each.needs_rates for each in algorithms):
        loaded = with_rates(loaded, data)
    setup = SamplingSetup(loaded, data, seed, init or "data")  # without data they start at random bits
    shown = None if no_data and not recorded else data
    if recorded:
        kept = _kept(n, last, len(algorithms), loaded)
        n_visible, n_hidden = loaded.rbm.W.shape
        plan = setup._replace(held=kept).plan()
        for algorithm in algorithms:
            check_state("play: the run", algorithm, n_visible, n_hidden, "give fewer chains")
        runs = [SamplingRun(1, plan, algorithm) for algorithm in algorithms]
        histories, interrupted = _histories(runs, n)
        histories = [history.last(kept) for history in histories]
    else:
        live.check_playable(algorithms, loaded)
        print_message(f"The page will contain {_contents(shown)}.")
    said = f"{describe_model(loaded)}. {f'Seed {seed}. ' if recorded else ''}{setup.start_text()}"
    shape = shape_of(loaded.rbm.n_visible, loaded.meta.get("image_shape"), data)
    heading, said = Path(name).stem if title is None else title, said if caption is None else caption
    if recorded:
        replay = Replay(heading, said, histories, shown, shape, cells, speed)
        content = replay_html(replay) if target.suffix == ".html" else moving.replay_gif(replay)
    else:
        starts = live.starts_of(setup)
        page = live.Live(heading, said, loaded, algorithms, shown, shape, starts, cells, speed)
        content = live.play_html(page)
    result = _written(target, content, {name: loaded}, shown, seed) | {"model": name}
    result["samplers"] = [{"name": each.name, "knobs": values_of(each)} for each in algorithms]
    result["init"] = "random" if setup.first_state() is None else "data"
    if not recorded:
        return result | {"contains": _contents(shown), "seeds": list(range(seed, seed + STORED_SEEDS))}
    for made, history in zip(result["samplers"], histories, strict=True):
        made["n"] = history.n
    return result | {"kept": kept, "seed": seed} | ({"interrupted": True} if interrupted else {})


def _lesson(name: str, target: Path, options: list[str]) -> dict[str, Any]:
    if options:
        raise BadInput(f"play: the lesson decides what runs: leave {' and '.join(options)} out.")
    with brought_by("app", "A lesson as a page"):
        # By name, because the package is a layer below the app and is also installed without its libraries.
        page = importlib.import_module("rbmviz_app.play.lesson")
    lesson = load_lesson(name)
    content, dataset = page.lesson_html(lesson)
    contained = _contents(dataset, "the lesson, its models and the kernels")
    print_message(f"The page will contain {contained}.")
    result = _written(target, content, {}, dataset, None) | {"model": None, "lesson": lesson.name}
    return result | {"contains": contained, "steps": [step.title for step in lesson.steps]}


def _kept(n: int, last: int | None, n_runs: int, model: Model) -> int:
    """Return the number of samples of each run in the file; BadInput if the file would be too large."""
    kept = min(n, last or n)
    most = min(MAX_KEPT, MAX_REPLAY_BYTES // (n_runs * -(-model.rbm.n_visible // 8)))
    if kept > most:
        raise BadInput(
            f"play: {kept:,} samples of {n_runs} samplers are too much for one page: with --last {most} it "
            "has the last ones."
        )
    return kept


def _histories(runs: list[SamplingRun], n: int) -> tuple[list[RunHistory], bool]:
    """Draw n samples in each run; return their histories, and whether an interrupt came first."""
    interrupted = False
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
    return [RunHistory.of(run) for run in runs], interrupted


def _written(
    target: Path, content: bytes, models: dict[str, Model], dataset: Dataset | None, seed: int | None
) -> dict[str, Any]:
    """Write a page, and return the part of the result shared by all pages."""
    source = origin_of(models, dataset, seed=seed)
    content = with_origin(content, target.name, source)
    write_whole(target, content)
    name = dataset.name if dataset is not None else None
    return {"out": str(target), "bytes": len(content), "dataset": name, "origin": source}


def _contents(dataset: Dataset | None, kernels: str = "the model and the kernels") -> str:
    """Describe the data in a page with this data set."""
    if dataset is None:
        return f"{kernels}, and no data"
    return f"{kernels}, and {scores.contents(dataset)}"


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    return f"{result['out']}: {result['bytes'] / 1e6:.2f} MB, open it in a browser."
