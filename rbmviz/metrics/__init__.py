"""Metrics: one file each; streaming ones have ``update`` and ``value``, and none of them plots."""

from rbmviz.metrics.ais import Annealed, ais_blocks, ais_log_z
from rbmviz.metrics.chain import (
    chain_distances,
    start_law,
    sweep_distances,
    sweep_law,
    total_variation,
    transition_matrix,
)
from rbmviz.metrics.chains import Diagnostics, chain_diagnostics
from rbmviz.metrics.coverage import Coverage
from rbmviz.metrics.exact import (
    exact_gradient,
    log_likelihood,
    log_z,
    model_statistics,
    probabilities,
    too_large,
)
from rbmviz.metrics.isl import ISL, Kernel, isl, reference
from rbmviz.registry import metrics


def list_metrics() -> list[str]:
    """Return the registered names."""
    return list(metrics)


__all__ = [
    "ISL",
    "Annealed",
    "Coverage",
    "Diagnostics",
    "Kernel",
    "ais_blocks",
    "ais_log_z",
    "chain_diagnostics",
    "chain_distances",
    "exact_gradient",
    "isl",
    "list_metrics",
    "log_likelihood",
    "log_z",
    "model_statistics",
    "probabilities",
    "reference",
    "start_law",
    "sweep_distances",
    "sweep_law",
    "too_large",
    "total_variation",
    "transition_matrix",
]
