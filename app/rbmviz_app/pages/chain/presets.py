"""Presets of the landscape."""

from rbmviz.pages import PAGES
from rbmviz_app.presets import Preset

PRESETS = (
    Preset(
        "Two valleys",
        "Gibbs crosses by luck. Both samplers that unlearn cross often; only rates keep the visits right.",
        PAGES["chain"].default_panels,
        claims=(
            "panel2.crossings > panel1.crossings + 2 at 600 samples",
            "panel3.crossings > panel1.crossings + 2 at 600 samples",
            "panel2.visits < 0.12 at 600 samples, not of panel3",
            "panel3.visits > 0.15 at 600 samples, not of panel2",
        ),
    ),
    Preset(
        "The valley fills up",
        "Two valleys, twelve nats deep. Each sample raises the ground under rates-FPCD until it rolls out, "
        "again and again. Under Gibbs the ground never moves: it crosses by luck, once in 3,500 samples.",
        PAGES["chain"].default_panels,
        {"land_depth": 12.0},
        (
            "panel1.crossings < 1 at 600 samples, not of panel2",
            "panel2.crossings > 3 at 600 samples, not of panel1",
            "panel1.visits > 0.4 at 600 samples, not of panel2",
            "panel2.visits < 0.2 at 600 samples, not of panel1",
        ),
    ),
    Preset(
        "Heat or unlearning",
        "Heat frees Gibbs by flattening every valley permanently, so it samples another distribution. "
        "Unlearning raises the ground only where the chain is; its visits come close to the model’s "
        "distribution.",
        ("gibbs", "gibbs:temperature=2", "rates_fpcd:eps=0.05"),
        {"land": "three patterns", "land_depth": 12.0},
        (
            "panel1.crossings < 1 at 600 samples, not of panel2",
            "panel2.crossings > 30 at 600 samples, not of panel1",
            "panel2.visits > 0.3 at 600 samples, not of panel3",
            "panel3.crossings > 5 at 600 samples, not of panel1",
            "panel3.visits < 0.15 at 600 samples, not of panel2",
        ),
    ),
    Preset(
        "Decay hurts",
        "With decay the chain forgets where it has been. With decay 0.95 it crosses even more often, but the "
        "error of its visits ends three times as high as without decay; with 0.8 higher still.",
        ("rates_fpcd:eps=0.05", "rates_fpcd:eps=0.05,alpha=0.95", "rates_fpcd:eps=0.05,alpha=0.8"),
        {"land": "letters L T X", "land_pace": 100},
        (
            "panel1.visits < 0.06 at 3000 samples, not of panel2",
            "panel2.crossings > panel1.crossings + 30 at 3000 samples",
            "panel2.visits > 0.08 at 3000 samples, not of panel1",
            "panel3.visits > panel2.visits + 0.02 at 3000 samples",
        ),
    ),
    Preset(
        "Penalization ends empty",
        "Without rates and decay, each bit that is on becomes less likely. The empty state takes over: more "
        "than half of the first 3,000 samples are empty. With decay, or with the rates, hardly any are.",
        (
            "rates_fpcd:eps=0.01",
            "sample_penalization:eps=0.01,alpha=0.9",
            "sample_penalization:eps=0.01,alpha=1",
        ),
        {"land_pace": 100},
        (
            "panel1.empty < 1 at 3000 samples, not of panel3",
            "panel2.empty < 1 at 3000 samples, not of panel3",
            "panel3.empty > 50 at 3000 samples, not of panel2",
            "panel3.bent > 0.9 at 3000 samples, not of panel2",
        ),
    ),
    Preset(
        "Penalization ends uniform",
        "The same penalty with two codings. With units 0 and 1 only units that are on are penalised, and the "
        "empty state takes over. With units −1 and +1 every state is penalised alike: in the end all 64 are "
        "equally frequent.",
        ("sample_penalization:eps=0.003,alpha=1", "sample_penalization:eps=0.003,alpha=1,units=symmetric"),
        {"land_pace": 100},
        (
            "panel1.empty > 15 at 3000 samples, not of panel2",
            "panel2.empty < 3 at 3000 samples, not of panel1",
            "panel2.bent > 0.7 at 3000 samples",
        ),
    ),
    Preset(
        "Moments fall as 1/t",
        "The means of Gibbs samples approach the rates by chance. With decay 1 those of rates-FPCD must: the "
        "error is at most |θF|/(εt), so ten times the samples make it about ten times smaller. With other "
        "decays it levels off far above.",
        ("gibbs", "rates_fpcd:eps=0.03", "rates_fpcd:eps=0.05,alpha=0.95"),
        {"land": "letters L T X", "land_depth": 8.0, "land_pace": 1000, "land_curve": "moments"},
        (
            "panel2.moments < 0.015 at 3000 samples, not of panel1",
            "panel2.moments < 0.003 at 30000 samples, not of panel1",
            "panel1.moments > 0.02 at 30000 samples, not of panel2",
            "panel3.moments > 0.03 at 30000 samples, not of panel2",
        ),
    ),
    Preset(
        "Too large a step",
        "Large steps throw the chain out of each valley at once. The moments are still right, but the larger "
        "the step, the larger the remaining error of the visits.",
        ("rates_fpcd:eps=0.03", "rates_fpcd:eps=0.3", "rates_fpcd:eps=1"),
        {"land_depth": 8.0, "land_pace": 100},
        (
            "panel1.moments < 0.02 at 3000 samples",
            "panel2.moments < 0.02 at 3000 samples",
            "panel3.moments < 0.02 at 3000 samples",
            "panel2.visits > panel1.visits + 0.03 at 3000 samples",
            "panel3.visits > panel2.visits + 0.05 at 3000 samples",
        ),
    ),
)
