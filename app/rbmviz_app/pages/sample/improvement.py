"""The fold of the Sample page that shows whether a sampler improves its model."""

from functools import partial

import streamlit as st

from rbmviz import BadInput
from rbmviz.datasets import Dataset
from rbmviz.metrics.numbers import SCORED_EXAMPLES
from rbmviz.samplers.target_likelihood import TARGET_STRIDE
from rbmviz.session import Race, SamplingRun, SamplingSetup, TrainingSetup, WarmStart
from rbmviz.session.training import MAX_HIDDEN
from rbmviz.trainers import make_trainer
from rbmviz_app import controls, messages, pages
from rbmviz_app.page import LivePage
from rbmviz_app.session import Setting
from rbmviz_app.timer import while_running


def draw_improvement(
    page: LivePage[SamplingSetup], comparison: Race[SamplingSetup], opened: Setting[bool], name: str
) -> None:
    """Draw the fold; its content is computed only while it is open.

    name : name of the model
    """
    with controls.fold(opened, "Improving the model") as is_open:
        if is_open:
            while_running(partial(draw_likelihoods, comparison, page), True)
            if comparison.setup.dataset is not None and st.button(
                "Polish this model",
                icon=":material/auto_awesome:",
                help="On Train: the improved model is kept, and scored on training and held-out examples. It "
                "stops when the gradient has fallen to a tenth.",
            ):
                polish(comparison.setup, comparison.setup.dataset, name)
            return
    for panel in comparison.panels:
        try:
            panel.read(SamplingRun.stop_improvement)
        except BadInput:  # a run has no averages while it is rebuilt
            continue


def polish(setup: SamplingSetup, dataset: Dataset, name: str) -> None:
    """Open the Train page with one panel that polishes the model."""
    rbm, page = setup.model.rbm, pages.live_page("train")
    n_hidden = min(rbm.n_hidden, MAX_HIDDEN)  # for further panels; a polished model keeps its size
    trained = TrainingSetup(dataset, n_hidden, setup.seed)
    values = {"train_data": dataset.name, "hidden": n_hidden, "train_seed": setup.seed, "replicates": 1}
    try:
        plan = trained.plan_from(WarmStart((rbm,), 0, 0.0, ((name, 0),)))
        page.show(trained, [make_trainer("polish", stop_at=0.1)], values, plan)
    except BadInput as error:
        messages.note(error)
        return
    st.switch_page(pages.file_of("train"))


def draw_likelihoods(comparison: Race[SamplingSetup], page: LivePage[SamplingSetup]) -> None:
    """Draw the table of likelihoods; it does not renew the lease."""
    dataset = comparison.setup.dataset
    if dataset is None:
        st.caption("There are no data to score on: choose some in Settings.")
        return

    def text(value: tuple[float, float] | None) -> str:
        if value is None:
            return "…"
        return f"{value[0]:.3f}" + (f" ± {value[1]:.2g}" if value[1] else "")

    rows = []
    for (name, _), panel in zip(page.named(comparison), comparison.panels, strict=True):
        try:
            likelihood = panel.read(SamplingRun.request_improvement)
        except BadInput:
            likelihood = None
        shown = (None,) * 3 if likelihood is None else (likelihood.model, likelihood.now, likelihood.averaged)
        names = "The model", "θ + θF now", "mean of θ + θF"
        row = {"Panel": name} | dict(zip(names, map(text, shown), strict=True))
        rows.append(row | {"over samples": "" if likelihood is None else f"{likelihood.samples:,}"})
    st.dataframe(rows, hide_index=True, key="improvement table")
    st.caption(
        f"**What you see** The mean log-likelihood of the training examples (at most {SCORED_EXAMPLES:,}), "
        "in nats, ± the error of log Z where it is estimated: of the model, of the current θ + θF, and of "
        f"the mean of θ + θF after every {TARGET_STRIDE}th sample since this was opened or a knob changed. "
        "For Gibbs sampling at temperature T, θ + θF is θ / T. At any moment θ + θF is far from the model. "
        "According to the paper, its average improves a model that has not converged, and leaves a "
        "converged one unchanged. **Try** bas_cd1 and bas_pcd with step size 0.003, then 0.03. rates-FPCD "
        "paper, section 4."
    )
