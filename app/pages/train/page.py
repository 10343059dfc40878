"""The class of trainers: side by side on one data set, judged by the exact likelihood where there is one."""

import math
from typing import NamedTuple

import numpy as np
import streamlit as st

from app import messages, views
from app.links import read_panels, write_panel
from app.pages.train.panel import train_grid
from app.panel import shape_of
from app.state import (
    comparison_of,
    data,
    drop_upload,
    pretrained,
    send_model,
    trained_models,
    uploaded,
    uploaded_data,
)
from app.stream.socket import live_path
from app.widgets import Speed, adders, edits, every_second, open_panels, preset_menu, transport, visit
from rbmviz import BadInput
from rbmviz.datasets import Dataset, list_datasets
from rbmviz.knobs import Value, knobs_of, values_of
from rbmviz.metrics import highest_log_likelihood
from rbmviz.metrics.ais import LEAST_ESS
from rbmviz.metrics.exact import MOST_PROBABILITIES
from rbmviz.models import list_models
from rbmviz.rbm import RBM, Model, model_bytes
from rbmviz.registry import trainers
from rbmviz.session import (
    Comparison,
    Frames,
    Origin,
    TrainingPlan,
    TrainingRun,
    TrainingSetup,
    TrainingSnapshot,
    Worker,
)
from rbmviz.session.training import LIVE_AIS_CHAINS
from rbmviz.trainers import STATS, Trainer, list_trainers, make_trainer
from rbmviz.trainers.checkpoint import load_checkpoint

GRIDS = (4, 6, 8, 10, 12)
RULES = ("0.3", "0.5", "0.7", "bernoulli")
MOST_HIDDEN = 2000
BAS_KNOBS = "learning_rate=0.1,schedule=constant"
DEFAULT_DATA, DEFAULT_HIDDEN = "bas", 16
DEFAULT_PANELS = [
    f"cd:{BAS_KNOBS}",
    f"pcd:{BAS_KNOBS}",
    f"pop_cd:{BAS_KNOBS}",
    f"ucd:{BAS_KNOBS},n_chains=1000,t_max=50",
]
SPEED = Speed(
    "Updates per second",
    (1, 10, 50, 200, 500, 2000, math.inf),
    default=500,
    key="pace",
    help="Slow to see single updates, full speed to see where the curves end.",
    width=200,
)


class Preset(NamedTuple):
    """A preset: data, hidden units and trainers that show one thing, and what to look for."""

    label: str
    caption: str
    data: str
    n_hidden: int
    panels: list[str]


PRESETS = [
    Preset(
        "CD falls away",
        "On Bars and Stripes CD and PCD climb, then lose what they had; pop-CD and UCD stay on top.",
        "bas",
        16,
        DEFAULT_PANELS,
    ),
    Preset(
        "Four prototypes",
        "Modes far apart: CD loses nearly all of them, PCD staggers; pop-CD and tempering weigh them right.",
        "modes",
        16,
        [
            "cd",
            "pcd:schedule=constant,learning_rate=0.05",
            "pop_cd",
            "pt:schedule=constant,learning_rate=0.05",
        ],
    ),
    Preset(
        "The yardstick",
        "The exact gradient, and how close three estimates of it come: same data, same seed, same rate.",
        "bas@3",
        8,
        [
            "exact:learning_rate=0.2",
            "cd:learning_rate=0.2",
            "pop_cd:learning_rate=0.2",
            "ucd:learning_rate=0.2,schedule=constant,n_chains=500,t_max=50",
        ],
    ),
    Preset(
        "Digits",
        "Too large to enumerate: the curves are estimates by annealed importance sampling, with their error.",
        "digits",
        64,
        ["cd", "pcd:schedule=constant,learning_rate=0.05", "fpcd:schedule=constant,learning_rate=0.05"],
    ),
]


def main() -> None:
    """Draw the page."""
    present = st.query_params.get("present") == "1"
    if not present:
        st.markdown(
            "##### One data set, several ways to train on it: which trainer climbs, and which one falls away?"
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        lesson, refused = choose_lesson()
        preset_menu("train", PRESETS, apply_preset)
    comparison, token = visit("train", lesson, st.session_state.get("pace", 500), fill)
    if "t" not in st.query_params:  # back from another page
        write_link(comparison)
    with left:
        transport(
            "train",
            comparison,
            SPEED,
            play="Stop all trainers at the same update, or let them go on.",
            step="One more update of every trainer, then pause.",
            reset="All trainers back to where they began, with the same seed: the same updates come again.",
        )
    # Always there, empty or not: else the panels below would be built again, and blink.
    with st.container():
        refused = refused or go_on(comparison)
        if refused:
            messages.error(refused)
        if upload := st.session_state.get("own_data"):
            st.caption(
                messages.plain(f"All panels learn your file '{upload.name}': {lesson.dataset.binarisation}.")
            )
        if caption := st.session_state.get("lesson"):
            st.caption(caption)
    panels(comparison, token, present)
    charts(comparison)
    if not present:
        results(comparison)


def fill(comparison: Comparison[TrainingSetup]) -> None:
    """Give a new comparison the trainers of the link, or the default ones, and start it."""
    open_panels(comparison, trainers, st.query_params.get_all("t"), DEFAULT_PANELS)
    write_link(comparison)


def write_link(comparison: Comparison[TrainingSetup]) -> None:
    """Put the trainers into the page's address; learned weights to begin at have no place there."""
    st.query_params["t"] = [write_panel(trainer) for trainer in fresh_starts(comparison)]


def fresh_starts(comparison: Comparison[TrainingSetup]) -> list[Trainer]:
    """Return the trainers that began at small random weights, not at what had been learned before."""
    plan = comparison.setup.plan()
    return [panel.worker.algorithm for panel in comparison.panels if panel.worker.plan == plan]


def choose_lesson() -> tuple[TrainingSetup, str]:
    """Return what all trainers share, and a sentence where the data asked for cannot be had."""
    names = sorted(list_datasets(), key=lambda name: (name != DEFAULT_DATA, name))
    # A preset or a link may ask for a variant, which the list does not have.
    chosen, refused = st.session_state.get("train_data") or st.query_params.get("train_data"), ""
    if chosen is not None and chosen not in names:
        try:
            data(chosen)
            names.append(chosen)
        except BadInput as error:
            refused = f"The link's data are left out. {error}"
    name = st.selectbox(
        "Data",
        names,
        key="train_data",
        bind="query-params",
        width=160,
        help="What all panels learn: Bars and Stripes is small enough to know the likelihood exactly.",
    )
    n_hidden = st.number_input(
        "Hidden units",
        min_value=1,
        max_value=MOST_HIDDEN,
        value=DEFAULT_HIDDEN,
        key="hidden",
        bind="query-params",
        width=130,
        help="Up to 16 the likelihood is exact; more units learn more, and their likelihood is an estimate.",
    )
    with st.popover("Settings", icon=":material/tune:"):
        upload = st.file_uploader(
            "Train on data of your own",
            type=["npz", "csv", "txt", "zip"],
            key="own_data",
            help="Rows of 0 and 1 or of grey values (.npz, .csv), images (.zip), one text a line (.txt).",
        )
        rule = st.segmented_control(
            "Grey values become bits",
            RULES,
            default="0.5",
            required=True,
            key="rule",
            bind="query-params",
            format_func=lambda rule: rule if rule == "bernoulli" else f"above {rule}",
            help="Cut at this share of full ink, or drawn once with the grey value as probability.",
        )
        st.file_uploader(
            "Begin at a model, or go on with a checkpoint",
            type=["safetensors", "npz", "checkpoint"],
            key="begin",
            help="A model is offered where trainers are added; a checkpoint goes on in its own panel.",
        )
        seed = st.number_input(
            "Seed",
            min_value=0,
            max_value=2**31 - 1,
            value=0,
            key="train_seed",
            bind="query-params",
            help="Weights, mini-batches and chains begin with it: the same seed repeats every update.",
        )
        replicates = st.number_input(
            "Replicates",
            min_value=1,
            max_value=20,
            value=1,
            key="replicates",
            bind="query-params",
            help="Each panel trains so many models with consecutive seeds; bands show their range.",
        )
        st.segmented_control(
            "DisplayedPair",
            ["samples", "filters", "both"],
            default="both",
            required=True,
            key="show",
            bind="query-params",
            help="What the model dreams, what its hidden units look for, or both side by side.",
        )
        st.segmented_control(
            "Pixels",
            ["binary", "mean"],
            default="binary",
            required=True,
            key="train_pixels",
            bind="query-params",
            help="The drawn bits, or the probabilities they were drawn from: easier to read, less honest.",
        )
        st.segmented_control(
            "Rows and columns",
            GRIDS,
            default=8,
            required=True,
            key="train_cells",
            bind="query-params",
            help="How many samples and filters a panel shows: fewer are larger.",
        )
    dataset = None
    if upload is None:
        drop_upload("own_data")
    try:
        dataset = uploaded_data(upload.name, upload.getvalue(), rule) if upload else data(name)
    except BadInput as error:
        refused = str(error)
    # The page stays alive with the data it had.
    dataset = dataset or st.session_state.get("learned") or data(DEFAULT_DATA)
    st.session_state.learned = dataset
    return TrainingSetup(dataset, int(n_hidden), int(seed), int(replicates)), refused


def go_on(comparison: Comparison[TrainingSetup]) -> str:
    """Open a panel for an uploaded checkpoint, once; return a sentence where it cannot be."""
    upload = st.session_state.get("begin")
    if upload is None or not upload.name.endswith(".checkpoint"):
        return ""
    if upload.file_id in st.session_state.setdefault("gone_on", set()):
        return ""
    st.session_state.gone_on.add(upload.file_id)
    dataset, content = comparison.setup.dataset, upload.getvalue()
    try:
        found = load_checkpoint(content, dataset.train)
        n_hidden = found.state.theta.W.shape[1]
        comparison.add(
            found.trainer, TrainingPlan(dataset, n_hidden, comparison.setup.seed, checkpoint=content)
        )
    except BadInput as error:
        return str(error)
    return ""


def beginnings(dataset: Dataset) -> dict[str, RBM | None]:
    """Return where a new trainer can begin, by name: pretrained models that fit, and the uploaded one."""
    found: dict[str, RBM | None] = {"small random weights": None}
    upload = st.session_state.get("begin")
    if upload is not None and not upload.name.endswith(".checkpoint"):
        try:
            found[upload.name] = uploaded(upload.name, upload.getvalue(), "begin").rbm
        except BadInput as error:
            messages.error(error)
    found |= {name: pretrained(name).rbm for name in list_models()} | {
        name: model.rbm for name, model in trained_models().items()
    }
    return {name: rbm for name, rbm in found.items() if rbm is None or rbm.n_visible == dataset.n_visible}


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    comparison = comparison_of("train")
    lesson = comparison.setup._replace(dataset=data(preset.data), n_hidden=preset.n_hidden)
    comparison.replace(lesson, read_panels(trainers, preset.panels)[0])
    st.session_state.train_data = preset.data
    st.session_state.hidden = preset.n_hidden
    st.session_state.lesson = preset.caption
    comparison.resume()
    write_link(comparison)


@st.fragment
def panels(comparison: Comparison[TrainingSetup], token: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    edited, removed = edits(comparison, "train_grid", write_link)

    def add(name: str) -> None:
        start, rbm = begin_at, known[begin_at]
        plan = comparison.setup.plan()
        if rbm is not None:
            origin = Origin((rbm,) * plan.replicates, 0, 0.0, ((start, 0),))
            plan = plan._replace(n_hidden=rbm.n_hidden, origin=origin)
        comparison.add(open_ended(name), plan)
        write_link(comparison)

    train_grid(
        comparison,
        live_path() + token,
        view=st.session_state.show,
        pixels=st.session_state.train_pixels,
        cells=st.session_state.train_cells,
        present=present,
        on_edit=edited,
        on_remove=removed,
        key="train_grid",
    )
    if not comparison.panels:
        st.info("No panel is open: add a trainer.", icon=":material/grid_view:")
    if not present:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            known = beginnings(comparison.setup.dataset)
            st.caption("Add a trainer that begins at", width="content")
            begin_at = st.selectbox(
                "Begins at",
                list(known),
                width=220,
                label_visibility="collapsed",
                help="A warm start shows what another trainer does with what one has learned.",
            )
            adders("train", {name: trainers[name].label for name in list_trainers()}, add)


def named(comparison: Comparison[TrainingSetup]) -> list[tuple[str, TrainingSnapshot]]:
    """Return the snapshots of all panels by name, no two names alike."""
    shown = [snapshot for _, snapshot in comparison.peek()]
    origins = [views.origin_text(panel.worker.plan) for panel in comparison.panels]
    names = views.titles([snapshot.algorithm for snapshot in shown], origins)
    return list(zip(names, shown, strict=True))


@every_second
def charts(comparison: Comparison[TrainingSetup]) -> None:
    """Likelihood curves, and one inner quantity; read once a second, without renewing any lease."""
    if not comparison.panels:
        return
    shown = named(comparison)
    algorithms = [(name, snapshot.algorithm.name) for name, snapshot in shown]
    dataset = comparison.setup.dataset
    exact = shown[0][1].method == "exact"
    with st.container(horizontal=True, vertical_alignment="center"):
        how = "exact, by enumeration" if exact else "estimated by annealed importance sampling, ± 2 errors"
        st.markdown(f"**How likely does the model find the data?** {messages.plain(dataset.name)}, {how}.")
        part = st.segmented_control(
            "Part",
            ["train", "test"] if len(dataset.test) else ["train"],
            default="train",
            required=True,
            key="part",
            bind="query-params",
            label_visibility="collapsed",
            help="The examples that are learned from, or held-out ones.",
        )
        axis = st.segmented_control(
            "Against",
            ["updates", "seconds"],
            default="updates",
            required=True,
            key="train_axis",
            bind="query-params",
            label_visibility="collapsed",
            help="Per update, or per second that the trainer has worked.",
        )
    against = "update" if axis == "updates" else "seconds"
    # Wider data hardly repeat: their highest likelihood is one that only rote learning reaches.
    repeats = exact and dataset.n_visible <= MOST_PROBABILITIES
    best = highest_log_likelihood(dataset.train) if repeats else None
    rows, spec = views.training_chart(
        views.likelihood_rows(shown, part), algorithms, against, "Log-likelihood (nats per example)", best
    )
    if rows.empty:
        st.caption("The first estimate is under way.")
    else:
        st.vega_lite_chart(
            rows, spec, key="likelihood", width="stretch", alt="Log-likelihood against updates"
        )
    for name, snapshot in shown:
        newest = snapshot.likelihoods[-1] if snapshot.likelihoods else None
        if newest is not None and np.nanmin([*newest.ess, np.inf]) < LEAST_ESS:
            st.caption(
                f":material/warning: {messages.plain(name)}: at update {newest.update:,} only "
                f"{newest.ess.min():.1f} of {LIVE_AIS_CHAINS} chains carry the estimate: the curve is "
                "probably too high there."
            )
    inner = {name: label for _, snapshot in shown for name, label in snapshot.algorithm.inner.items()}
    labels = inner | STATS
    with st.container(horizontal=True, vertical_alignment="center"):
        statistic = st.selectbox(
            "Statistic",
            list(labels),
            format_func=lambda name: labels.get(name, name),
            key="statistic",
            bind="query-params",
            label_visibility="collapsed",
            width=420,
            help="A quantity inside the trainers; those that a trainer does not have are left out.",
        )
        log = st.toggle("Log scale", key="log", bind="query-params")
    having = [
        pair
        for pair, (_, snapshot) in zip(algorithms, shown, strict=True)
        if statistic in STATS or statistic in snapshot.algorithm.inner
    ]
    rows, spec = views.training_chart(
        views.statistic_rows(shown, statistic), having, against, labels[statistic], log=log
    )
    if rows.empty:
        st.caption("Nothing yet." if not log else "Nothing above zero yet.")
    else:
        st.vega_lite_chart(
            rows, spec, key="inner", width="stretch", alt=f"{labels[statistic]} against updates"
        )


def results(comparison: Comparison[TrainingSetup]) -> None:
    """Offer what has been learned: branch from it, sample it, keep it."""
    if not comparison.panels:
        return
    dataset, cells, pixels = (
        comparison.setup.dataset,
        st.session_state.train_cells,
        st.session_state.train_pixels,
    )
    shape = shape_of(dataset.n_visible, None, dataset)
    names = dict(
        zip([panel.key for panel in comparison.panels], [name for name, _ in named(comparison)], strict=True)
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = st.selectbox(
            "With what has been learned by",
            list(names),
            format_func=lambda key: names.get(key, "a panel that has gone"),
            width=260,
            help="The model of this panel, at the moment of the click.",
        )
        worker = comparison[key]
        branch(comparison, key)
        if st.button(
            "To the Sample page",
            icon=":material/grid_view:",
            help="All samplers on this model, side by side.",
        ):
            send(names[key], worker, "pages/sample/page.py", "model")
        if st.button(
            "To the Weights page",
            icon=":material/balance:",
            help="How evenly this model weighs the samples of pop-CD.",
        ):
            send(names[key], worker, "pages/weights/page.py", "weights_model")
        if st.button(
            "To the Coupling page",
            icon=":material/join_inner:",
            help="How soon two chains of this model meet, and how far one is from its law.",
        ):
            send(names[key], worker, "pages/coupling/page.py", "coupling_model")
        st.download_button(
            "Model",
            data=lambda: kept(worker.read(TrainingRun.model)),
            file_name="model.safetensors",
            icon=":material/download:",
            on_click="ignore",
            help="Parameters, rates and provenance (.safetensors): to sample, or to go on from.",
        )
        st.download_button(
            "Checkpoint",
            data=lambda: worker.read(TrainingRun.checkpoint),
            file_name="training.checkpoint",
            icon=":material/bookmark:",
            on_click="ignore",
            help="The training itself: given back in Settings, it goes on as if it had never stopped.",
        )
        st.download_button(
            "Curves",
            data=lambda: views.training_csv(named(comparison)),
            file_name="training.csv",
            icon=":material/download:",
            on_click="ignore",
            help="Likelihoods and statistics of every replicate of all panels (.csv).",
        )
        st.download_button(
            "Picture",
            data=lambda: views.mosaics_png(fantasies(comparison), shape, cells, pixels),
            file_name="fantasies.png",
            icon=":material/download:",
            on_click="ignore",
            help="The newest fantasies of all panels as one picture (.png).",
        )
        with st.popover("Code", icon=":material/code:"):
            st.code(views.training_snippet(comparison.setup, fresh_starts(comparison)))


def fantasies(comparison: Comparison[TrainingSetup]) -> list[tuple[str, Frames]]:
    """Return the pictures of every panel that has any, by name."""
    return [(name, shown.fantasy) for name, shown in named(comparison) if shown.fantasy is not None]


def kept(model: Model | None) -> bytes:
    """Return the file of a model that there may not be yet."""
    if model is None:
        raise BadInput("There is no model yet: let the trainer make its first update.")
    return model_bytes(model)


def open_ended(name: str, **knobs: Value) -> Trainer:
    """Return a trainer whose learning rate does not fall, with those of the knobs that it has."""
    known = knobs_of(trainers[name])
    knobs["schedule"] = "constant"
    return make_trainer(name, **{knob: value for knob, value in knobs.items() if knob in known})


def branch(comparison: Comparison[TrainingSetup], key: int) -> None:
    """Offer to go on from a panel's weights with another trainer."""

    def begin(name: str) -> None:
        worker = comparison[key]
        try:
            origin = worker.read(TrainingRun.origin)
            plan = TrainingPlan(*comparison.setup)._replace(origin=origin)
            same = {knob: values_of(worker.algorithm)[knob] for knob in ("learning_rate", "batch_size")}
            comparison.add(open_ended(name, **same), plan)
        except BadInput as error:
            messages.error(error)
        st.session_state.taught = st.session_state.get("taught", 0) + 1

    with st.popover("Branch", icon=":material/call_split:", key=f"branches {st.session_state.get('taught')}"):
        st.caption("From here on with another trainer, beside the old one (UCD paper, figure 9):")
        for name in list_trainers():
            st.button(
                trainers[name].label, key=f"branch {name}", on_click=begin, args=(name,), type="tertiary"
            )


def send(name: str, worker: Worker[TrainingRun], page: str, key: str) -> None:
    """Open another page on what a run has learned; ``key`` is that of the page's choice of a model."""
    try:
        model = worker.read(TrainingRun.model)
    except BadInput as error:
        st.toast(str(error))
        return
    if model is None:
        st.toast("There is no model yet: let the trainer make its first update.")
        return
    title = f"{name}, {model.meta['updates']:,} updates"
    try:
        send_model(title, model)
    except BadInput as error:
        messages.error(error)
        return
    st.session_state[key] = title
    st.switch_page(page, query_params={key: title})


main()
