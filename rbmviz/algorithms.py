"""Constructors of algorithms, and ``fit``; the stub beside this file names every knob, for editors."""

from rbmviz.samplers import make_sampler
from rbmviz.trainers import fit, make_trainer

__all__ = ["fit", "make_sampler", "make_trainer"]
