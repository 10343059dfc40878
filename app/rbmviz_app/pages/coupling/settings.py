"""Settings of the Coupling page."""

from rbmviz.pages import PAGES
from rbmviz_app.session import PageSettings

Settings = PageSettings(PAGES["coupling"].settings)
