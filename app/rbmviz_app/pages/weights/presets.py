"""Presets of the Weights page."""

from rbmviz.pages import PAGES
from rbmviz_app.presets import Preset

PRESETS = (
    Preset(
        "One weight takes all",
        "Of a hundred samples one holds most of the weight, and ten times as many help little.",
        PAGES["weights"].default_panels,
        claims=(
            "panel1.max_share > 70 at 30 batches",
            "panel2.max_share > 60 at 30 batches",
            "panel2.ess_share < 4 at 30 batches",
            "panel3.max_share > 40 at 5 batches",
            "panel3.ess_share < 1 at 5 batches, not of panel2",
            "panel4.max_share > 60 at 30 batches",
        ),
    ),
    Preset(
        "An even batch can lie",
        "Even weights, yet log Z comes out 3.4 nats too low; a mixture of proposals comes closest.",
        tuple(f"pop_cd:n_chains=100{more}" for more in ("", ",k=10", ",proposal=joint", ",proposal=mixture")),
        {"weights_model": "bas_pcd"},
        (
            "panel1.ess_share > 65 at 300 batches",
            "panel2.ess_share > 65 at 300 batches",
            "panel3.ess_share > 65 at 300 batches",
            "panel4.ess_share > 65 at 300 batches",
            "panel1.gap > 3.2 at 300 batches, not of panel4",
            "panel2.gap > 3.2 at 300 batches, not of panel4",
            "panel3.gap > 3.2 at 300 batches, not of panel4",
            "panel4.gap > 1 at 300 batches",
            "panel4.gap < 1.5 at 300 batches, not of panel1",
            "panel1.std_error < 0.05 at 300 batches",
        ),
    ),
    Preset(
        "More sweeps even the weights out",
        "CD-1 training left a trap away from the data. After 100 sweeps the samples have fallen into it and "
        "weigh the same, and the estimate of log Z is nearly a hundred nats higher. After one sweep nothing "
        "shows it.",
        tuple(f"pop_cd:n_chains=100,k={k}" for k in (1, 10, 30, 100)),
        {"weights_model": "mnist_cd1"},
        (
            "panel1.ess_share < 5 at 10 batches",
            "panel4.ess_share > 20 at 1 batches, not of panel1",
            "panel4.log_z > panel1.log_z@10 + 70 at 1 batches",
            "panel4.log_z < panel1.log_z@10 + 120 at 1 batches",
        ),
    ),
    Preset(
        "A better proposal",
        "The same samples, weighed with larger and larger mixtures of p(v|h) as proposal. Once they cover "
        "all patterns, log Z is right, at a cost that grows with the mixture (section 3.4).",
        ("pop_cd:n_chains=100", *(f"pop_cd:n_chains=100,proposal=mixture,mixture={r}" for r in (3, 10, 100))),
        {"weights_model": "bas_pcd"},
        (
            "panel1.gap > 3 at 300 batches, not of panel4",
            "panel2.gap < panel1.gap - 0.5 at 300 batches",
            "panel3.gap < panel2.gap - 0.5 at 300 batches",
            "panel4.gap < 0.2 at 300 batches, not of panel3",
            "panel4.gap > -0.2 at 300 batches",
        ),
    ),
)
