"""The Coupling page without a server: coupled chains, and the histogram of their meeting times."""

from typing import Any

from rbmviz.browser.pairs import pairs_spec
from rbmviz.charts import Legend, catalogue
from rbmviz.coupling import ALGORITHMS, meeting_time_edges
from rbmviz.knobs import knobs_of
from rbmviz.lessons import PageState, Step
from rbmviz.support.blas import one_blas_thread
from rbmviz.view.live import Engine
from rbmviz.view.replay import page_data, panel_data
from rbmviz.view.specs import knob_spec, shape_of
from rbmviz_app.pages.coupling.charts import NAMES, bound_chart, estimate_chart, styles
from rbmviz_app.pages.coupling.page import knob_labels
from rbmviz_app.pages.coupling.panel import HIGHLIGHT, pair_columns

START_BLOCKS = 2
"""Blocks of 256 pairs that a page has the random numbers of: 64 KB each."""

PAIR_NUMBERS = {f"{a}_{x}" for a in ALGORITHMS for x in ("counted", "mean", "median", "cut", "within_10")}
"""Numbers of pairs that browsers count."""

RECORDED_PAIRS = 1000
"""Pairs of a recorded chart."""

EXACT_TO = 0.01
"""Distance to which a recorded chart has the exact curve: below, a line cannot be told from 0."""


def recorded_chart(step: Step) -> dict[str, Any]:
    """Return the chart of the fold *More charts* that a step points at: the bound, or else the estimates."""
    [coupling], settings, bound = step.state.algorithms(), step.state.settings, step.look == "chart3"
    run = step.state.setup().run(1, coupling)
    run.prepare()

    lag, k = settings["lag"], settings["estimate_k"]
    with one_blas_thread():  # more would wait for each other on a busy machine
        while (
            (results := run.request_results(lag, k, exact=bound)) is None
            or any(each.n < RECORDED_PAIRS for each in (*results.pairs, *results.lagged))
            or (bound and results.exact_possible and min(results.exact, default=1) > EXACT_TO)
        ):
            run.background_work(False)
    first = results._replace(
        pairs=tuple(each.first(RECORDED_PAIRS) for each in results.pairs),
        lagged=tuple(each.first(RECORDED_PAIRS) for each in results.lagged),
    )
    chart = bound_chart(first) if bound else estimate_chart(first, settings["coupling_statistic"])
    return {"part": "chart", "chart": chart.content(f"The first {RECORDED_PAIRS:,} pairs")}


def pairs_page(state: PageState, engine: Engine) -> dict[str, Any]:
    """Return the data of a page with pairs; BadInput if its knobs have no form for browsers."""
    setup, [coupling], settings = state.setup(), state.algorithms(), state.settings
    rbm = setup.rbm
    starts = [setup.starts(block) for block in range(START_BLOCKS)]
    knob = (
        knob_spec(knobs_of(coupling)["scale"]) | {"front": True} | {"label": knob_labels(settings)["scale"]}
    )
    most = coupling.max_sweeps
    names = styles([NAMES[algorithm] for algorithm in ALGORITHMS])
    edges = meeting_time_edges(most)
    bar = edges[:1] / edges[0]  # one of height 1: the browser has the others
    rows = [row for each in names for row in catalogue.meeting_time_rows(each.name, edges, bar, 0, most)]
    chart = catalogue.meeting_times(rows, names, 1, False, Legend()).content("Meeting times of all pairs")
    assert chart is not None  # of these rows it has the axes and the names; the browser has the bars
    chart |= {"bars": [], "x": chart["x"] | {"domain": [2, 1.8 * (most + 1)]}}
    shape = shape_of(rbm.n_visible, None)
    page = page_data("", "", rbm.n_visible, shape, None) | {
        **{"view": "pairs", "side": 1, "speed": min(settings["coupling_speed"], 100)},
        "isl": chart | {"edges": edges.tolist(), "most": most},
        **{"highlight": HIGHLIGHT, "pair_columns": pair_columns()},
    }
    live = {
        "pairs": pairs_spec(rbm, starts, setup.seed, most, engine.blocks),
        "values": [{"scale": coupling.scale}],
    }
    title = f"{rbm.n_visible} × {rbm.n_hidden} units"
    spec = panel_data(0, names[0]._replace(name=title), coupling, ())
    spec |= {"knobs": [knob], "values": {"scale": coupling.scale}}
    head = {"key": 0, "first": 0, "n_chains": 1, "segments": [], "knobs_at": [], "spec": spec}
    return {"page": page, "heads": [head], "live": live}
