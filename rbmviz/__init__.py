"""See Markov chains mix: samplers and trainers of restricted Boltzmann machines."""

from rbmviz.errors import BadInput
from rbmviz.rbm import RBM, Model, Statistics, save_model

__all__ = ["RBM", "BadInput", "Model", "Statistics", "save_model"]
