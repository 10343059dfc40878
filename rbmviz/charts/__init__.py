"""Charts as data: ``Curves`` and ``Bars`` say once what is drawn and how, and have two renderers.

``spec`` returns a chart in Vega-Lite, for the app's pages and for figures; ``content`` returns plain values,
which ``curves.js`` of the app draws for those who watch a page. Altair and pandas are imported when needed.
"""

from rbmviz.charts.axes import ChartAxis, Legend, Style, styled
from rbmviz.charts.bars import Bars
from rbmviz.charts.curves import Curves, Level
from rbmviz.charts.plot import Chart, Plot, Rows, Spec
