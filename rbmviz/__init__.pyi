from . import metrics, testing
from . import plot as plot
from . import sklearn as sklearn
from .algorithms import fit, make_sampler, make_trainer
from .coupling import couple
from .datasets import Dataset, list_datasets, load_dataset
from .errors import BadInput
from .metrics import list_metrics
from .models import from_sklearn, list_models, load_model, to_sklearn
from .rbm import RBM, Model, Statistics
from .rbm.files import from_arrays, load_chains, save_model
from .samplers import Samples, list_samplers, sample, stream
from .sweeps.sweep import sweep
from .trainers import list_trainers, train, trained_model
from .trainers.checkpoint import load_checkpoint, save_checkpoint
from .trainers.pop_cd import pop_weights
from .view.notebook import play

__version__: str

__all__ = [
    "RBM",
    "BadInput",
    "Dataset",
    "Model",
    "Samples",
    "Statistics",
    "couple",
    "fit",
    "from_arrays",
    "from_sklearn",
    "list_datasets",
    "list_metrics",
    "list_models",
    "list_samplers",
    "list_trainers",
    "load_chains",
    "load_checkpoint",
    "load_dataset",
    "load_model",
    "make_sampler",
    "make_trainer",
    "metrics",
    "play",
    "plot",
    "pop_weights",
    "sample",
    "save_checkpoint",
    "save_model",
    "stream",
    "sweep",
    "testing",
    "to_sklearn",
    "train",
    "trained_model",
]
