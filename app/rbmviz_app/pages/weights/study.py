"""The estimator study: bias and variance of all estimators on models of increasing hidden size."""

import math
from typing import Any, TypeVar

import streamlit as st

from rbmviz import BadInput
from rbmviz.knobs import values_of
from rbmviz.origin import origin
from rbmviz.pages.weights import STUDIED
from rbmviz.session import Comparison, StudySetup, StudySnapshot
from rbmviz.session.comparison import Setup
from rbmviz.session.estimator_study import FINISHED
from rbmviz.trainers import Trainer, make_trainer
from rbmviz_app import comparisons, controls, messages
from rbmviz_app.controls import Download
from rbmviz_app.loading_code import load_dataset_lines
from rbmviz_app.page import catch_up_settings, draw_chart
from rbmviz_app.pages.weights.exports import study_csv
from rbmviz_app.pages.weights.settings import Settings
from rbmviz_app.pages.weights.study_charts import ESTIMATOR_QUANTITIES, plane_chart, study_chart
from rbmviz_app.shared import data
from rbmviz_app.timer import while_running

S = TypeVar("S", bound=Setup)

QUANTITY_CAPTIONS = {
    "ratio": "Above the dashed line weighting helps; pale points are lower bounds. Paper, table 1, k = 1: "
    "156 on Bars and Stripes with 16 hidden units, over 10⁷ on modes, 3 on letters with 16 and 0.2 with "
    "100. **Try** letters: the gain falls from some hundreds with 2 hidden units to 5 with 16.",
    "bias": "CD's bias does not depend on the batch size. pop-CD's comes only from dividing by an uncertain "
    "Z (section 3.3). UCD is biased only if pairs are cut off, as they are on models trained by CD: "
    "in the other chart a dashed ring says how many.",
    "variance": "The price of the weights: pop-CD is noisier than CD nearly everywhere (table 1), UCD far "
    "more so.",
    "ess": "Effective sample size over batch size, 20 batches each. **Look** whether more sweeps help: only "
    "where they bring the chain closer to the model (section 3.3).",
}
"""Notes on each quantity's curves, shown below its chart."""


def study() -> None:
    """Draw the study, which starts when its fold is first opened, and offer its file."""
    try:
        comparison = open_study()
    except BadInput as error:
        messages.note(f"The growing models are left out. {error}")
        return
    while_running(lambda: draw_study(comparison), True)
    controls.downloads(
        "study",
        [
            Download(
                "Bias and variance",
                lambda: study_csv(study_progress(comparison)),
                "bias_variance.csv",
                "Bias, variance and effective sizes of every estimator on every model (.csv).",
            )
        ],
        lambda: origin_of_study(comparison),
    )


def open_study() -> Comparison[StudySetup]:
    """Open the study, initially on the default data."""
    first = Settings.grown.default
    trainer = make_trainer("cd", learning_rate=0.1, schedule="constant")
    return open_measurement("study", StudySetup(data(first), STUDIED[first]), trainer)


def open_measurement(name: str, setup: S, trainer: Trainer) -> Comparison[S]:
    """Open a measurement, which has one panel and begins at once; raise BadInput if there is no room."""
    comparison, _ = comparisons.open_comparison(name, setup, math.inf)
    if not comparison.panels:
        try:
            comparison.add(trainer)
        except BadInput:
            comparisons.drop_empty_comparison(name)
            raise
        comparison.resume()
    return comparison


def study_progress(comparison: Comparison[StudySetup]) -> StudySnapshot:
    """Return the progress of the study."""
    return comparison.peek()[0][1]


def origin_of_study(comparison: Comparison[StudySetup]) -> dict[str, Any]:
    """Return the origin of the study's file."""
    setup = comparison.setup
    trainer = comparison.panels[0].worker.algorithm
    knobs = "".join(f", {name}={value!r}" for name, value in values_of(trainer).items())
    code = [
        "import rbmviz",
        "from rbmviz.session import StudySetup",
        "",
        *load_dataset_lines(setup.dataset.name),
        f"setup = StudySetup(data, batch={setup.batch}, updates={setup.updates}, seed={setup.seed})",
        f'run = setup.run(1, rbmviz.make_trainer("{trainer.name}"{knobs}))',
        "run.prepare()",
        "while not run.over:  # some minutes; the page's files have what is known when they are made",
        "    run.record_steps(run.advance(run.max_steps()))",
        'for model in run.view("finished").models:',
        "    for estimator, found in model.qualities.items():",
        "        print(model.n_hidden, estimator, found.bias, found.variance)",
    ]
    return origin("\n".join(code), data=[setup.dataset], seeds=[setup.seed])


def use_data(comparison: Comparison[StudySetup], name: str) -> str:
    """Study models of the named data; return a message if the data cannot be loaded."""
    try:
        setup = StudySetup(data(name), STUDIED[name])
        if comparison.setup != setup:
            comparison.change(setup)
    except BadInput as error:
        return str(error)
    return ""


def pause_button(name: str, comparison: Comparison[Any], done: bool) -> None:
    """Draw the button that pauses and continues a measurement."""
    st.button(
        "Pause measuring" if comparison.running else "Go on",
        icon=":material/pause:" if comparison.running else ":material/play_arrow:",
        key=f"{name}_play",
        on_click=comparison.pause if comparison.running else comparison.resume,
        disabled=done,
        help="Measuring takes a core of this machine until it is done.",
    )


def draw_study(comparison: Comparison[StudySetup]) -> None:
    """Draw the study's controls, progress and charts."""
    catch_up_settings("weights")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Less bias, more noise: all estimators on growing models", anchor=False)
        name = controls.select(Settings.grown, width=200)
        refused = use_data(comparison, name)
        # Unlike other charts, this one renews the lease, because no canvas requests the study. It also
        # continues in a hidden tab until it is done or paused, which does little harm: the work is finite.
        comparison.poll()
        progress = study_progress(comparison)
        pause_button("study", comparison, progress.stage == FINISHED)
    if sentence := refused or progress.error:
        messages.error(sentence)
    done = f"; {progress.estimates:,} estimates of each kind so far" if progress.estimates else ""
    share = comparison.setup.progress(len(progress.models), progress.estimates)
    st.progress(share, progress.stage + done + ".")
    if not progress.models:
        st.caption("Points come in as soon as the first model has been trained.")
        return
    left, right = st.columns([5, 4])
    with left:
        st.markdown("**Bias against variance**, larger points for more hidden units")
        draw_chart(plane_chart(progress.models), "plane", "Bias against variance of estimators")
        st.caption(
            "As in section 4.1 and table 1: squared distance of the mean estimate to the exact "
            "gradient, and of the estimates to their mean, over the number of parameters. Down is less "
            "bias, left is less noise; a pale point shows no bias yet and sinks as estimates come in. "
            "LOO leaves each weight out of its own normalisation (eq. 9). A dashed ring marks the share "
            "of UCD’s pairs cut off before they met, which cause its bias. **Look** at pop-CD below and "
            "to the right of CD. **Try** other data."
        )
    with right:
        quantity = controls.select(
            Settings.growth_quantity,
            format_func=lambda name: ESTIMATOR_QUANTITIES[name],
            label_visibility="collapsed",
        )
        draw_chart(study_chart(progress.models, quantity), "study", ESTIMATOR_QUANTITIES[quantity])
        st.caption(QUANTITY_CAPTIONS["ess" if quantity in ("ess", "sweeps") else quantity])
