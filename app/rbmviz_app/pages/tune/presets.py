"""Presets of the Tune page: plans whose maps show what tuning can gain.

Only recorded maps have scores before *Start*. A preset's panel is the chain beside the map, of which trainers
have none; its claims are about settings of the sweep, named in ``variants``.
"""

from rbmviz_app.presets import Preset

PRESETS = (
    Preset(
        "Large steps win early",
        "With rates-herding a step of 0.3 is far ahead of 0.003 after ten samples, and behind after 3,000: "
        "drag the samples slider.",
        ("rates_herding:eps=0.03162",),
        {"tune_samplers": ["rates_herding"], "tune_y": "none"},
        (
            "panel2.isl_validation > panel3.isl_validation + 10 at 10 samples",
            "panel3.isl_validation > panel2.isl_validation + 1 at 3000 samples",
        ),
        invites=("eps",),
        variants=("rates_herding:eps=0.3162", "rates_herding:eps=0.003162"),
    ),
    Preset(
        "No decay is best",
        "Decay 1 suits almost any step size.",
        ("rates_fpcd:eps=0.03162,alpha=0.9962",),
        {},
        (
            "panel2.isl_validation > panel3.isl_validation - 10 at 982 samples",
            "panel3.isl_validation > panel2.isl_validation - 10 at 982 samples",
            "panel2.isl_validation > panel4.isl_validation + 10 at 982 samples, not of panel5",
            "panel4.isl_validation > panel5.isl_validation + 40 at 982 samples",
        ),
        invites=("eps", "alpha"),
        variants=(
            "rates_fpcd:eps=0.001,alpha=1",
            "rates_fpcd:eps=1,alpha=1",
            "rates_fpcd:eps=0.03162,alpha=0.8",
            "rates_fpcd:eps=1,alpha=0.8",
        ),
    ),
    Preset(
        "Blank samples",
        "On a model trained by CD-1, most samples of sample penalization are blank, whatever its step size; "
        "its cells are crossed out. rates-FPCD has no such cells.",
        ("rates_fpcd:eps=0.03162",),
        {
            "tune_models": ["mnist_cd1"],
            "tune_samplers": ["rates_fpcd", "sample_penalization"],
            "tune_y": "none",
        },
        (
            "panel2.blank > 0.5 at 982 samples, not of panel4",
            "panel3.blank > 0.5 at 982 samples, not of panel4",
            "panel4.blank < 0.2 at 982 samples, not of panel2",
        ),
        invites=("eps",),
        variants=("sample_penalization:eps=0.001", "sample_penalization:eps=1", "rates_fpcd:eps=0.001"),
    ),
    Preset(
        "Trainers fall away",
        "After 3,000 updates CD-1 is one or two nats worse with learning rate 1 than with 0.1; ten sweeps "
        "per update prevent it.",
        (),
        {
            "tune_what": "trainers",
            "tune_hidden": 10,
            "tune_x": "learning_rate",
            "tune_x_from": 0.01,
            "tune_x_n": 5,
            "tune_y": "k",
            "tune_y_from": 1.0,
            "tune_y_to": 10.0,
            "tune_y_n": 3,
            "tune_y_scale": "log",
            "tune_seeds": 3,
        },
        (
            "panel2.log_likelihood < panel1.log_likelihood - 0.5 at 3000 updates, not of panel3",
            "panel3.log_likelihood > panel2.log_likelihood + 1 at 3000 updates",
        ),
        invites=("learning_rate", "k"),
        variants=(
            "cd:k=1,learning_rate=0.1,iterations=3000",
            "cd:k=1,learning_rate=1,iterations=3000",
            "cd:k=10,learning_rate=1,iterations=3000",
        ),
    ),
)
