"""The sweep on the screen: what the settings plan, the list of sweeps, and their commands."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.errors import OutputFailure
from rbmviz.models import data_label
from rbmviz.sweeps import Store, SweepPlan
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.plan import TABLES
from rbmviz.sweeps.scores import SweepScores
from rbmviz_app import card, controls, links, messages, session
from rbmviz_app.jobs import Job, check_size
from rbmviz_app.pages.tune.settings import Settings
from rbmviz_app.races import own_sweeps
from rbmviz_app.shared import own_content, sweep_jobs, title_of_model

NEW_SWEEP = ""
PRIVATE = "Only you see it, until you reload or remove its files."
RECORDINGS = Path(__file__).parent / "recordings"


class Shown(NamedTuple):
    """The sweep on the screen: one of the server's, a recording, or neither: a plan that may be started."""

    plan: SweepPlan
    job: Job | None = None
    recording: Store | None = None

    @property
    def status(self) -> str:
        """Status of the job; "finished" of a recording."""
        return self.job.status if self.job else "finished" if self.recording else "planned"

    @property
    def active(self) -> bool:
        """Whether the sweep is queued or running."""
        return self.job is not None and self.job.active

    @property
    def store(self) -> Store | None:
        """The file of its results; None before it is started."""
        return Store(self.job.folder) if self.job else self.recording

    def scores(self) -> SweepScores:
        """Read the results that are there; equal states give the same object."""
        if self.store is None:
            return SweepScores(self.plan, {})
        return _scores(str(self.store.folder), self.job.done if self.job else self.plan.size, self.plan)


@st.cache_resource(show_spinner=False, max_entries=16)
def _scores(folder: str, done: int, _plan: SweepPlan) -> SweepScores:
    return SweepScores(_plan, Store(folder).read())


@functools.cache
def recorded() -> list[tuple[SweepPlan, Store]]:
    """Return the recorded sweeps with their plans."""
    stores = [Store(folder) for folder in sorted(RECORDINGS.iterdir()) if folder.is_dir()]
    return [(store.plan(), store) for store in stores]


def recording_of(plan: SweepPlan | None) -> Store | None:
    """Return the recording of a plan; None if there is none."""
    return next((store for known, store in recorded() if known == plan), None)


def planned() -> tuple[SweepPlan | None, str]:
    """Return the plan set by the controls, or None and the reason why there is no plan."""
    try:
        plan = plan_of(Settings.values_now())
        check_size(plan)
        return plan, ""
    except BadInput as error:
        return None, str(error)


def shown_sweep(plan: SweepPlan | None) -> Shown | None:
    """Return the sweep to show: the one chosen in the list or by the link, or else the planned one."""
    if Settings.sweep.value != NEW_SWEEP:
        try:
            job = own_sweeps().get(Settings.sweep.value) or sweep_jobs().get(Settings.sweep.value)
            return Shown(job.plan, job)
        except BadInput as error:
            session.add_link_warning(error, "tune")
            session.set_undrawn({"sweep": NEW_SWEEP})
    return None if plan is None else Shown(plan, None, recording_of(plan))


def title_of(plan: SweepPlan) -> str:
    """Describe a plan: its samplers and models, or its trainers and data."""
    names = " and ".join(TABLES[plan.kind].read(text).label for text in plan.algorithms)
    return f"{names} on {' and '.join(map(title_of_model, plan.models)) or data_label(plan.data)}"


def begin_row(plan: SweepPlan | None, reason: str, shown: Shown, lacks: str | None) -> None:
    """Draw the choice of the sweep, its size, and its commands; lacks : data that are not there."""

    def start() -> None:
        if plan is None:
            messages.refused(reason)
            return
        own = own_content(plan)
        try:
            job = sweep_jobs().start(plan, title_of(plan), links.owner(), own)
        except (BadInput, OutputFailure) as error:
            messages.refused(error)
            return
        if own:
            own_sweeps()[job.name] = job
        session.show({"sweep": job.name})

    def delete(job: Job) -> None:
        sweep_jobs().delete(job)
        own_sweeps().pop(job.name, None)
        session.show({"sweep": NEW_SWEEP})

    # This visitor's private sweeps, then the server's, newest first.
    listed = [*list(own_sweeps().values())[::-1], *sweep_jobs().list()]
    labels = {job.name: describe(job) for job in listed}
    made = shown.recording.about()["made"] if shown.recording else ""
    labels = {NEW_SWEEP: f"Recorded sweep, {made}" if made else "New sweep", **labels}
    controls.select(
        Settings.sweep,
        list(labels),
        format_func=labels.__getitem__,
        variant=" ".join(labels.values()),  # the labels show the status
        width=340,
        label_visibility="collapsed",
    )
    if shown.job is None:
        cost = f"{shown.plan.size:,} runs of {shown.plan.budget.amount:,.10g} {shown.plan.budget.unit}."
        st.button(
            "Compute again" if shown.recording else "Start",
            icon=":material/play_circle:",
            type="secondary" if shown.recording else "primary",
            on_click=start,
            key="tune start",
            disabled=card.holds_play("tune") or lacks is not None,
            help=f"{cost} One sweep runs at a time, at low priority. Runs of earlier sweeps are reused.",
        )
        if not shown.recording:
            st.caption(cost, width="content")
    elif shown.job.belongs_to(links.owner()):
        commands: list[tuple[str, str, Callable[[Job], None]]] = [("Delete", "delete", delete)]
        if shown.job.active:
            commands.insert(0, ("Pause sweep", "pause_circle", sweep_jobs().pause))
        elif shown.status != "finished" or shown.job.error:
            commands.insert(0, ("Resume sweep", "play_circle", sweep_jobs().resume))
        for label, icon, act in commands:
            st.button(label, icon=f":material/{icon}:", on_click=act, args=(shown.job,), key=f"tune {label}")
    else:
        st.caption("Started by another visitor or made elsewhere: view only.", width="content")
    if shown.job.own if shown.job else own_content(shown.plan):
        st.caption(PRIVATE, width="content")
    messages.show_toasts()


def describe(job: Job) -> str:
    """Return the list entry of a sweep."""
    grid = " × ".join(str(len(axis.values)) for axis in job.plan.axes)
    name = job.name  # 20261122-140500-...
    when = f", {name[4:6]}-{name[6:8]} {name[9:11]}:{name[11:13]}" if name[:8].isdecimal() else ""
    # Status first: a closed list cannot show the whole line.
    whose = ", yours" if job.own else ""
    return f"{job.status.title()}{whose}: {job.title}, {grid or 1} × {len(job.plan.seeds)} seeds{when}"
