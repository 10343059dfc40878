"""See Markov chains mix: samplers and trainers of restricted Boltzmann machines."""

from rbmviz import metrics
from rbmviz.coupling import couple
from rbmviz.datasets import Dataset, list_datasets, load_dataset
from rbmviz.errors import BadInput
from rbmviz.metrics import list_metrics
from rbmviz.models import from_sklearn, list_models, load_model
from rbmviz.rbm import RBM, Model, Statistics, save_model
from rbmviz.samplers import Samples, list_samplers, make_sampler, sample, stream
from rbmviz.trainers import list_trainers, make_trainer, train, trained_model
from rbmviz.trainers.checkpoint import load_checkpoint, save_checkpoint
from rbmviz.trainers.pop_cd import pop_weights

__all__ = [
    "RBM",
    "BadInput",
    "Dataset",
    "Model",
    "Samples",
    "Statistics",
    "couple",
    "from_sklearn",
    "list_datasets",
    "list_metrics",
    "list_models",
    "list_samplers",
    "list_trainers",
    "load_checkpoint",
    "load_dataset",
    "load_model",
    "make_sampler",
    "make_trainer",
    "metrics",
    "pop_weights",
    "sample",
    "save_checkpoint",
    "save_model",
    "stream",
    "train",
    "trained_model",
]
