"""The claims of lessons and the goals of challenges in words, as the card lists them."""

from collections.abc import Sequence

from rbmviz.charts.style import titles
from rbmviz.lessons import Step, StepClaim
from rbmviz_app import messages, pages


def panel_names(step: Step) -> list[str]:
    """Return the names that a step's page gives its panels; "" for a single panel, which needs none.

    Panels of one algorithm are named by their differences only: "step size 0.3".
    """
    algorithms = step.state.all_algorithms()
    if len(algorithms) == 1:
        return [""]
    live = pages.live_page(step.state.page)
    names = (live.title if live is not None else titles)(algorithms)
    parts = [name.partition(" (") for name in names]
    if len({kind for kind, _, _ in parts}) == 1 and all(knobs for _, _, knobs in parts):
        return [knobs.removesuffix(")") for _, _, knobs in parts]
    return names


def watched_words(claim: StepClaim, page: str, names: Sequence[str]) -> str:
    """Return the card's words for a claim that has not been seen yet; ``names``: see ``panel_names``."""
    return _as_sentence(f"{claim.number_words(page, names)}, watched {claim.when(page)}", names)


def stated_words(claim: StepClaim, page: str, names: Sequence[str]) -> str:
    """Return the card's words for a goal, or for a claim that has been seen."""
    return _as_sentence(claim.words(page, names), names)


def _as_sentence(said: str, names: Sequence[str]) -> str:
    return said if names[0] else said[:1].upper() + said[1:]


def value_words(claim: StepClaim, page: str, value: float | None) -> str:
    """Return a claim's number with its unit; "" if it is unknown."""
    if value is None:
        return ""
    short = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return claim.with_unit(page, short)


def line(symbol: str, said: str, number: str) -> str:
    """Return a line of the card, as Markdown."""
    return f"{symbol} {messages.plain(said)}" + (f": **{number}**" if number else "")
