"""The mean log-likelihood of data: exact, by annealed importance sampling, or by Monte Carlo."""

import math
import warnings
from typing import Literal, Self

from rbmviz import rng
from rbmviz.datasets import AnyData, data_of, rows_of
from rbmviz.errors import BadInput, DoubtfulResult, known_keywords, quoted
from rbmviz.metrics.ais import DEFAULT_CHAINS, TEMPERATURES, ais_log_z
from rbmviz.metrics.exact import log_z, too_large
from rbmviz.metrics.monte_carlo import MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS, monte_carlo_likelihood
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.registry import metric


class LogLikelihood(float):
    """A mean log-likelihood in nats per row: a float that knows how it was found.

    Attributes
    ----------
    std_error : float
        Standard error of log Z, in nats: 0 if it is exact, NaN for "monte_carlo", which has no log Z.
    method : "exact", "ais" or "monte_carlo"
        How it was found.
    """

    std_error: float
    method: str

    def __new__(cls, value: float, std_error: float = 0.0, method: str = "exact") -> Self:  # noqa: D102
        self = super().__new__(cls, value)
        self.std_error, self.method = std_error, method
        return self

    def __repr__(self) -> str:
        error = f" ± {self.std_error:.2g}" if self.std_error > 0 else ""
        return f"{float(self):.6g}{error} nats ({self.method})"


@metric("log_likelihood")
@known_keywords
def log_likelihood(
    model: AnyModel,
    data: AnyData | None = None,
    method: Literal["auto", "exact", "ais", "monte_carlo"] = "auto",
    *,
    chains: int | None = None,
    temperatures: int = TEMPERATURES,
    sweeps: int = MONTE_CARLO_SWEEPS,
    seed: rng.Seed = 0,
) -> LogLikelihood:
    """Return the mean log-likelihood of data under a model, in nats per row, with its standard error.

    Parameters
    ----------
    model : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        Model of any size.
    data : uint8 (n, n_visible), or a data set, name or file, optional
        Rows of 0 and 1; of a data set its test part (default: the data that the model was trained on).
    method : "auto" (default), "exact", "ais" or "monte_carlo"
        "exact" enumerates the smaller layer, of at most 25 units. "ais" estimates log Z by ``ais_log_z``.
        "monte_carlo" is ``monte_carlo_likelihood``. "auto" is exact where that can be, else "ais".
    chains, temperatures, sweeps : int
        Chains of AIS (default 128) or of "monte_carlo" for each row (default 100), inverse temperatures of
        AIS (default 1000), and sweeps of the chains of "monte_carlo" (default 10).
    seed : int, SeedSequence or Generator
        Same seed, same estimate (default 0).

    Returns
    -------
    LogLikelihood
        A float with ``std_error`` and ``method``.

    Raises
    ------
    BadInput
        If the data do not fit the model, there is no such method, or the model is too large for "exact".

    Warns
    -----
    DoubtfulResult
        If a few chains of AIS hold nearly all the weight.

    Examples
    --------
    >>> rbmviz.metrics.log_likelihood("bas_pcd", "bas")
    -3.52545 nats (exact)
    >>> estimate = rbmviz.metrics.log_likelihood("bas_pcd", "bas", "ais", temperatures=300)
    >>> abs(estimate + 3.525) < 5 * estimate.std_error
    True
    """
    loaded = as_model(model)
    rbm = loaded.rbm
    rows = rows_of("The data", data_of(loaded) if data is None else data, rbm.n_visible)
    if method == "auto":
        method = "ais" if too_large(rbm) else "exact"
    if method == "monte_carlo":
        settings = {"chains": chains or MONTE_CARLO_CHAINS, "sweeps": sweeps}
        return LogLikelihood(monte_carlo_likelihood(rbm, rows, **settings, seed=seed), math.nan, method)
    unnormalised = float(-rbm.free_energy(rows).mean())
    if method == "exact":
        return LogLikelihood(unnormalised - log_z(rbm))
    if method != "ais":
        raise BadInput(
            f"log_likelihood: method = {quoted(method)} is not one of auto, exact, ais, monte_carlo."
        )
    annealed = ais_log_z(loaded, n_chains=chains or DEFAULT_CHAINS, betas=temperatures, seed=seed)
    if annealed.warning:
        warnings.warn(annealed.warning, DoubtfulResult, stacklevel=2)
    return LogLikelihood(unnormalised - annealed.log_z, annealed.std_error, method)
