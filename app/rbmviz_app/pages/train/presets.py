"""Presets of the Train page."""

from rbmviz.pages import PAGES
from rbmviz_app.presets import Preset

FALLING_RATE = "learning_rate=0.5,schedule=linear,iterations=3000"
PRESETS = (
    Preset(
        "CD falls away",
        "After 3,000 updates CD and PCD get worse; pop-CD stays best.",
        PAGES["train"].default_panels,
        {"statistic": "ess"},
        (
            "panel1.likelihood < panel1.likelihood@3000 - 0.02 at 6000 updates, not of panel3",
            "panel2.likelihood < panel2.likelihood@3000 - 0.2 at 6000 updates, not of panel3",
            "panel3.likelihood > panel3.likelihood@3000 + 0.1 at 6000 updates, not of panel1",
            "panel3.likelihood > panel1.likelihood + 1 at 6000 updates",
            "panel3.likelihood > panel2.likelihood + 1.5 at 6000 updates",
            "panel4.likelihood < panel3.likelihood - 0.5 at 3000 updates",
            "panel4.likelihood < panel3.likelihood - 0.5 at 6000 updates",
        ),
    ),
    Preset(
        "Four prototypes",
        "Modes far apart. CD explores only the neighbourhood of the data and gets worse and worse. pop-CD "
        "and parallel tempering weigh the modes correctly. PCD gets near them, but unsteadily.",
        ("cd", "pcd", "pop_cd", "pt"),
        {"train_data": "modes", "pace": 200, "statistic": "ess"},
        (
            "panel1.likelihood < panel1.likelihood@500 - 1 at 1000 updates, not of panel3",
            "panel1.likelihood < panel2.likelihood - 3 at 1000 updates",
            "panel3.likelihood > panel2.likelihood at 1000 updates",
            "panel4.likelihood > panel2.likelihood - 0.1 at 1000 updates",
            "panel4.likelihood > panel1.likelihood + 3 at 1000 updates",
        ),
    ),
    Preset(
        "The yardstick",
        "The exact gradient and three estimates of it, with the same data, seed and learning rate. After "
        "2,000 updates pop-CD is ahead of CD, which is biased, and of UCD, which is unbiased but noisy.",
        (
            "exact:learning_rate=0.2",
            "cd:learning_rate=0.2",
            "pop_cd:learning_rate=0.2",
            "ucd:learning_rate=0.2,schedule=constant,n_chains=200,t_max=50",
        ),
        {"train_data": "bas@3", "hidden": 8, "statistic": "ess"},
        (
            "panel3.likelihood > panel2.likelihood + 0.1 at 2000 updates",
            "panel3.likelihood > panel4.likelihood + 0.1 at 2000 updates",
        ),
    ),
    Preset(
        "UCD wins",
        "Bars and Stripes of 3 × 3 pixels. The learning rate falls to 0 within 3,000 updates, so noise "
        "averages out and bias remains. UCD, with 1,000 pairs, is erratic for a long time and ends best: "
        "above pop-CD and PCD by a few hundredths of a nat, above CD by half a nat. It takes the longest.",
        (
            *(f"{name}:{FALLING_RATE}" for name in ("cd", "pcd", "pop_cd")),
            f"ucd:{FALLING_RATE},n_chains=1000,t_max=100",
        ),
        {"train_data": "bas@3", "hidden": 8, "statistic": "tau_mean"},
        (
            "panel4.likelihood > panel3.likelihood + 0.01 at 3000 updates",
            "panel4.likelihood > panel2.likelihood + 0.03 at 3000 updates",
            "panel4.likelihood > panel1.likelihood + 0.2 at 3000 updates",
            "panel4.likelihood > -2.76 at 3000 updates, not of panel3",
            "panel4.likelihood < panel3.likelihood - 0.05 at 1500 updates",
        ),
    ),
    Preset(
        "Digits",
        "Too large to enumerate: the curves are estimates by annealed importance sampling, with standard "
        "errors (0.01 nats after 500 updates; they grow with the weights).",
        ("cd", "pcd", "fpcd"),
        {"train_data": "digits", "hidden": 64, "pace": 50, "statistic": "fast_norm"},
        (
            "panel1.likelihood_error > 0 at 500 updates",
            "panel1.likelihood_error < 0.05 at 500 updates",
            "panel1.likelihood > -25 at 500 updates",
        ),
    ),
    Preset(
        "A yardstick that punishes",
        "CD and PCD memorise their examples. By “training” both climb above the true model, −55.5 nats;"
        " by “held out” and by the “Monte Carlo average” of unbiased CD’s paper they fall. That average "
        "also flatters, where chains do not leave their examples.",
        (
            "cd:learning_rate=0.5,batch_size=500,initial_scale=0.2",
            "pcd:learning_rate=0.5,batch_size=500,n_chains=500,initial_scale=0.2",
        ),
        {"train_data": "simulated", "hidden": 100, "pace": 200, "part": "monte_carlo"}
        | {"statistic": "free_energy_gap"},
        (
            "panel1.likelihood > -55 at 2000 updates",
            "panel2.likelihood > -55 at 2000 updates",
            "panel1.held_out < panel1.held_out@500 - 1 at 2000 updates",
            "panel2.held_out < panel2.held_out@500 - 1 at 2000 updates",
            "panel1.monte_carlo < panel1.monte_carlo@500 - 0.5 at 2000 updates",
            "panel2.monte_carlo < panel2.monte_carlo@500 - 1 at 2000 updates",
        ),
    ),
)
