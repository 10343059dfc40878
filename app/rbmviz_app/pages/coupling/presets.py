"""Presets of the Coupling page."""

from rbmviz.pages import PAGES
from rbmviz_app.presets import Preset

PRESETS = (
    Preset(
        "Weights grow",
        "Sharing all random numbers, chains meet in about 25 sweeps; sharing only proposals (algorithm 1), "
        "in 200. Drag the standard deviation to 0.1: all meet soon.",
        PAGES["coupling"].default_panels,
        claims=(
            "panel1.half_step_mean < panel1.rbm_mean - 2 at 200 pairs",
            "panel1.rbm_mean > 10 at 100 pairs, not of panel2",
            "panel1.rbm_mean < 60 at 100 pairs",
            "panel1.general_mean > 100 at 100 pairs, not of panel2",
            "panel2.rbm_mean < 6 at 100 pairs, not of panel1",
            "panel2.general_mean < 8 at 100 pairs, not of panel1",
        ),
        variants=("coupling:scale=0.1",),
    ),
    Preset(
        "Small enough to know",
        "UCD converges to the exact value, CD-1 does not: open “More charts”.",
        ("coupling:scale=1.5",),
        {"coupling_visible": 16, "coupling_hidden": 10},
        (
            "panel1.rbm_ucd_errors < 3 at 1000 pairs",
            "panel1.rbm_cd_errors > 6 at 1000 pairs",
            "panel1.general_ucd_errors < 3 at 1000 pairs",
        ),
    ),
    Preset(
        "Sharing randomness",
        "500 visible and 100 hidden units, as in the paper’s figure 5. With algorithm 3 more than half of "
        "the pairs meet within 10 sweeps; with algorithm 1 most need hundreds.",
        ("coupling:scale=0.1",),
        {"coupling_visible": 500, "coupling_hidden": 100},
        (
            "panel1.rbm_within_10 > 50 at 60 pairs",
            "panel1.general_within_10 < 10 at 60 pairs",
            "panel1.general_median > 200 at 60 pairs",
        ),
    ),
    Preset(
        "Modes keep them apart",
        "A model trained on Bars and Stripes, its parameters halved: half of the pairs meet within 10 "
        "sweeps; pairs that start in different modes meet late. Drag the scale to 1: now a quarter or more "
        "do not meet in a thousand sweeps, because Gibbs sampling rarely changes mode.",
        ("coupling:scale=0.5",),
        {"coupling_model": "bas_pcd", "lag": 100},
        (
            "panel1.rbm_within_10 > 40 at 100 pairs",
            "panel1.rbm_mean > 20 at 100 pairs",
            "panel1.rbm_cut < 1 at 100 pairs, not of panel2",
            "panel2.rbm_cut > 25 at 100 pairs, not of panel1",
            "panel2.rbm_within_10 > 50 at 100 pairs",
        ),
        variants=("coupling:scale=1",),
    ),
    Preset(
        "Digits, at half strength",
        "With its parameters halved, chains of a model of digits meet within about a hundred sweeps. Drag "
        "the scale to 1: now most pairs have not met after a thousand.",
        ("coupling:scale=0.5",),
        {"coupling_model": "mnist_cd1", "lag": 50},
        (
            "panel1.rbm_cut < 1 at 32 pairs, not of panel2",
            "panel1.rbm_mean < 100 at 32 pairs",
            "panel1.general_mean < 150 at 32 pairs",
            "panel2.rbm_cut > 50 at 16 pairs, not of panel1",
        ),
        variants=("coupling:scale=1",),
    ),
)
