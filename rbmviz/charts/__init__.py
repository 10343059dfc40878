"""Charts as data: ``Curves`` and ``Bars`` say once what is drawn and how, and have two renderers.

``spec`` returns a chart in Vega-Lite, for the app's pages and for figures; ``content`` returns plain values,
which ``curves.js`` of the app draws for those who watch a page. Altair and pandas are imported when needed.
"""

from rbmviz.charts.axes import Axis, Legend, Style, styled
from rbmviz.charts.bars import Bars
from rbmviz.charts.curves import Curves, Level
from rbmviz.charts.drawing import Chart, Drawing, Rows, Spec

__all__ = ["Axis", "Bars", "Chart", "Curves", "Drawing", "Legend", "Level", "Rows", "Spec", "Style", "styled"]
