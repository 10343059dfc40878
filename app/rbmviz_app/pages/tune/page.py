"""The Tune page: a sweep over knobs as a live map, and the setting under the pointer as a running chain."""

import itertools
import weakref
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.errors import OutputFailure
from rbmviz.metadata import data_name
from rbmviz.models import data_label
from rbmviz.pages import AUTOMATIC, PAGES
from rbmviz.registry import samplers
from rbmviz.session import Race, SamplingSetup, TrainingSetup
from rbmviz.session.sweep_scores import test_of
from rbmviz.session.sweep_view import SweepView, follow
from rbmviz.session.sweeps import Sweep, check_size
from rbmviz.session.training import MAX_HIDDEN
from rbmviz.sweeps import SweepPlan, measures
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.plan import TABLES, Kind
from rbmviz_app import card, comparisons, controls, links, messages, pages, session
from rbmviz_app.comparisons import forget_sweep, own_sweeps
from rbmviz_app.controls import Download
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, Transport, catch_up_page, draw_chart
from rbmviz_app.pages.sample.panel import sample_grid
from rbmviz_app.pages.train.panel import train_grid
from rbmviz_app.pages.tune.charts import (
    TABLE_COLUMNS,
    X_WORDS,
    chosen_names,
    curves_chart,
    robust_rows,
    slice_chart,
    table_rows,
)
from rbmviz_app.pages.tune.exports import can_draw, curves_parquet, map_file, origin_of, table_csv
from rbmviz_app.pages.tune.panel import sweep_map
from rbmviz_app.pages.tune.presets import PRESETS
from rbmviz_app.pages.tune.recorded import about_recording, recorded_plan, recorded_sweep
from rbmviz_app.pages.tune.settings import (
    Settings,
    choose_axes,
    choose_rest,
    choose_what,
    fitting_axes,
)
from rbmviz_app.session import POINTER_PANEL
from rbmviz_app.shared import (
    data,
    is_known_model,
    model_called,
    own_content,
    sweep_queue,
    title_of_model,
)
from rbmviz_app.stream.socket import live_path
from rbmviz_app.timer import while_running

TITLE, ICON, PLACE = "Tune", "tune", 4
MAX_OPEN = 4
"""Maximum number of open settings, not counting the setting under the pointer."""
CHAIN_SIDE = 8
"""Number of rows and of columns in a chain's square of pictures."""
NEW_SWEEP = ""
PRIVATE = "Only you see it, until you reload or remove its files."

Beside = Race[SamplingSetup | TrainingSetup]
"""The runs beside the map: chains, or trainings."""


def shows_settings() -> bool:
    """Return whether the map shows the plan in the settings, not another sweep from the list."""
    plan, _ = planned()
    sweep = shown_sweep(plan)
    return sweep is None or sweep.plan == plan


PAGE: LivePage[SamplingSetup | TrainingSetup] = LivePage(
    PAGES["tune"],
    Settings,
    question="Which step size and decay work best?",
    about="The map scores the settings of a sampler or a trainer. Each cell is one setting; its colour is "
    "the mean score of several runs with different **seeds**. *Start* computes the map, coarse to fine, "
    "even when this page is closed. Move the slider to see scores after fewer **samples** or updates: large "
    "steps win early, small ones late. Hatched cells are statistically tied with the best. Point at a cell: "
    "the run beside the map takes its knobs and continues; its numbers count from there. Click to open up to "
    "four settings as runs of their own, from the first sample on, compared at equal **sweeps** or updates.",
    presets=PRESETS,
    shows_settings=shows_settings,
    transport=Transport(
        play_help="Pause or continue the runs beside the map. The sweep has its own buttons.",
        step_help="One more sample or update in every run, then pause.",
        reset_help="Restart all runs with the same seed.",
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
    sweep = shown_sweep(plan)
    with st.container(horizontal=True, vertical_alignment="center", key="sweep_row"):
        if sweep is not None:
            begin_row(plan, reason, sweep)
    if sweep is None:
        if reason:
            messages.note(reason)
        if kind == "sampler":
            PAGE.write_address(beside(PAGE.setup_of(Settings.values_now())))
        else:
            links.write(PAGE.name, links.texts_of(Settings.values()))
        return
    view, token = comparisons.open_view(sweep.name, sweep)
    view.model = model_on_screen(sweep.plan) if sweep.plan.models else ""
    comparison = beside(setup_of_sweep(sweep.plan), sweep.plan)
    bring_pointer(comparison, sweep.plan)
    offer_data(comparison, sweep.plan)
    PAGE.preset_caption(comparison)
    # The view may outlive the page's runs: it must not keep their memory alive.
    weak = weakref.ref(comparison)
    key = POINTER_PANEL.value

    def point_at(index: int) -> None:
        chains = weak()
        if chains is not None and key is not None:
            follow(chains, key, sweep, index)

    view.on_setting = point_at
    session.DRAWN_BESIDE.set(drawn_beside(comparison))
    left, right = st.columns([5, 2], gap="medium")
    with left:
        show_map(view, token, comparison, present)
    with right:
        if has_runs(sweep.plan):
            runs(comparison, sweep.plan, present)
    if not present:
        exports(view)
    if not has_runs(sweep.plan):
        write_address(comparison, sweep.plan)


def write_address(comparison: Beside, plan: SweepPlan) -> None:
    """Write the address; the runs' fragment calls this, because a turned knob redraws only that fragment."""
    on = [model_on_screen(plan)] if plan.models else []
    PAGE.write_address(comparison, more={"on": [] if on == list(plan.models[:1]) else on})


def planned() -> tuple[SweepPlan | None, str]:
    """Return the plan set by the controls, or None and the reason why there is no plan."""
    try:
        plan = plan_of(Settings.values_now())
        check_size(plan)
        return plan, ""
    except BadInput as error:
        return None, str(error)


def shown_sweep(plan: SweepPlan | None) -> Sweep | None:
    """Return the sweep to show: the sweep chosen in the list or by the link, or else the planned sweep."""
    if Settings.sweep.value != NEW_SWEEP:
        try:
            return own_sweeps().get(Settings.sweep.value) or sweep_queue().get(Settings.sweep.value)
        except BadInput as error:
            session.add_link_warning(error, "tune")
            session.set_undrawn({"sweep": NEW_SWEEP})
    view, _ = session.SWEEP_VIEWS.value.get(NEW_SWEEP, (None, ""))
    if view is not None and view.sweep.plan == plan:
        return view.sweep
    if plan is not None and plan == recorded_plan():
        return recorded_sweep()
    return None if plan is None else Sweep.planned(plan)


def is_current(sweep: Sweep) -> bool:
    """Return whether the page still shows this sweep, and not an extension of it."""
    return sweep.name == Settings.sweep.value and (not sweep.name or sweep in listed().values())


def listed() -> dict[str, Sweep]:
    """Return the sweeps that this visitor sees, by name: private ones, then the server's, newest first."""
    return {sweep.name: sweep for sweep in (*list(own_sweeps().values())[::-1], *sweep_queue().list())}


def setup_of_sweep(plan: SweepPlan) -> SamplingSetup | TrainingSetup:
    """Return the setup of the runs beside the map of a plan."""
    values = PAGE.spec.defaults()
    if not has_runs(plan):
        return PAGE.setup_of(values)
    if plan.kind == "trainer":
        values |= {"tune_what": "trainers", "tune_train_data": plan.data, "tune_hidden": plan.n_hidden}
    else:
        values |= {"tune_models": [model_on_screen(plan)], "tune_data": plan.data or AUTOMATIC}
        values |= {"tune_start": plan.start, "tune_kernel": plan.kernel}
    return PAGE.setup_of(values)._replace(seed=plan.seeds[0])  # the seed of each cell's first run


def model_on_screen(plan: SweepPlan) -> str:
    """Return the model of the last clicked cell, or else the first model."""
    clicked = Settings.on.value
    return clicked if clicked in plan.models else plan.models[0]


def has_runs(plan: SweepPlan) -> bool:
    """Return whether a plan's settings can run beside its map, which requires its models or data."""
    if plan.kind == "sampler":
        return all(map(is_known_model, plan.models))
    try:
        data(plan.data)
    except BadInput:
        return False
    return plan.n_hidden <= MAX_HIDDEN


def offer_data(comparison: Beside, plan: SweepPlan) -> None:
    """Offer to download a plan's missing data."""
    if plan.kind == "trainer" and not has_runs(plan):
        offer_download(plan.data, "tune")
    elif isinstance(comparison.setup, SamplingSetup) and has_runs(plan) and comparison.setup.dataset is None:
        offer_download(plan.data or data_name(comparison.setup.model.meta), "tune")


def beside(setup: SamplingSetup | TrainingSetup, plan: SweepPlan | None = None) -> Beside:
    """Open the runs beside the map."""
    before, _ = session.COMPARISONS.value.get(PAGE.name, (None, ""))
    if before is not None and type(before.setup) is not type(setup):
        comparisons.begin_anew(PAGE.name)  # chains cannot become trainings, nor trainings chains
    comparison = PAGE.open(setup, lambda new, wanted: fill(new, wanted, plan))
    comparison.cost_unit = "sweeps" if isinstance(setup, SamplingSetup) else "updates"
    return comparison


# Sweep


def title_of(plan: SweepPlan) -> str:
    """Describe a plan: its samplers and models, or its trainers and data."""
    names = " and ".join(TABLES[plan.kind].read(text).label for text in plan.algorithms)
    return f"{names} on {' and '.join(map(title_of_model, plan.models)) or data_label(plan.data)}"


def begin_row(plan: SweepPlan | None, reason: str, sweep: Sweep) -> None:
    """Draw the choice of the sweep, its size, and its commands."""
    owner = links.owner()

    def start() -> None:
        if plan is None:
            messages.refused(reason)
        else:
            add(plan)

    def command(name: str) -> None:
        try:
            getattr(sweep_queue(), name)(sweep.name, owner)
            if name == "delete":
                forget_sweep(sweep.name)
                session.show({"sweep": NEW_SWEEP})
        except (BadInput, OutputFailure) as error:
            messages.refused(error)

    sweeps = listed()
    is_recorded = sweep is recorded_sweep()
    labels = {name: describe(entry) for name, entry in sweeps.items()}
    labels[NEW_SWEEP] = f"Recorded sweep, {about_recording()['made']}" if is_recorded else "New sweep"
    controls.select(
        Settings.sweep,
        [NEW_SWEEP, *sweeps],
        format_func=labels.__getitem__,
        variant=" ".join(labels.values()),  # the labels show the status
        width=340,
        label_visibility="collapsed",
    )
    if sweep.status == "planned" or is_recorded:
        version = about_recording()["version"]
        recorded = f"Recorded by rbmviz {version}: {cost_of(sweep.plan)} " if is_recorded else ""
        st.button(
            "Compute again" if is_recorded else "Start",
            icon=":material/play_circle:",
            type="secondary" if is_recorded else "primary",
            on_click=start,
            key="tune start",
            disabled=card.holds_play(PAGE.name),
            help=f"{recorded}Add it to the server’s queue. One sweep runs at a time, with the processor "
            "time that live pages leave over.",
        )
        if plan is not None and not is_recorded:
            st.caption(cost_of(plan), width="content")
    elif sweep.belongs_to(owner):
        draw_commands(sweep, command)
    else:
        st.caption("Started by another visitor or made elsewhere: view only.", width="content")
    if any(sweep.own) or (not sweep.name and any(own_content(sweep.plan))):
        st.caption(PRIVATE, width="content")
    messages.show_toasts()


def add(plan: SweepPlan) -> None:
    """Queue a sweep and show it; only this session holds a private sweep."""
    own = own_content(plan)
    try:
        sweep = sweep_queue().add(plan, title_of(plan), links.owner(), own, session.VISITOR.ensure())
    except (BadInput, OutputFailure) as error:
        messages.refused(error)
        return
    if any(own):
        own_sweeps()[sweep.name] = sweep
    session.show({"sweep": sweep.name})


def cost_of(plan: SweepPlan) -> str:
    """Return the number of runs and their length."""
    return f"{plan.size:,} runs of {plan.budget.amount:,.10g} {plan.budget.unit}."


def extend(sweep: Sweep, view: SweepView) -> None:
    """Extend the grid beyond each border on which the best settings lie."""
    plan = sweep.plan.beyond([end for choice in view.choices() for end in choice.open_ends])
    if not sweep.belongs_to(links.owner()):  # other people's results and the recording stay unchanged
        add(plan)
        return
    try:
        larger = sweep_queue().extend(sweep.name, plan, links.owner())
    except (BadInput, OutputFailure) as error:
        messages.refused(error)
        return
    if any(larger.own):
        own_sweeps()[larger.name] = larger


def draw_commands(sweep: Sweep, command: Any) -> None:
    """Draw the commands of a sweep that has begun."""
    offered = []
    if sweep.status in ("queued", "running"):
        offered = [("Pause sweep", "pause", "pause_circle"), ("Stop sweep", "stop", "stop_circle")]
    elif sweep.status in ("paused", "stopped", "failed") or sweep.failed_cells:
        offered = [("Resume sweep", "resume", "play_circle"), ("Delete", "delete", "delete")]
    elif sweep.status == "finished":
        offered = [("Delete", "delete", "delete")]
    for label, name, icon in offered:
        st.button(label, icon=f":material/{icon}:", on_click=command, args=(name,), key=f"tune {name}")


def describe(sweep: Sweep) -> str:
    """Return the list entry of a sweep."""
    grid = " × ".join(str(len(axis.values)) for axis in sweep.plan.axes)
    name = sweep.name  # 20261122-140500-...
    when = f", {name[4:6]}-{name[6:8]} {name[9:11]}:{name[11:13]}" if sweep.dated else ""
    # Status first: a closed list cannot show the whole line.
    whose = ", yours" if any(sweep.own) else ""
    return f"{sweep.status.title()}{whose}: {sweep.title}, {grid or 1} × {len(sweep.plan.seeds)} seeds{when}"


# Map, and chains beside it


@st.fragment
def show_map(view: SweepView, token: str, comparison: Beside, present: bool) -> None:
    """Draw the map and, below it, the evidence at its point.

    A click on a cell opens its setting on the right, or closes it. At rest, choosing another point or cell
    redraws this fragment.
    """
    sweep = view.sweep

    def clicked(sent: Any) -> None:
        if "extend" in sent:
            extend(sweep, view)
        elif has_runs(sweep.plan):
            toggle(comparison, sweep, sent["setting"])

    sweep_map(
        view,
        live_path() + token,
        title=sweep.title or title_of(sweep.plan),
        open_settings=open_settings(comparison, sweep),
        present=present,
        key="tune map",
        on_edit=clicked,
    )
    if drawn_beside(comparison) != session.DRAWN_BESIDE.value or not is_current(sweep):
        st.rerun()  # the runs have their own fragment
    messages.show_toasts()
    if not present:
        with st.container(key="tune_evidence"):
            while_running(lambda: evidence(view, comparison), sweep.active)


def open_panels(comparison: Beside) -> list[Any]:
    """Return the panels of open settings, without the panel that follows the pointer."""
    return [panel for panel in comparison.panels if panel.key != POINTER_PANEL.value]


def open_settings(comparison: Beside, sweep: Sweep) -> list[int | None]:
    """Return the open settings' indices, with None where a turned knob means that no cell matches."""
    plan = sweep.plan
    model = model_on_screen(plan) if plan.models else ""
    indices = {
        TABLES[plan.kind].read(setting.algorithm): i
        for i, setting in enumerate(sweep.scores.settings)
        if setting.model == model
    }
    return [indices.get(panel.algorithm) for panel in open_panels(comparison)]


def marks_of(comparison: Beside) -> list[str]:
    """Return the names of the runs beside the map, which match the marks of their cells."""
    numbers = itertools.count(1)
    return [
        "Pointer" if panel.key == POINTER_PANEL.value else str(next(numbers)) for panel in comparison.panels
    ]


def drawn_beside(comparison: Beside) -> tuple[int, ...]:
    """Return the keys and runs of the panels beside the map; the page redraws the panels if these change."""
    return tuple(n for key, snapshot in comparison.peek() for n in (key, snapshot.run))


def toggle(comparison: Beside, sweep: Sweep, index: int) -> None:
    """Open a setting beside the map, or close it."""
    setting = sweep.scores.settings[index]
    algorithm = TABLES[sweep.plan.kind].read(setting.algorithm)
    open_ones = open_panels(comparison)
    same = [panel.key for panel in open_ones if panel.algorithm == algorithm]
    if not same and len(open_ones) >= MAX_OPEN:
        messages.refused(f"{MAX_OPEN} settings are open beside the map: close one of them first.")
        return
    before = Settings.on.value
    session.set_undrawn({"on": setting.model})
    try:
        setup = setup_of_sweep(sweep.plan)
        other_model = setup != comparison.setup
        if other_model:  # all panels switch to this model, so one of them may already have the setting
            comparison.change(setup)
        if not same:
            comparison.add(algorithm)
        elif not other_model:
            comparison.remove(same[0])
    except BadInput as error:
        session.set_undrawn({"on": before})
        messages.refused(error)


def fill(comparison: Beside, wanted: list[Any], plan: SweepPlan | None) -> None:
    """Add the runs of a link or preset, or else a run with the middle setting of the plan."""
    if plan is not None:  # when trainings replace chains, the address still has the chains' preset
        wanted = [algorithm for algorithm in wanted if algorithm.name in TABLES[plan.kind]]
    asked = [text.partition(":")[0] for text in links.link_values(PAGE.name, PAGE.spec.panels_key)]
    if plan is None or not has_runs(plan):
        comparison.add(samplers["rates_fpcd"]())
    elif wanted or (asked and set(asked) <= set(TABLES[plan.kind])):
        PAGE.fill(comparison, wanted)
    else:
        comparison.add(middle_of(plan))


def middle_of(plan: SweepPlan) -> Any:
    """Return the middle setting in the first algorithm's grid."""
    own = [setting for setting in plan.settings() if setting.number == 0]
    own.sort(key=lambda setting: setting.at)
    return TABLES[plan.kind].read(own[len(own) // 2].algorithm)


def bring_pointer(comparison: Beside, plan: SweepPlan) -> None:
    """Make sure that one run, of an algorithm in the plan, follows the pointer."""
    keys = [panel.key for panel in comparison.panels]
    if POINTER_PANEL.value not in keys:
        POINTER_PANEL.set(keys[0] if keys else None)
    names = [text.partition(":")[0] for text in plan.algorithms]
    if not has_runs(plan):
        return
    try:
        if not keys or comparison[POINTER_PANEL.value or keys[0]].algorithm.name not in names:
            comparison.replace(comparison.setup, [middle_of(plan)])
            POINTER_PANEL.set(comparison.panels[0].key)
            comparison.drop_undo()
    except BadInput as error:
        messages.note(error)


@st.fragment
def runs(comparison: Beside, plan: SweepPlan, present: bool) -> None:
    """Draw the run under the pointer, and the open settings."""
    if POINTER_PANEL.value not in (None, *(panel.key for panel in comparison.panels)):
        st.rerun()  # the pointer's run was closed: bring_pointer makes another run follow the pointer
    on_axis = [axis.knob for axis in plan.axes]
    key = f"tune {plan.kind}s"  # chains and trainings have panels of different kinds
    common: dict[str, Any] = {
        "pixels": "binary",
        "side": CHAIN_SIDE,
        "front": lambda knob: knob.name in on_axis,
        "knobs_follow": True,
        "marks": marks_of(comparison),
        **PAGE.mounted(comparison, key),
    }
    if plan.kind == "trainer":
        train_grid(comparison, view="both", **common)  # type: ignore[arg-type]
    else:
        sample_grid(comparison, view="sequence", **common)  # type: ignore[arg-type]
    if not present:
        if about := about_runs(comparison, plan):
            st.caption(about)
        opened = open_panels(comparison) or list(comparison.panels[:1])
        name = OTHER_PAGE[plan.kind].title()
        with st.container(horizontal=True):
            if st.button(
                f"Open in {name}",
                icon=f":material/{'school' if plan.kind == 'trainer' else 'grid_view'}:",
                key=f"tune to {name}",
                help=f"Open these settings (or the one under the pointer) on the {name} page, with the same "
                "data and seed.",
            ):
                send(plan, comparison, [panel.algorithm for panel in opened])
    catch_up_page(comparison)
    write_address(comparison, plan)


def about_runs(comparison: Beside, plan: SweepPlan) -> str:
    """Note the cells and knobs that the pointer's run ignores, and the model of all runs; may be ""."""
    sentences = []
    if len(plan.algorithms) > 1 and POINTER_PANEL.value is not None:
        label = comparison[POINTER_PANEL.value].algorithm.label
        sentences.append(
            f"*Pointer* follows cells of {label} only; a click opens a cell of another {plan.kind}."
        )
    fixed = [knob.label for axis in plan.axes if not (knob := plan.knob(axis.knob)).live]
    if fixed:
        sentences.append(
            f"*Pointer* keeps its own {' and '.join(fixed)}, which cannot change during a run; a click opens "
            "a cell as it is."
        )
    if len(plan.models) > 1:
        model = title_of_model(model_on_screen(plan))
        sentences.append(f"All run on {model} until a cell of another model is clicked.")
    return " ".join(sentences)


# Evidence


def evidence(view: SweepView, comparison: Beside) -> None:
    """Draw curves, slices and the table at the point of the map."""
    sweep, scores = view.sweep, view.sweep.scores
    choice = view.choice()
    # The sweep has ended since the whole page was drawn, so its buttons and list are out of date.
    if not sweep.active and sweep.version != session.VERSION_AT_REST.value.get(sweep.name):
        session.VERSION_AT_REST.ensure()[sweep.name] = sweep.version
        st.rerun()
    if choice is None:
        if sweep.status == "planned":
            st.caption(
                "Curves, slices through the best cell and the table of all settings come with the scores."
            )
        return
    best = scores.index_of(choice.best)
    snapshot = view.now()
    named = chosen_names(
        scores,
        [
            ("best", best),
            ("pointer", view.setting),
            *((str(i), index) for i, index in enumerate(open_settings(comparison, sweep), start=1)),
        ],
    )
    on = f" on {choice.best.model}" if len(sweep.plan.models) > 1 else ""
    st.markdown("**Curves of the best and the chosen settings** (mean ± one standard deviation over seeds)")
    draw_chart(
        curves_chart(scores, named, view.cost_unit, view.by, snapshot.point),
        "tune curves",
        f"{measures[view.by].label} against {X_WORDS[view.cost_unit]} of the best setting and those that are "
        "chosen",
    )
    slices = {axis: chart for axis in (0, 1) if (chart := slice_chart(scores, choice, axis)) is not None}
    for (axis, chart), column in zip(slices.items(), st.columns(max(len(slices), 1)), strict=False):
        label = sweep.plan.knob(sweep.plan.axes[axis].knob).label
        with column:
            st.markdown(f"**Through the best cell{on}, along {label.lower()}**")
            draw_chart(
                chart,
                f"tune slice {axis}",
                f"Difference to the best against {label}, with 95 % intervals over seeds",
            )
    titles = TABLE_COLUMNS | ({"n": "Updates"} if sweep.plan.kind == "trainer" else {})
    with st.expander(f"All {len(choice.settings)} settings{on} at this point", icon=":material/table_rows:"):
        st.dataframe(
            table_rows(scores, choice),
            hide_index=True,
            column_config={
                **{name: st.column_config.Column(title) for name, title in titles.items()},
                **{
                    name: st.column_config.Column(sweep.plan.knob(name).label)
                    for name in (*(axis.knob for axis in sweep.plan.axes), *scores.others)
                },
            },
            key="tune table",
        )
        st.caption(
            "Differences are paired over the seeds, with Student's t. *Error over test points* covers the "
            "choice of test images, not the comparison of settings. Click a column title to sort."
        )
    robust_table(view, snapshot.point)


def robust_table(view: SweepView, point: float) -> None:
    """Draw how much each setting depends on the model's training, for models of one data set."""
    plan = view.sweep.plan
    names = filter(is_known_model, plan.models)
    if len(plan.models) < 2 or len({data_name(model_called(name).meta) for name in names}) > 1:
        return
    by = test_of(view.by, plan.metrics) or view.by
    rows = robust_rows(view.sweep.scores, point, view.cost_unit, by)
    if rows:
        with st.expander("Mean and spread over the models", icon=":material/table_rows:"):
            st.dataframe(rows, hide_index=True, key="tune robustness")
            st.caption(
                f"{measures[by].label}. A small spread means that the model’s training matters little "
                "(rates-FPCD paper, end of section 5.1)."
            )


def exports(view: SweepView) -> None:
    """Offer downloads, which are built on click."""
    if view.sweep.status == "planned":
        return
    drawn = [
        Download("Map (PNG)", lambda: map_file(view, "png"), "map.png", "The map as a picture."),
        Download("Map (SVG)", lambda: map_file(view, "svg"), "map.svg", "The map as a drawing."),
    ]
    controls.downloads(
        "tune",
        [
            Download(
                "Table",
                lambda: table_csv(view),
                "sweep.csv",
                "All settings at the point of the map, with their comparison to the best (.csv).",
            ),
            Download(
                "Curves",
                lambda: curves_parquet(view.sweep),
                "sweep.parquet",
                "All points of the curves of all runs (.parquet).",
            ),
            *(drawn if can_draw() else []),
        ],
        lambda: origin_of(view.sweep),
    )


OTHER_PAGE: dict[Kind, str] = {"sampler": "sample", "trainer": "train"}
"""The page with full-size runs of each kind of setting."""


def send(plan: SweepPlan, comparison: Beside, algorithms: list[Any]) -> None:
    """Open settings as panels of the Sample or Train page, replacing its panels."""
    page, seed = OTHER_PAGE[plan.kind], plan.seeds[0]
    settings: dict[str, Any]
    if plan.kind == "trainer":
        settings = {"train_data": plan.data, "hidden": plan.n_hidden, "train_seed": seed, "replicates": 1}
    else:
        settings = {"model": model_on_screen(plan), "data": plan.data or AUTOMATIC, "seed": seed}
        settings |= {"start": plan.start, "kernel": plan.kernel}
    try:
        pages.live_page(page).show(comparison.setup, algorithms, settings)
    except BadInput as error:
        messages.note(error)
        return
    st.switch_page(pages.file_of(page))


if __name__ == "__main__":
    main()
