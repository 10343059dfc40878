"""Read the state of a page, which defines its runs, from an untrusted link."""

from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.pages import PAGES, Sources
from rbmviz.pages.links import NO_PANEL, read_panels, write_changed_panel
from rbmviz.sweeps import SweepPlan

MAX_LINK = 2000
"""Maximum number of characters of a link."""

MAX_PANELS_OF_STEP = 8
"""Maximum number of panels in a step."""

MAX_RUNS_OF_MAP, MAX_STEPS_OF_MAP_RUN = 400, 20_000
"""Maximum number of runs (settings times seeds) of a step's sweep on the Tune page, and of steps per run."""

PARTS_OF_THE_VIEW = {"preset", "present", "paused", "paused_at", "lesson", "step", "result", "ui"}
"""Parts of a copied address that do not affect the runs."""

PARTS_OF_OWN_FILES = {"kept": "files"} | {
    name: what for spec in PAGES.values() for name, what in spec.own_parts.items()
}
"""Parts of an address that refer to a visitor's own data or models, which a step cannot open."""


class Branch(NamedTuple):
    """A training that continues from another training's model.

    of : index, from 0, of the panel to continue from
    at : number of updates of that panel at the branch
    panel : trainer of the branch, as written in a link
    """

    of: int
    at: int
    panel: str


class PageState(NamedTuple):
    """A page, its panels and its settings.

    page : name of the page
    panels : the panels, each as written in a link
    settings : value of every setting of the page; the default if the link omits it
    branches : on Train: panels that the reader adds on the right (default: none)
    """

    page: str
    panels: tuple[str, ...]
    settings: dict[str, Any]
    branches: tuple[Branch, ...] = ()

    def algorithms(self) -> list[Any]:
        """Return the algorithms of the panels that the page opens with."""
        return read_panels(PAGES[self.page].algorithms, self.panels)[0]

    def all_algorithms(self) -> list[Any]:
        """Return the algorithms of the panels, then of the branches."""
        table = PAGES[self.page].algorithms
        return [*self.algorithms(), *(table.read(branch.panel) for branch in self.branches)]

    def setup(self, sources: Sources = Sources()) -> Any:  # noqa: B008 (immutable)
        """Return the setup that all panels share.

        Raises BadInput if the data are not on this machine, or do not fit the model.
        """
        return PAGES[self.page].setup(self.settings, sources)


def read_state(link: str) -> PageState:
    """Return the page state that a link describes: ``chain?land_depth=12&l=gibbs``, or a full address.

    Raises BadInput if the page has no live panels, a panel cannot be read, the page lacks a setting,
    or it refuses a value.
    """
    if len(link) > MAX_LINK:
        raise BadInput(f"the link has {len(link):,} characters and may have {MAX_LINK:,}.")
    try:
        parts = urlsplit(link)
        said = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise BadInput(f"{quoted(link)} is not a link, as 'chain?land_depth=12&l=gibbs' is.") from None
    page = parts.path.rstrip("/").rpartition("/")[2] or "sample"
    if page not in PAGES:
        raise unknown("page with live panels", page, PAGES)
    spec, values = PAGES[page], PAGES[page].defaults()
    texts = said.pop(spec.panels_key, None)
    for name, value in said.items():
        if name in PARTS_OF_THE_VIEW:
            continue
        if name in PARTS_OF_OWN_FILES:
            raise BadInput(
                f"the link's '{name}' names {PARTS_OF_OWN_FILES[name]} of your own, which a step cannot open."
            )
        if name not in spec.settings:
            raise unknown(f"setting of the page {page}", name, [spec.panels_key, *spec.settings])
        values[name] = spec.settings[name].read(name, value)
    panels = tuple(texts or spec.first_panels(values))
    most = 1 if spec.single else MAX_PANELS_OF_STEP
    if panels == (NO_PANEL,) or len(panels) > most:
        raise BadInput(f"the link has {len(panels)} panels: give from 1 to {most}.")
    algorithms, refused = read_panels(spec.algorithms, panels)
    if refused:
        raise BadInput(refused[0])
    if spec.only and {algorithm.name for algorithm in algorithms} != {spec.only}:
        raise BadInput(f"the panels of the page {page} are all {spec.only}.")
    if spec.sweep is not None:
        _check_map(spec.sweep(values))
    return PageState(page, tuple(write_changed_panel(algorithm) for algorithm in algorithms), values)


def _check_map(plan: SweepPlan) -> None:
    """Check that a map takes no longer than a lesson allows, and has the same scores on every machine."""
    if plan.size > MAX_RUNS_OF_MAP:
        raise BadInput(f"the map has {plan.size:,} runs and may have {MAX_RUNS_OF_MAP:,}.")
    if plan.budget.unit == "seconds" or plan.budget.amount > MAX_STEPS_OF_MAP_RUN:
        raise BadInput(
            f"the runs of the map last {plan.budget.amount:,} {plan.budget.unit}: give at most "
            f"{MAX_STEPS_OF_MAP_RUN:,} samples, sweeps or updates."
        )
