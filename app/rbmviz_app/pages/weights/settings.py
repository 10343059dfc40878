"""Settings of the Weights page."""

from rbmviz.pages import PAGES
from rbmviz_app.session import PageSettings

Settings = PageSettings(PAGES["weights"].settings)
