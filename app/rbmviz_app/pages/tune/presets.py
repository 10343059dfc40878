"""Presets of the Tune page: plans whose maps show what there is to tune. Nothing runs before *Start*.

The panel of a preset is the run beside the map; its claims are about settings of the sweep, ``variants``.
"""

from rbmviz_app.presets import Claim, Preset

PRESETS = (
    Preset(
        "Large steps win early",
        "After ten samples of rates-herding a step of 0.3 is far ahead of one of 0.003, after 3,000 it is "
        "behind: drag the slider of the samples.",
        ("rates_herding:eps=0.03162",),
        {"tune_samplers": ["rates_herding"], "tune_y": "none"},
        (
            Claim(1, "isl_validation", ">", 10, of=2, n=10),
            Claim(2, "isl_validation", ">", 1, of=1, n=3000),
        ),
        invites=("eps",),
        variants=("rates_herding:eps=0.3162", "rates_herding:eps=0.003162"),
    ),
    Preset(
        "No decay is best",
        "With a decay of 1 rates-FPCD scores best after a thousand samples, and nearly the same with any "
        "step size; with one of 0.8 the step size makes fifty nats.",
        ("rates_fpcd:eps=0.03162,alpha=0.9",),
        {},
        (
            Claim(1, "isl_validation", ">", -10, of=2, n=982),
            Claim(2, "isl_validation", ">", -10, of=1, n=982),
            Claim(1, "isl_validation", ">", 10, of=3, n=982, not_of=4),
            Claim(3, "isl_validation", ">", 40, of=4, n=982),
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
        "On a model that CD-1 has trained, most samples of sample penalization are blank, whatever its step "
        "size, and its cells are crossed out; those of rates-FPCD are not.",
        ("rates_fpcd:eps=0.03162",),
        {
            "tune_models": ["mnist_cd1"],
            "tune_samplers": ["rates_fpcd", "sample_penalization"],
            "tune_y": "none",
        },
        (
            Claim(1, "blank", ">", 0.5, n=982, not_of=3),
            Claim(2, "blank", ">", 0.5, n=982, not_of=3),
            Claim(3, "blank", "<", 0.2, n=982, not_of=1),
        ),
        invites=("eps",),
        variants=("sample_penalization:eps=0.001", "sample_penalization:eps=1", "rates_fpcd:eps=0.001"),
    ),
    Preset(
        "Trainers fall away",
        "After 3,000 updates CD-1 is one or two nats worse with a learning rate of 1 than with 0.1, and ten "
        "sweeps per update hold it up.",
        ("cd:k=3,learning_rate=0.1,iterations=3000",),
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
            "tune_speed": 200,
        },
        (
            Claim(2, "log_likelihood", "<", -0.5, of=1, n=3000, not_of=3),
            Claim(3, "log_likelihood", ">", 1, of=2, n=3000),
        ),
        invites=("learning_rate", "k"),
        variants=(
            "cd:k=1,learning_rate=0.1,iterations=3000",
            "cd:k=1,learning_rate=1,iterations=3000",
            "cd:k=10,learning_rate=1,iterations=3000",
        ),
    ),
)
