"""Settings of the Weights page."""

from rbmviz.pages import PAGES
from rbmviz_app.session import PageSettings

Settings = PageSettings(PAGES["weights"].settings)

IN_MORE_CHARTS = (Settings.grown, Settings.growth_quantity)
"""Settings that are drawn in the fold; a new one there is listed here, see ``controls.more_charts``.

No preset sets these."""
