"""Metrics, and what numbers mean (``numbers``). Streaming metrics have ``update``; none draws a chart."""

from rbmviz import registry
from rbmviz.metrics.ais import Annealed, ais_blocks, ais_log_z
from rbmviz.metrics.coverage import Coverage
from rbmviz.metrics.diagnostics import Diagnostics, chain_diagnostics
from rbmviz.metrics.exact import (
    exact_gradient,
    highest_log_likelihood,
    independent_log_likelihood,
    log_z,
    model_statistics,
    probabilities,
    too_large,
)
from rbmviz.metrics.findings import RULES, Finding, Findings, Rule, Watch, findings
from rbmviz.metrics.finite_chain import check_chain, eigenvalues, remove_self_transitions, stationary_law
from rbmviz.metrics.gibbs_chain import (
    chain_distances,
    noise_floor,
    start_law,
    sweep_distances,
    sweep_law,
    sweep_law_steps,
    total_variation,
    transition_matrix,
)
from rbmviz.metrics.isl import ISL, Kernel, isl, paired_error, reference
from rbmviz.metrics.landscape import Landscape, landscape
from rbmviz.metrics.likelihood import LogLikelihood, log_likelihood
from rbmviz.metrics.monte_carlo import monte_carlo_likelihood
from rbmviz.metrics.pca import PrincipalPlane, principal_plane
from rbmviz.metrics.pseudo_likelihood import pseudo_likelihood
from rbmviz.metrics.temperature import EffectiveTemperature, effective_temperature
from rbmviz.metrics.tempering import Ladder, Tempered, tempered_ladders, tempered_statistics


def list_metrics() -> list[str]:
    """Return the names of the registered metrics."""
    return list(registry.metrics)


__all__ = [
    "ISL",
    "RULES",
    "Annealed",
    "Coverage",
    "Diagnostics",
    "EffectiveTemperature",
    "Finding",
    "Findings",
    "Kernel",
    "Ladder",
    "Landscape",
    "LogLikelihood",
    "PrincipalPlane",
    "Rule",
    "Tempered",
    "Watch",
    "ais_blocks",
    "ais_log_z",
    "chain_diagnostics",
    "chain_distances",
    "check_chain",
    "effective_temperature",
    "eigenvalues",
    "exact_gradient",
    "findings",
    "highest_log_likelihood",
    "independent_log_likelihood",
    "isl",
    "landscape",
    "list_metrics",
    "log_likelihood",
    "log_z",
    "model_statistics",
    "monte_carlo_likelihood",
    "noise_floor",
    "paired_error",
    "principal_plane",
    "probabilities",
    "pseudo_likelihood",
    "reference",
    "remove_self_transitions",
    "start_law",
    "stationary_law",
    "sweep_distances",
    "sweep_law",
    "sweep_law_steps",
    "tempered_ladders",
    "tempered_statistics",
    "too_large",
    "total_variation",
    "transition_matrix",
]
__dir__ = __all__.copy  # what an editor offers
