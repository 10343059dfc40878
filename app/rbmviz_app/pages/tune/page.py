"""The Tune page: a sweep over knobs as a map, and the setting under the pointer as a running chain."""

import itertools
from collections.abc import Mapping
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.datasets import missing_data
from rbmviz.files.metadata import data_name
from rbmviz.files.origin import csv_bytes, digests_in, origin
from rbmviz.knobs import knobs_of, values_of
from rbmviz.pages import AUTOMATIC, PAGES
from rbmviz.registry import samplers
from rbmviz.session import SamplingSetup
from rbmviz.sweeps import Choice, Store, SweepPlan, measures
from rbmviz.sweeps.scores import SweepScores, test_of
from rbmviz_app import controls, links, messages, pages, session
from rbmviz_app.component import while_running
from rbmviz_app.controls import Download
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, catch_up_page, draw_chart
from rbmviz_app.pages.sample.panel import sample_grid
from rbmviz_app.pages.tune.charts import (
    SLICE_HEIGHT,
    TABLE_COLUMNS,
    X_WORDS,
    chosen_names,
    curves_chart,
    robust_rows,
    slice_chart,
    table_rows,
)
from rbmviz_app.pages.tune.commands import Shown, begin_row, planned, shown_sweep, title_of
from rbmviz_app.pages.tune.panel import MapView, asked_view, sweep_map
from rbmviz_app.pages.tune.presets import PRESETS
from rbmviz_app.pages.tune.settings import Settings, choose_axes, choose_rest, choose_what, fitting_axes
from rbmviz_app.race import PageRace
from rbmviz_app.session import SHOWN_SCORES, Entry
from rbmviz_app.shared import is_known_model, model_called, title_of_model
from rbmviz_app.transport import Transport

POINTER_PANEL: Entry[int | None] = Entry("pointer panel", lambda: None)
"""Key of the panel whose chain follows the pointer over the map; None: not chosen yet."""

FOLLOWED: Entry[int | None] = Entry("followed", lambda: None)
"""The setting whose knobs the pointer's chain has taken last."""

DRAWN_BESIDE: Entry[tuple[int, ...]] = Entry("drawn beside", tuple)
"""Keys and runs of the panels beside the map when the whole page was last drawn."""


TITLE, ICON, PLACE = "Tune", "tune", 4
MAX_OPEN = 4
"""Maximum number of open settings, not counting the setting under the pointer."""
CHAIN_SIDE = 8
MAP = "tune map"


def shows_settings() -> bool:
    """Return whether the map shows the plan in the settings, not another sweep from the list."""
    plan, _ = planned()
    shown = shown_sweep(plan)
    return shown is None or shown.plan == plan


PAGE: LivePage[SamplingSetup] = LivePage(
    PAGES["tune"],
    Settings,
    question="Which step size and decay work best?",
    about="The map scores the settings of a sampler or a trainer. Each cell is one setting; its colour is "
    "the mean score of several runs with different **seeds**. *Start* computes the map, coarse to fine, "
    "even when this page is closed. Move the slider to see scores after fewer **samples** or updates: large "
    "steps win early, small ones late. Hatched cells are tied with the best; a question mark: it cannot be "
    "told yet. Point at a cell of a sampler: the chain beside the map takes its knobs and continues; its "
    "numbers count from there. Click to open up to four settings as chains of their own, compared at equal "
    "**sweeps**. Longer axes reuse what has been computed.",
    presets=PRESETS,
    shows_settings=shows_settings,
    transport=Transport(
        play_help="Pause or continue the chains beside the map. The sweep has its own buttons.",
        step_help="One more sample in every chain, then pause.",
        reset_help="Restart all chains with the same seed.",
        width=180,
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    session.set_undrawn(fitting_axes())  # a link may name knobs that do not fit
    with PAGE.toolbar():
        kind = choose_what()
        with controls.settings("tune"):
            choose_axes(kind)
            choose_rest(kind)
        PAGE.menu()
    plan, reason = planned()
    shown = shown_sweep(plan)
    lacks = None  # name of published data that the sweep needs and this machine has not
    if shown is not None and shown.job is None:
        models = shown.plan.models if not shown.plan.data else ()
        names = [shown.plan.data, *(data_name(model_called(name).meta) for name in models)]
        lacks = next((name for name in names if name and missing_data(name) is not None), None)
    with st.container(horizontal=True, vertical_alignment="center", key="sweep_row"):
        if shown is not None:
            begin_row(plan, reason, shown, lacks)
    if lacks is not None:
        messages.note(
            f"The data of {lacks} are not on this server: a sweep needs them, and chains score by them."
        )
        offer_download(lacks, "tune")
    SHOWN_SCORES.set(None)
    if shown is None:
        messages.note(reason)
        links.write(PAGE.name, links.texts_of(Settings.values()))
        return
    race = open_chains(shown.plan)
    PAGE.draw_caption(race)
    # The chains come right after the map, where a phone has one column; all that is about both, below.
    left, right = st.columns([5, 2], gap="medium") if has_chains(shown.plan) else (st.container(), None)
    # Redrawn each second while the sweep runs.
    with left:
        while_running(lambda: show_map(shown, race, present), shown.active)
    if right is not None:
        with right:
            draw_chains(race, shown.plan, present)
    else:
        write_address(race, shown.plan)
    if not present:
        with st.container(key="tune_evidence"):
            while_running(lambda: evidence(shown, race), shown.active)


def write_address(race: PageRace[Any], plan: SweepPlan) -> None:
    """Write the address; the chains' fragment does it, because a turned knob redraws only that fragment."""
    on = [model_on_screen(plan)] if plan.models else []
    PAGE.write_address(race, more={"on": [] if on == list(plan.models[:1]) else on})


def model_on_screen(plan: SweepPlan) -> str:
    """Return the model of the last clicked cell, or else the first model."""
    clicked = Settings.on.value
    return clicked if clicked in plan.models else plan.models[0]


def has_chains(plan: SweepPlan) -> bool:
    """Return whether a plan's settings can run beside its map, which requires its models."""
    return plan.kind == "sampler" and all(map(is_known_model, plan.models))


def setup_of(plan: SweepPlan) -> SamplingSetup:
    """Return the setup of the chains beside the map of a plan."""
    values = PAGE.spec.defaults()
    if has_chains(plan):
        values |= {"tune_models": [model_on_screen(plan)], "tune_data": plan.data or AUTOMATIC}
        values |= {"tune_start": plan.start, "tune_kernel": plan.kernel}
    return PAGE.setup_of(values)._replace(seed=plan.seeds[0])  # the seed of each cell's first run


# Map, and chains beside it


def show_map(shown: Shown, race: PageRace[Any], present: bool) -> None:
    """Draw the map; a click on a cell opens its setting beside it, or closes it."""
    before, status = (shown.job.active if shown.job else False), shown.status
    scores = shown.scores()
    SHOWN_SCORES.set(scores)
    view = asked_view(scores, MAP)
    choices = scores.choices(view.point, view.effort, view.by)
    if view.setting is not None and view.setting != FOLLOWED.value and has_chains(shown.plan):
        FOLLOWED.set(view.setting)
        follow(race, scores.settings[view.setting].algorithm)
    over, left = status == "finished", shown.job.seconds_left(scores.n_done) if shown.job else None
    seconds = max(left or 0, 1)
    in_words = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    running = "running" if left is None else f"running, about {in_words} left"
    words = {"planned": "press Start", "queued": "waits for the sweeps before it", "finished": "complete"}
    said = words.get(status, running if status == "running" else status)
    error = f" {shown.job.error}" if shown.job and shown.job.error else ""
    sweep_map(
        scores,
        view,
        choices,
        title=shown.job.title if shown.job else title_of(shown.plan),
        status=f"{scores.n_done:,} of {shown.plan.size:,} runs, {said}.{error}",
        progress=scores.n_done / shown.plan.size,
        over=over and not (shown.job and shown.job.error),
        telling=scores.telling_point(view.effort, view.by) if over else None,
        open_settings=open_settings(race, scores),
        key=MAP,
        on_open=lambda i: toggle(race, shown.plan, scores, i),
    )
    if drawn_beside(race) != DRAWN_BESIDE.value or before != shown.active:
        DRAWN_BESIDE.set(drawn_beside(race))
        st.rerun()  # the chains have their own fragment; an ended sweep has other buttons
    messages.show_toasts()


def follow(race: PageRace[Any], setting: str) -> None:
    """Set the live knobs of the pointer's chain to the values of a setting, if both have the same sampler."""
    algorithm = samplers.read(setting)
    for panel in race.panels:
        if panel.key == POINTER_PANEL.value and panel.algorithm.name == algorithm.name:
            now = values_of(panel.algorithm)
            wanted = {
                name: getattr(algorithm, name) for name, knob in knobs_of(algorithm).items() if knob.live
            }
            changed = {name: value for name, value in wanted.items() if now[name] != value}
            if changed:
                race.set_live_knobs(panel.key, **changed)


def open_chains(plan: SweepPlan) -> PageRace[Any]:
    """Open the chains beside the map; none beside a map of trainers."""

    def fill(new: PageRace[Any], wanted: list[Any]) -> None:
        if wanted or links.link_values(PAGE.name, PAGE.spec.panels_key):
            PAGE.fill(new, wanted)
        else:
            new.add(middle_of(plan))

    race = PAGE.open(setup_of(plan), fill if has_chains(plan) else lambda new, wanted: None)
    race.cost_unit = "sweeps"
    if not has_chains(plan):
        if race.panels:  # a preset of trainers has closed them, and can be undone
            for panel in list(race.panels):
                race.remove(panel.key)
            race.drop_undo()
        return race
    keys = [panel.key for panel in race.panels]
    if POINTER_PANEL.value not in keys:
        POINTER_PANEL.set(keys[0] if keys else None)
    names = [text.partition(":")[0] for text in plan.algorithms]
    try:
        if not keys or race[POINTER_PANEL.value or keys[0]].algorithm.name not in names:
            race.replace(race.setup, [middle_of(plan)])
            POINTER_PANEL.set(race.panels[0].key)
            race.drop_undo()
            race.resume()
    except BadInput as error:
        messages.note(error)
    DRAWN_BESIDE.set(drawn_beside(race))
    return race


def middle_of(plan: SweepPlan) -> Any:
    """Return the middle setting in the first algorithm's grid."""
    own = [setting for setting in plan.settings() if setting.number == 0]
    own.sort(key=lambda setting: setting.at)
    return samplers.read(own[len(own) // 2].algorithm)


def open_panels(race: PageRace[Any]) -> list[Any]:
    """Return the panels of open settings, without the panel that follows the pointer."""
    return [panel for panel in race.panels if panel.key != POINTER_PANEL.value]


def open_settings(race: PageRace[Any], scores: SweepScores) -> list[int | None]:
    """Return the open settings' indices, with None where a turned knob means that no cell matches."""
    plan = scores.plan
    if not has_chains(plan):
        return []
    on = model_on_screen(plan)
    indices = {samplers.read(each.algorithm): i for i, each in enumerate(scores.settings) if each.model == on}
    return [indices.get(panel.algorithm) for panel in open_panels(race)]


def drawn_beside(race: PageRace[Any]) -> tuple[int, ...]:
    """Return the keys and runs of the panels beside the map; the page redraws the panels if these change."""
    return tuple(n for key, snapshot in race.peek() for n in (key, snapshot.run))


def toggle(race: PageRace[Any], plan: SweepPlan, scores: SweepScores, index: int) -> None:
    """Open a setting beside the map, or close it."""
    if not has_chains(plan):
        return
    setting = scores.settings[index]
    algorithm = samplers.read(setting.algorithm)
    open_ones = open_panels(race)
    same = [panel.key for panel in open_ones if panel.algorithm == algorithm]
    if not same and len(open_ones) >= MAX_OPEN:
        messages.refused(f"{MAX_OPEN} settings are open beside the map: close one of them first.")
        return
    before = Settings.on.value
    session.set_undrawn({"on": setting.model})
    try:
        setup = setup_of(plan)
        other_model = setup != race.setup
        if other_model:  # all panels switch to this model, so one of them may already have the setting
            race.change(setup)
        if not same:
            race.add(algorithm)
        elif not other_model:
            race.remove(same[0])
    except BadInput as error:
        session.set_undrawn({"on": before})
        messages.refused(error)


@st.fragment
def draw_chains(race: PageRace[Any], plan: SweepPlan, present: bool) -> None:
    """Draw the chain under the pointer, and the open settings."""
    if POINTER_PANEL.value not in (None, *(panel.key for panel in race.panels)):
        st.rerun()  # the pointer's chain was closed: open_chains makes another one follow the pointer
    on_axis, numbers = [axis.knob for axis in plan.axes], itertools.count(1)
    sample_grid(
        race,
        view="sequence",
        pixels="binary",
        side=CHAIN_SIDE,
        front=lambda knob: knob.name in on_axis,
        knobs_follow=True,
        marks=[
            "Pointer" if panel.key == POINTER_PANEL.value else str(next(numbers)) for panel in race.panels
        ],
        **PAGE.mounted(race, "tune samplers"),
    )
    if not present:
        if about := about_chains(race, plan):
            st.caption(about)
        opened = open_panels(race) or list(race.panels[:1])
        if st.button(
            "Open in Sample",
            icon=":material/grid_view:",
            key="tune to Sample",
            help="Open these settings (or the one under the pointer) on the Sample page, with the same data "
            "and seed.",
        ):
            send(plan, race, [panel.algorithm for panel in opened])
    catch_up_page(race)
    write_address(race, plan)


def about_chains(race: PageRace[Any], plan: SweepPlan) -> str:
    """Note the cells and knobs that the pointer's chain ignores, and the model of all chains; may be ""."""
    sentences = []
    if len(plan.algorithms) > 1 and POINTER_PANEL.value is not None:
        label = race[POINTER_PANEL.value].algorithm.label
        sentences.append(f"*Pointer* follows cells of {label} only; a click opens a cell of another sampler.")
    fixed = [knob.label for axis in plan.axes if not (knob := plan.knob(axis.knob)).live]
    if fixed:
        sentences.append(
            f"*Pointer* keeps its own {' and '.join(fixed)}, which cannot change during a run; a click opens "
            "a cell with all of its values."
        )
    if len(plan.models) > 1:
        model = title_of_model(model_on_screen(plan))
        sentences.append(f"All run on {model} until a cell of another model is clicked.")
    return " ".join(sentences)


def send(plan: SweepPlan, race: PageRace[Any], algorithms: list[Any]) -> None:
    """Open settings as panels of the Sample page, replacing its panels."""
    settings = {"model": model_on_screen(plan), "data": plan.data or AUTOMATIC, "seed": plan.seeds[0]}
    settings |= {"start": plan.start, "kernel": plan.kernel, "clamp": ""}
    pages.live_page("sample").open_with(race.setup, algorithms, settings)


# Evidence


def evidence(shown: Shown, race: PageRace[Any]) -> None:
    """Draw curves, slices, the table and the downloads at the point of the map."""
    scores = shown.scores()
    view = asked_view(scores, MAP)
    choices = scores.choices(view.point, view.effort, view.by)
    on = model_on_screen(shown.plan) if shown.plan.models else ""
    model = scores.settings[view.setting].model if view.setting is not None else on
    choice = choices.get(model) or next(iter(choices.values()), None)
    if choice is None:
        if shown.status == "planned":
            st.caption(
                "Curves, slices through the best cell and the table of all settings come with the scores."
            )
        return
    draw_evidence(scores, view, choice, race)
    robust_table(scores, view)
    if shown.store is not None and not shown.active:
        store = shown.store
        controls.downloads("tune", files_of(store, scores, choices), lambda: origin_of(store, scores))


def files_of(store: Store, scores: SweepScores, choices: Mapping[str, Choice]) -> list[Download]:
    """Return the downloads of a sweep, built on click."""

    def table() -> bytes:
        return csv_bytes([row for choice in choices.values() for row in table_rows(scores, choice)])

    return [
        Download("Table", table, "sweep.csv", "All settings at the point of the map (.csv)."),
        Download("Sweep", store.file.read_bytes, "sweep.sqlite", "All points of all runs (.sqlite)."),
    ]


def origin_of(store: Store, scores: SweepScores) -> dict[str, Any]:
    """Return the origin of a sweep's files, with the digests of its models and data."""
    code = (
        "from rbmviz.sweeps import Axis, Budget, Store, SweepPlan, cells, run; "
        f"plan = {scores.plan!r}; store = Store('sweep'); store.prepare(plan); run(cells(plan), store)"
    )
    source = origin(store.about()["command"] or code, seeds=scores.plan.seeds) | {"code": code}
    return source | digests_in(scores.columns)


def draw_evidence(scores: SweepScores, view: MapView, choice: Choice, race: PageRace[Any]) -> None:
    """Draw the charts and the table of one model's settings."""
    plan = scores.plan
    opened = ((str(i), index) for i, index in enumerate(open_settings(race, scores), start=1))
    best = scores.index_of(choice.best)
    named = chosen_names(scores, [("best", best), ("pointer", view.setting), *opened])
    on = f" on {choice.best.model}" if len(plan.models) > 1 else ""
    if not plan.race:  # whose runs have one point
        st.markdown("**Curves of the best and the chosen settings** (mean ± spread over seeds)")
        said = f"{measures[view.by].label} against {X_WORDS[view.effort]} of the best and the chosen settings"
        draw_chart(curves_chart(scores, named, view.effort, view.by, view.point).content(said), "tune curves")
    slices = {axis: chart for axis in (0, 1) if (chart := slice_chart(scores, choice, axis)) is not None}
    for (axis, chart), column in zip(slices.items(), st.columns(max(len(slices), 1)), strict=False):
        label = plan.knob(plan.axes[axis].knob).label
        with column:
            st.markdown(f"**Through the best cell{on}, along {label.lower()}**")
            said = f"Difference to the best against {label}, with 95 % intervals over seeds"
            draw_chart(chart.content(said), f"tune slice {axis}", height=SLICE_HEIGHT)
    titles = TABLE_COLUMNS | ({"n": "Updates"} if plan.kind == "trainer" else {})
    knobs = [*(axis.knob for axis in plan.axes), *plan.differing_knobs()]
    titles = {**titles, **{name: plan.knob(name).label for name in knobs}}
    with st.expander(f"All {len(choice.settings)} settings{on} at this point", icon=":material/table_rows:"):
        st.dataframe(
            table_rows(scores, choice),
            hide_index=True,
            column_config={name: st.column_config.Column(title) for name, title in titles.items()},
            key="tune table",
        )
        st.caption(
            "Differences are paired over the seeds, with Student's t. *Error over test points* covers the "
            "choice of test images, not the comparison of settings. Click a column title to sort."
        )


def robust_table(scores: SweepScores, view: MapView) -> None:
    """Draw how much each setting depends on the model's training, for models of one data set."""
    plan = scores.plan
    names = filter(is_known_model, plan.models)
    if len(plan.models) < 2 or len({data_name(model_called(name).meta) for name in names}) > 1:
        return
    by = test_of(view.by, plan.metrics) or view.by
    rows = robust_rows(scores, view.point, view.effort, by)
    if rows:
        with st.expander("Mean and spread over the models", icon=":material/table_rows:"):
            st.dataframe(rows, hide_index=True, key="tune robustness")
            st.caption(
                f"{measures[by].label}. A small spread means that the model’s training matters little "
                "(rates-FPCD paper, end of section 5.1)."
            )


if __name__ == "__main__":
    main()
