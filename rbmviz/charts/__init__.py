"""Charts as data: ``Curves`` and ``Bars`` describe a chart once, for two renderers.

``spec`` returns a chart in Vega-Lite, for figures; ``content`` returns plain values, which ``curves.js``
draws on a canvas of a page. Altair and pandas are imported when needed.
"""

from rbmviz.charts.axes import ChartAxis, Legend, Style, styled
from rbmviz.charts.bars import Bars
from rbmviz.charts.curves import Curves, Level
from rbmviz.charts.plot import Chart, Plot, Rows, Spec
