"""Files of the Sample page, and code that repeats it."""

from collections.abc import Iterable, Sequence

from rbmviz.knobs import values_of
from rbmviz.models import describe_model
from rbmviz.samplers import Sampler
from rbmviz.session import Comparison, RunHistory, SamplingSetup, SamplingSnapshot
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.loading_code import load_dataset_lines, load_model_lines
from rbmviz_app.pages.sample.charts import CURVE_COLUMNS, curve_rows
from rbmviz_app.panel import shape_of
from rbmviz_app.replay import FASTEST, Replay
from rbmviz_app.replay.page import replay_html


def curves_csv(named: Iterable[tuple[str, SamplingSnapshot]]) -> bytes:
    """Return the ISL curves as CSV."""
    return csv_bytes(CURVE_COLUMNS, ([row[name] for name in CURVE_COLUMNS] for row in curve_rows(named)))


def replay_file(comparison: Comparison[SamplingSetup], model_name: str, caption: str, side: int) -> bytes:
    """Return a page that plays what the memory of all panels holds, as the bytes of an HTML file.

    caption : of the preset that the screen shows; "": none
    """
    model, dataset, seed = comparison.setup.model, comparison.setup.dataset, comparison.setup.seed
    replay = Replay(
        model_name,
        caption or f"{describe_model(model)}. Seed {seed}.",
        [panel.worker.read(RunHistory.of) for panel in comparison.panels],
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
        side,
        min(comparison.rate, FASTEST),
    )
    return replay_html(replay)


def snippet(model_name: str, samplers: Sequence[Sampler], seed: int, dataset: str | None) -> str:
    """Return Python code that repeats the runs of the page from their first sample, see ``loading_code``."""
    lines = [
        "import rbmviz",
        "from rbmviz.session import SamplingSetup",
        "",
        *load_model_lines(model_name),
    ]
    start = ""
    if dataset is not None:
        lines += [
            *load_dataset_lines(dataset),
            f"starts = SamplingSetup(model, data, seed={seed}).starts",
        ]
        start = ", v0=starts(sampler.n_chains)"
    lines.append("")
    for i, sampler in enumerate(samplers):
        knobs = "".join(f", {name}={value!r}" for name, value in values_of(sampler).items())
        lines.append(f'sampler = rbmviz.make_sampler("{sampler.name}"{knobs})')
        lines.append(f"samples_{i} = rbmviz.sample(model, sampler, n=10_000, seed={seed}{start})")
    return "\n".join(lines)
