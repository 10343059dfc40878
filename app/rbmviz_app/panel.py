"""The common part of all live canvases: their component, and the specs of panels and knobs.

A page's own ``panel.py`` defines what its panels show, and creates a ``Canvas`` from the ``panel.js`` beside
it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rbmviz.charts import Style
from rbmviz.charts.style import GREY, colours, dashes, differing_knobs, titles
from rbmviz.knobs import Knob, knobs_of, value_text, values_of
from rbmviz.session import Race
from rbmviz.session.multiples import multiples_of
from rbmviz.session.race import Panel
from rbmviz.view import PANEL_FOLDER, SHARED_SCRIPTS, VIEW_FOLDER
from rbmviz.view.formulas import equation, equation_of, symbols_of
from rbmviz.view.replay import panel_data
from rbmviz.view.specs import knob_spec
from rbmviz_app import card
from rbmviz_app.component import component
from rbmviz_app.embedding import shown_knobs
from rbmviz_app.links import presented_knobs
from rbmviz_app.race import PageRace
from rbmviz_app.session import EMBEDDED, NEWEST_EVENTS, REDUCED_MOTION, sent_by
from rbmviz_app.share import publish
from rbmviz_app.stream.encoder import Readouts

FPS = 20

OnEvent = Callable[[Any], None]


def _component(name: str, folder: Path, script: str, *, charts: bool = False) -> Any:
    """Return the component with the shared scripts, perhaps those of charts, and the page's script."""
    shared = SHARED_SCRIPTS[1:]  # the first, element.js, precedes the scripts of every component
    of_charts = ["curves"] if charts else []
    scripts = [*(PANEL_FOLDER / name for name in shared), *(VIEW_FOLDER / f"{x}.js" for x in of_charts)]
    styles = [PANEL_FOLDER / "panel.css", *(VIEW_FOLDER / f"{x}.css" for x in of_charts)]
    if folder != PANEL_FOLDER and (folder / "panel.css").exists():
        styles.append(folder / "panel.css")
    return component(name, [*scripts, folder / script], styles)


class Canvas:
    """The live canvas of one page: all panels of a race; the folder's ``panel.js`` draws one.

    charts : whether its panels have charts
    """

    def __init__(self, folder: Path, *, charts: bool = False) -> None:
        self._name = folder.name
        self._mount = _component(folder.name, folder, "panel.js", charts=charts)

    def mount(
        self,
        race: PageRace[Any],
        panels: Sequence[dict[str, Any]],
        *,
        view: str,
        n_visible: int,
        shape: tuple[int, int],
        present: bool,
        key: str,
        on: Mapping[str, OnEvent],
        pixels: str = "binary",
        side: int = 1,
        **data: Any,
    ) -> None:
        """Draw the canvas.

        panels : see ``panel_specs``
        view, pixels, n_visible : fields of the requests (see ``FrameRequest``)
        shape : rows and columns of one picture, in pixels
        present : whether the page is for a projector: panels are fitted to the window, and only the knobs in
            ``presented_knobs`` are shown, or the first of each panel
        key : key of the component in the session state
        on : handler for each kind of event: "edit", "remove" or "multiply". Without one, the fragment is only
            redrawn.
        side : rows and columns of the square of pictures in a panel: ``FrameRequest.cells`` is side * side
        data : further JSON values for the page's own JavaScript; watchers only get those in
            ``publish.FOR_WATCHERS``
        """
        taken = NEWEST_EVENTS.ensure()

        def take() -> None:
            """Handle new events: each message repeats events that may have been lost."""
            for number, name, value in sent_by(key, "events"):
                if number > taken.get(key, 0):
                    taken[key] = number
                    on.get(name, lambda _: None)(value)

        common = {"url": race.path, "fps": FPS, "view": view, "pixels": pixels, "side": side}
        common |= {
            "present": present,
            "present_knobs": presented_knobs() if present else shown_knobs(),
            "embedded": EMBEDDED.value,
            "reduced_motion": REDUCED_MOTION.value,
            "taken": taken.get(key, 0),
        }
        if card.hidden_from_watchers(race.page) == "names":
            panels = [panel | {"colour": GREY} for panel in panels]  # shades would tell who is alike
        common |= {"n_visible": n_visible, "shape": shape, "panels": panels}
        self._mount(key=key, data=common | data, on_events_change=take)
        publish.canvas(self._name, race, common | data)


def panel_spec(
    panel: Panel,
    label: str,
    accent: str,
    readouts: Readouts,
    front: Callable[[Knob], bool],
    hidden: Sequence[str] = (),
    dash: Sequence[int] = (),
    multiples: bool = False,
    formulas_of: Callable[[Any], Sequence[str]] = equation_of,
) -> dict[str, Any]:
    """Return the data for drawing a panel, as JSON values.

    label, accent : its title and colour
    front : returns whether a knob may be always visible: the first two such knobs are; all others are under
        "More"
    hidden : names of hidden knobs
    dash : dashes of its curve in the charts, in pixels of line and gap; empty: a solid line
    multiples : whether the panel's menu offers more panels with other values of a knob
    formulas_of : returns the formulas that define an algorithm, see ``rbmviz.view.formulas``
    """
    algorithm = panel.algorithm
    knobs = {name: knob for name, knob in knobs_of(algorithm).items() if name not in hidden}
    values = values_of(algorithm)
    style, numbers = Style(label, accent, tuple(dash)), readouts(algorithm, panel.plan)
    return panel_data(panel.key, style, algorithm, numbers) | {
        "equation": equation(formulas_of(algorithm), symbols_of(algorithm)),
        "knobs": [knob_spec(knob) | {"front": front(knob)} for knob in knobs.values()],
        "values": {name: values[name] for name in knobs},
        "multiples": multiple_specs(algorithm) if multiples else [],
    }


def multiple_specs(algorithm: Any) -> list[dict[str, Any]]:
    """Return the entries of a panel's menu as JSON values; "instead" means that all other panels close."""
    entries = []
    for knob, values, instead in multiples_of(algorithm):
        label = knobs_of(algorithm)[knob].label
        label = label[0].lower() + label[1:]
        now = values_of(algorithm)[knob]
        listed = ", ".join(f"{x:.3g}" for x in (sorted([*values, now]) if instead else values))
        text = f"Only this sampler, with {label} {listed}" if instead else f"One more, with {label} {listed}"
        entries.append({"text": text, "knob": knob, "values": list(values), "instead": instead})
    return entries


def algorithms_of(race: Race[Any]) -> list[Any]:
    """Return the algorithm of each panel."""
    return [panel.algorithm for panel in race.panels]


def numeric_knobs(algorithm: Any) -> dict[str, Any]:
    """Return the values of an algorithm's knobs, without choices from lists, by name."""
    return {name: value for name, value in values_of(algorithm).items() if not isinstance(value, str)}


SYMBOLS = {
    **{r"\varepsilon": "ε", r"\alpha": "α", r"\eta": "η", r"\mu": "μ", r"\lambda": "λ"},
    **{r"k_{\max}": "max", r"t_{\max}": "max", r"\bar{P}": "P"},
}
"""Symbols of knobs in heads, where LaTeX is not one letter."""


def heads(algorithms: Sequence[Any]) -> list[tuple[str, str]]:
    """Return a name and the differing knobs for the head of each panel, which is narrow: ("Gibbs", "k 20").

    If several knobs differ, those at their default are left out.
    """
    named = []
    for algorithm in algorithms:
        knobs, values = knobs_of(algorithm), values_of(algorithm)
        differing = differing_knobs([other for other in algorithms if other.name == algorithm.name])
        written = [
            f"{_symbol(knobs[knob])} {value_text(values[knob]).removeprefix('0') or 0}"
            for knob in differing
            if len(differing) == 1 or values[knob] != knobs[knob].default
        ]
        named.append((algorithm.label, ", ".join(written)))
    return named


def _symbol(knob: Knob) -> str:
    return SYMBOLS.get(knob.symbol or "", knob.symbol) or knob.label.split()[0].lower()


def panel_specs(
    race: Race[Any],
    readouts: Readouts,
    front: Callable[[Knob], bool],
    names: Sequence[str] = (),
    hidden: Sequence[str] = (),
    multiples: bool = False,
    formulas_of: Callable[[Any], Sequence[str]] = equation_of,
    marks: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the spec of every panel, coloured by its algorithm; see ``panel_spec``.

    names : titles of the panels; none: the titles of their algorithms
    marks : a word before each name in the heads; none: no words
    """
    algorithms = algorithms_of(race)
    specs = [
        panel_spec(panel, label, accent, readouts, front, hidden, dash, multiples, formulas_of)
        for panel, accent, label, dash in zip(
            race.panels,
            colours(algorithms),
            names or titles(algorithms),
            dashes(race.slots),
            strict=True,
        )
    ]
    for spec, (name, differs), mark in zip(specs, heads(algorithms), marks or [""] * len(specs), strict=True):
        spec["head"] = [f"{mark}: {name}" if mark else name, differs]
    return specs


_live_slider = _component("slider", PANEL_FOLDER, "slider.js")


def live_slider(
    knob: Knob,
    value: float,
    colour: str,
    *,
    on_value: Callable[[], None],
    key: str,
    formulas: Sequence[str] = (),
    present: bool = False,
) -> None:
    """Draw a slider that sends its value while dragged, read with ``session.sent_by(key, "value")``.

    formulas : formulas with a term that the slider changes, see ``rbmviz.view.formulas``
    """
    _live_slider(
        key=key,
        data={
            "knob": knob_spec(knob),
            "value": value,
            "colour": colour,
            "equation": equation(formulas, {knob.name: knob.symbol or ""}),
            "present": present,
        },
        on_value_change=on_value,
        width=320,
    )
