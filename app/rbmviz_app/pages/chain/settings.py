"""Settings of the page How it works."""

from rbmviz.pages import PAGES
from rbmviz_app.session import PageSettings

Settings = PageSettings(PAGES["chain"].settings)
