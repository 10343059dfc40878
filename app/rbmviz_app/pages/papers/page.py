"""The ledger of the three papers' claims, with verdicts, figures, numbers and reasons."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from rbmviz.ledger import (
    PAPERS,
    VERDICTS,
    chance_text,
    counts_of,
    figure_name,
    figure_size,
    ledger,
    minutes_text,
    verdict_text,
)
from rbmviz.pages import SettingSpec
from rbmviz.pages.settings import FreeText
from rbmviz_app import controls, links, messages, pages
from rbmviz_app.access import base_path
from rbmviz_app.session import PageSettings

TITLE, ICON, PLACE = "Papers", "fact_check", 7

ABOUT = (
    "Each line is a figure, a table or a sentence of one of the **three papers** behind this program, with a "
    "mark for the verdict on each of its claims. Open it: first comes the figure measured here, to download "
    "at the width of a journal's column; then one line for each claim with its **verdict**, which follows "
    "from the numbers alone. Open a claim for the paper's words, our number with its standard error, and the "
    "reason. *Not decided*: the interval is too wide, or a part was not measured. *Contradicted in part*: no "
    "part is confirmed, and a part is undecided or the run was too short for the whole claim. *Not run at "
    "this size*: it takes longer than anybody has spent. A **quick** run has fewer seeds and wider intervals "
    "(99 %); a **medium** one takes up to an hour. A **variant** is not in the paper: another setting, or a "
    "warning. Claims on times are judged **of this implementation**. *Run it live* opens a page with the "
    "claim's settings.\n\n"
    "**Not here, by decision.** The papers mention these and measure none of them. *Markov chain Las Vegas* "
    "estimates (unbiased CD, section 5) stop at a set of states instead of at a meeting. *Resampling* by the "
    "weights (population CD, section 2): pop-CD starts each estimate at rows of the data, so that nothing is "
    "resampled. *Rates averaged through training* (rates-FPCD, section 4): its own rates are those of a "
    "trained model, as here, and it calls the difference small. *Other units, and more layers*: every exact "
    "check here enumerates units of 0 and 1. *Flip-the-state* (cited by population CD): *Staying less often* "
    "measures what it is a case of."
)

VERDICT_BADGES: dict[str, tuple[str, str]] = {
    "holds": ("green", "check_circle"),
    "in part": ("orange", "contrast"),
    "contradicted in part": ("orange", "remove_circle"),
    "does not hold here": ("red", "cancel"),
    "not decided": ("gray", "help"),
    "not run at this size": ("blue", "hourglass_empty"),
}

ALL = "all"


Settings = PageSettings(
    {
        "ledger_paper": SettingSpec(ALL, (ALL, *PAPERS), "Paper"),
        "ledger_verdict": SettingSpec(ALL, (ALL, *VERDICTS), "Verdict"),
        "ledger_search": SettingSpec("", FreeText(r"[^\x00-\x1f]{0,200}"), "Search"),
    }
)


def main() -> None:
    """Draw the page."""
    controls.heading("papers", "Do the papers’ claims hold here?", ABOUT)
    st.html(Path(__file__).parent / "papers.css")
    results = ledger()
    counts = counts_of(results)
    times, variants = (sum(counts_of(results, kind).values()) for kind in ("time", "variant"))
    listed = " ".join(f"{badge(name)} {n}" for name, n in counts.items() if n)
    st.markdown(f"{sum(counts.values())} claims: {listed}. Apart: {times} on times, {variants} variants")
    st.caption(chance_text(results))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = controls.text(Settings.ledger_search, placeholder="words, as: herding figure 2", width=280)
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
    matches = {key: claims_found(results, key, str(verdict), search) for key in PAPERS if paper in (ALL, key)}
    if not any(matches.values()):
        st.caption("No claim has this verdict and these words.")
    is_single = sum(map(len, matches.values())) == 1
    for key, own in matches.items():
        if own:
            st.header(PAPERS[key].title, anchor=str(key))
            for result in own:
                with st.expander(label(result), expanded=is_single):
                    st.html(entry(result))
    messages.show_toasts()
    links.write("papers", links.texts_of(Settings.values()))


def claims_found(
    results: Sequence[Mapping[str, Any]], paper: str, verdict: str, search: str
) -> list[dict[str, Any]]:
    """Return a paper's results, each with only the claims that match the verdict and all search words."""
    words, matches = search.lower().split(), []
    for result in results:
        about = f"{result['title']} {result['source']} {result['number']} {result['recipe']}"
        claims = [
            claim
            for claim in result["claims"]
            if verdict in (ALL, claim["verdict"])
            and all(word in f"{about} {claim['text']} {claim['paper']}".lower() for word in words)
        ]
        if result["paper"] == paper and claims:
            matches.append({**result, "claims": claims})
    return matches


def badge(verdict: str) -> str:
    """Return a verdict as Markdown."""
    colour, icon = VERDICT_BADGES[verdict]
    return f":{colour}-badge[:material/{icon}: {verdict}]"


def prose(text: str) -> str:
    """Return a recipe's text, which may contain code and emphasis, as HTML."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<em>\1</em>", text)


def label(result: Mapping[str, Any]) -> str:
    """Return the line of an entry, as Markdown: number, title, and a mark for the verdict on each claim."""
    kinds = [VERDICT_BADGES[claim["verdict"]] for claim in result["claims"]]
    marks = " ".join(f":{colour}[:material/{icon}:]" for colour, icon in kinds)
    return f"{messages.plain(result['number'])}: {messages.plain(result['title'])} {marks}"


def entry(result: Mapping[str, Any]) -> str:
    """Return an entry as HTML: its figure, a line for each claim, and the method of measurement."""
    name, paper = result["recipe"], PAPERS[result["paper"]]
    parts = [
        f'<p class="source">{escape(result["source"])}. <a href="{paper.url}">{escape(paper.cite)}</a></p>'
    ]
    file = figure_name(result)
    address, (width, height) = f"{base_path()}/rbmviz/figures/{file}", figure_size(file)
    parts += [
        f'<div class="figure" tabindex="0" role="group" aria-label="Figure: {escape(result["title"])}">'
        f'<img src="{address}" alt="{escape(result["alternative_text"])}" '
        f'loading="lazy" width="{width}" height="{height}"></div>',
        f'<p class="files">At the width of a journal: <a href="{address}" download="{file}">SVG</a></p>',
    ]
    parts += [claim_line(claim) for claim in result["claims"]]
    cost = ", ".join(
        f"{size}: {minutes_text(minutes)} core-minutes" for size, minutes in result["cost"].items()
    )
    about = [result["run"], *result["cite"], f"Expected cost: {cost}."]
    parts.append(
        f"<details><summary>How it is measured</summary><p>{prose(result['about'])}</p>"
        f"<pre><code>{escape(result['command'])}</code></pre>"
        f"<p>{'<br>'.join(escape(line) for line in about)}</p></details>"
    )
    return f'<article class="papers-entry" id="{name}">{"".join(parts)}</article>'


def live_address(link: str) -> str:
    """Return the relative address of a page; the first page's address contains no name."""
    page, _, parts = link.partition("?")
    return f"./{'' if page == next(iter(pages.page_modules())) else page}?{parts}"


def claim_line(claim: Mapping[str, Any]) -> str:
    """Return a claim as HTML: its verdict and text, and a fold with the paper's words, ours, and a link."""
    link = escape(live_address(claim["live_link"]))
    verdict = f'<span class="verdict {claim["verdict"].replace(" ", "-")}">{verdict_text(claim)}</span>'
    parts = [
        f"<summary>{verdict} {prose(claim['text'])}</summary>",
        f"<p>The paper: {prose(claim['paper'])}.</p>",
        f"<p>Here: {prose(claim['reason'])}</p>",
        f'<p><a class="live" href="{link}" target="_blank">Run it live</a></p>',
    ]
    return f'<details class="claim">{"".join(parts)}</details>'


if __name__ == "__main__":
    main()
