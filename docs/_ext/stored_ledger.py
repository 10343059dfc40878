"""The ledger of the papers' claims on a page, made from the stored results when the site is built."""

from sphinx.application import Sphinx

from papers.markdown import markdown

PAGE, PLACE = "reproduce", "<!-- the ledger stands here when the site is built -->"
"""The page, and the comment in its source that is replaced."""


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    if page == PAGE:
        before, found, after = source[0].partition(PLACE)
        assert found, f"{page} has no place for the ledger"
        source[0] = before + markdown("../rbmviz/ledger/stored") + after


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill in the ledger when the page is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
