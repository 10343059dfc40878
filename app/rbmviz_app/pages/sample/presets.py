"""Presets of the Sample page."""

from rbmviz.pages import PAGES
from rbmviz_app.presets import Preset

FOUR = ("gibbs", "rates_fpcd", "rates_herding", "sample_penalization")
UPPER_HALF = (
    "_________________________________________________________________wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAkAAAH4AAA_wAAHJgAA4CAAHAMAA4AYAGABgAwAGAHAAY"
)
"""The upper half of a test image, a 0 (``Clamp.text``)."""

PRESETS = (
    Preset(
        "Set it free",
        "At step size 0 rates-FPCD sticks like Gibbs: drag it up.",
        PAGES["sample"].default_panels,
        claims=(
            "panel1.largest_class > 70 at 1800 samples, not of panel3",
            "panel2.largest_class > 70 at 1800 samples, not of panel3",
            "panel3.visited > 9 at 1800 samples, not of panel2",
            "panel5.visited > 9 at 1800 samples, not of panel2",
            "panel5.isl > panel2.isl + 50 at 1800 samples",
        ),
        variants=("rates_fpcd",),
    ),
    Preset(
        "The comparison",
        "Gibbs is stuck on a few digits, mostly one. rates-FPCD and rates-herding soon reach all ten. Sample "
        "penalization is in between.",
        FOUR,
        claims=(
            "panel1.largest_class > 70 at 1800 samples, not of panel2",
            "panel2.visited > 9 at 1800 samples, not of panel1",
            "panel3.visited > 9 at 1800 samples, not of panel1",
            "panel2.isl > panel1.isl + 50 at 1800 samples",
            "panel3.isl > panel1.isl + 50 at 1800 samples",
            "panel4.isl > panel1.isl + 5 at 1800 samples",
            "panel4.isl < panel2.isl - 20 at 1800 samples",
        ),
    ),
    Preset(
        "Gibbs sticks",
        "Even with 20 sweeps per sample or a higher temperature, Gibbs covers the unseen digits far worse "
        "than rates-FPCD, which visits all ten with one sweep per sample. Compare the ISL.",
        ("gibbs", "gibbs:k=20", "gibbs:temperature=1.5", "rates_fpcd"),
        claims=(
            "panel1.visited < 6 at 1800 samples, not of panel4",
            "panel3.visited < 10 at 1800 samples, not of panel4",
            "panel4.visited > 9 at 1800 samples, not of panel3",
            "panel2.switches > panel1.switches + 20 at 1800 samples",
            "panel3.switches > panel1.switches + 20 at 1800 samples",
            "panel4.isl > panel2.isl + 20 at 1800 samples",
            "panel4.isl > panel3.isl + 20 at 1800 samples",
        ),
    ),
    Preset(
        "CD digs holes",
        "CD-1 training left a trap at the blank image. Sample penalization and, as a rule, Gibbs fall into "
        "it: most of their samples are blank. The ISL puts even blanks above a chain of clear 5s. The other "
        "two reach all ten digits: the statistics of the data pull them back.",
        FOUR,
        {"model": "mnist_cd1"},
        (
            "panel1.blank > 50 at 1800 samples, not of panel2",
            "panel4.blank > 50 at 1800 samples, not of panel2",
            "panel2.blank < 5 at 1800 samples, not of panel1",
            "panel3.blank < 5 at 1800 samples, not of panel1",
            "panel2.visited > 9 at 1800 samples, not of panel1",
            "panel3.visited > 9 at 1800 samples, not of panel1",
        ),
    ),
    Preset(
        "Decay hurts",
        "FPCD uses decay in training, but it is bad for sampling. The chain changes digit even more often, "
        "yet forgets where it has been: the ISL gets worse from decay 1 (none) to 0.99, 0.95 and 0.8.",
        ("rates_fpcd", "rates_fpcd:alpha=0.99", "rates_fpcd:alpha=0.95", "rates_fpcd:alpha=0.8"),
        claims=(
            "panel2.isl < panel1.isl - 5 at 1800 samples",
            "panel3.isl < panel2.isl - 5 at 1800 samples",
            "panel4.isl < panel3.isl - 5 at 1800 samples",
            "panel4.switches > panel1.switches + 100 at 1800 samples",
        ),
    ),
    Preset(
        "Penalization skews",
        "Without the rates nothing pulls the chain back to the data: stronger penalties, or penalties that "
        "do not decay, wipe the ink away until most samples are blank. rates-FPCD draws no blanks and "
        "scores best.",
        ("rates_fpcd", "sample_penalization", "sample_penalization:eps=0.003", "sample_penalization:alpha=1"),
        claims=(
            "panel1.blank < 1 at 1800 samples, not of panel3",
            "panel3.blank > 90 at 1800 samples, not of panel1",
            "panel4.blank > 60 at 1800 samples, not of panel1",
            "panel1.isl > panel2.isl + 30 at 1800 samples",
            "panel1.isl > panel3.isl + 30 at 1800 samples",
            "panel1.isl > panel4.isl + 30 at 1800 samples",
        ),
    ),
    Preset(
        "A hundred chains",
        "In the last three panels each tile is a chain, started at its own digit. More and more Gibbs "
        "chains sink into the blank image. With fast parameters of their own, chains keep moving, but some "
        "images look like no digit. Fast parameters shared by all chains score best.",
        ("gibbs", "gibbs:n_chains=100", "rates_fpcd:n_chains=100", "rates_fpcd:n_chains=100,share=true"),
        {"model": "mnist_cd1", "speed": 200, "cells": 10},
        (
            "panel2.blank_now > 10 at 6000 samples, not of panel3",
            "panel2.blank_now > panel2.blank_now@1500 + 5 at 6000 samples",
            "panel3.switches > panel2.switches + 1000 at 6000 samples",
            "panel3.spurious_not_blank > panel4.spurious_not_blank + 4 at 6000 samples",
            "panel4.blank_now < 8 at 6000 samples, not of panel2",
            "panel4.isl > panel2.isl + 4 at 6000 samples",
            "panel4.isl > panel3.isl + 4 at 6000 samples",
        ),
    ),
    Preset(
        "Complete a digit",
        "The upper half of a 0 is held, and the samplers draw the rest. Gibbs completes it as a 0 and sticks "
        "to that. rates-FPCD keeps trying: a 5, a 6, a 9, and the 0 again.",
        ("gibbs", "rates_fpcd"),
        {"clamp": UPPER_HALF, "curve": "draw"},
        (
            "panel1.largest_class > 90 at 1800 samples, not of panel2",
            "panel2.visited > 3 at 1800 samples, not of panel1",
            "panel2.switches > panel1.switches + 100 at 1800 samples",
        ),
    ),
)
