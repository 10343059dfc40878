"""The ledger: the three papers' claims, and whether they hold here, with numbers, figures and reasons."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from rbmviz.pages import SettingSpec
from rbmviz.reproduce import PAPERS, VERDICTS
from rbmviz.reproduce.ledger import counts_of, ledger, measured_texts, verdict_text
from rbmviz.reproduce.recipe import minutes_text
from rbmviz.reproduce.run import caption
from rbmviz_app import controls, links, pages
from rbmviz_app.pages.papers import charts
from rbmviz_app.session import PageSettings

TITLE, ICON, PLACE = "Papers", "fact_check", 7

ABOUT = (
    "Each entry is a figure, a table or a sentence of one of the **three papers** behind this program: "
    "what the paper says, what was **measured here** with its standard error, and a **verdict** that "
    "follows from the numbers alone. *Not decided* means that the interval in which the number lies, which "
    "is wide after few replications, reaches across a bound of the claim, or that a part was not measured; "
    "*in part* and *contradicted in part* that some of a claim's parts are decided, or that the run was too "
    "short for the whole claim; *not run at this size* that nobody has spent the time, which stands beside "
    "it. A **quick** run has fewer seeds and wider intervals (99 %), so that it can only say less than a "
    "full one; a **medium** one takes half an hour. A **variant** is no sentence of the paper: another "
    "setting, or a warning. *Run it live* beside a claim opens a page with its settings; `rbmviz reproduce` "
    "repeats an entry on your own machine."
)
"""The page's introduction for newcomers."""

VERDICT_BADGES: dict[str, tuple[str, str]] = {
    "holds": ("green", "check_circle"),
    "in part": ("orange", "contrast"),
    "contradicted in part": ("orange", "remove_circle"),
    "does not hold here": ("red", "cancel"),
    "not decided": ("gray", "help"),
    "not run at this size": ("blue", "hourglass_empty"),
}
"""Colour and icon of each verdict."""

ALL = "all"


Settings = PageSettings(
    {
        "ledger_paper": SettingSpec(ALL, (ALL, *PAPERS), "Paper"),
        "ledger_verdict": SettingSpec(ALL, (ALL, *VERDICTS), "Verdict"),
    }
)


def main() -> None:
    """Draw the page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title("What do the papers say, and does it hold here?", anchor=False, width="content")
        with st.popover("About this page", icon=":material/info:", type="tertiary", key="papers about"):
            st.markdown(ABOUT)
    results = ledger()
    for what, variants in (("claims", False), ("variants of claims", True)):
        counts = counts_of(results, variants)
        listed = " ".join(f"{badge(name)} {n}" for name, n in counts.items() if n)
        st.markdown(f"{sum(counts.values())} {what}: {listed}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        paper = controls.choose(
            Settings.ledger_paper,
            wrap=True,
            format_func=lambda key: PAPERS[key].title if key in PAPERS else "All three",
        )
        verdict = controls.select(
            Settings.ledger_verdict,
            format_func=lambda name: "all verdicts" if name == ALL else name,
            width=220,
        )
    shown = 0
    for key in PAPERS if paper == ALL else [paper]:
        own = [one for one in results if one["paper"] == key and matches(one, str(verdict))]
        shown += len(own)
        if own:
            st.header(PAPERS[key].title, anchor=str(key))  # type: ignore[index]
            st.caption(f"{PAPERS[key].cite} [{PAPERS[key].url}]({PAPERS[key].url})")  # type: ignore[index]
        for result in own:
            entry(result, str(verdict))
    if not shown:
        st.caption("No claim has this verdict.")
    links.write("papers", links.texts_of(Settings.values()))


def matches(result: Mapping[str, Any], verdict: str) -> bool:
    """Return whether any claim of this result has the verdict."""
    return verdict == ALL or any(claim["verdict"] == verdict for claim in result["claims"])


def badge(verdict: str, text: str = "") -> str:
    """Return a verdict as Markdown; text: other words for it."""
    colour, icon = VERDICT_BADGES[verdict]
    return f":{colour}-badge[:material/{icon}: {text or verdict}]"


def entry(result: Mapping[str, Any], verdict: str) -> None:
    """Draw a recipe: its claims with verdicts and, once opened, figure and reasons below."""
    name = result["recipe"]
    with st.container(border=True, key=f"ledger {name}"):
        st.subheader(result["title"], anchor=name)
        st.caption(result["source"])
        for claim in result["claims"]:
            if verdict in (ALL, claim["verdict"]):
                st.markdown(claim_text(claim))
        label = "Figure, reasons, and how it is run" if result["figure"] else "Reasons, and how it is run"
        details = st.expander(label, key=f"ledger details {name}", on_change="rerun")
        if details.open:
            with details:
                draw_details(result)


def live_address(link: str) -> str:
    """Return the relative address of a page; the first page's has no name."""
    page, _, parts = link.partition("?")
    return f"./{'' if page == next(iter(pages.found())) else page}?{parts}"


def claim_text(claim: Mapping[str, Any]) -> str:
    """Return a claim as Markdown: verdict, claim, link to run it, the paper's number, and ours."""
    run = f"[:material/play_arrow: Run\u00a0it\u00a0live]({live_address(claim['live_link'])})"
    verdict = badge(claim["verdict"], verdict_text(claim))
    lines = [f"{verdict} **{claim['text']}** {run}  ", f"Paper: {claim['paper']}.  "]
    texts = measured_texts(claim)
    if len(texts) > 1:
        lines += ["Here:", *(f"- {text}" for text in texts)]
    else:
        lines += [f"Here: {text}." for text in texts] or [claim["reason"]]
    return "\n".join(lines)


def draw_details(result: Mapping[str, Any]) -> None:
    """Draw figure, reasons, and the origin of the numbers."""
    if result["figure"]:
        plots = charts.ledger_plots(result)
        columns = st.columns(min(len(plots), 2))
        for i, (spec, words) in enumerate(plots):
            key = f"ledger figure {result['recipe']} {i}"
            columns[i % len(columns)].vega_lite_chart(spec=spec, alt=words, width="stretch", key=key)
    st.markdown(result["about"])
    st.markdown("\n".join(f"- {badge(claim['verdict'])} {claim['reason']}" for claim in result["claims"]))
    st.code(result["command"], language="sh")
    cost = ", ".join(
        f"{size}: {minutes_text(minutes)} core-minutes" for size, minutes in result["cost"].items()
    )
    st.caption("  \n".join([*caption(result)[1:2], *caption(result)[3:], f"Expected cost: {cost}."]))


if __name__ == "__main__":
    main()
