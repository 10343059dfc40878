"""Files of the Sample page, and code that repeats it."""

from collections.abc import Iterable, Sequence

from rbmviz.knobs import values_of
from rbmviz.samplers import Sampler
from rbmviz.session import SamplingSnapshot
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.pages.sample.charts import CURVE_COLUMNS, curve_rows


def curves_csv(named: Iterable[tuple[str, SamplingSnapshot]]) -> bytes:
    """Return the ISL curves as CSV."""
    return csv_bytes(CURVE_COLUMNS, ([row[name] for name in CURVE_COLUMNS] for row in curve_rows(named)))


def snippet(model_name: str, samplers: Sequence[Sampler], seed: int, dataset: str | None) -> str:
    """Return Python code that repeats the runs of the page from their first sample."""
    lines = [
        "import rbmviz",
        "from rbmviz.session import SamplingSetup",
        "",
        f'model = rbmviz.load_model("{model_name}")',
    ]
    start = ""
    if dataset is not None:
        lines += [
            f'data = rbmviz.load_dataset("{dataset}")',
            f"starts = SamplingSetup(model, data, seed={seed}).starts",
        ]
        start = ", v0=starts(sampler.n_chains)"
    lines.append("")
    for i, sampler in enumerate(samplers):
        knobs = "".join(f", {name}={value!r}" for name, value in values_of(sampler).items())
        lines.append(f'sampler = rbmviz.make_sampler("{sampler.name}"{knobs})')
        lines.append(f"samples_{i} = rbmviz.sample(model, sampler, n=10_000, seed={seed}{start})")
    return "\n".join(lines)
