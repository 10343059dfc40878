"""Settings of the Weights page."""

from rbmviz.session import Start
from rbmviz_app.session import Setting

STUDIED = {"bas": 32, "modes": 100, "digits": 100, "letters": 100, "mnist5k": 100}
"""Data that the models of the study are trained on, and how many examples a batch of theirs has."""


class Settings:
    """What the address of this page says besides its panels, by name, with today's defaults."""

    weights_model = Setting("bas_pcd", "Model")
    weights_start: Setting[Start] = Setting("data", "Chains begin at")
    weights_seed = Setting(0, "Seed")
    weights_pace: Setting[float] = Setting(10)  # batches per second
    grown = Setting("bas")
    growth_quantity = Setting("ratio")
    weights_more = Setting(False)


IN_MORE_CHARTS = (Settings.grown, Settings.growth_quantity)
"""Settings that are drawn in the fold; a new one there is listed here, see ``controls.more_charts``.

No preset sets these."""
