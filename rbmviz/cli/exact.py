"""``rbmviz log-z`` and ``rbmviz log-likelihood``: exact for small models, estimated by AIS for large ones."""

from typing import Annotated, Any, Literal

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.cli import print_message
from rbmviz.cli.options import DataName, ModelName, Seed, whole
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import load_dataset
from rbmviz.datasets.fields import PARTS
from rbmviz.errors import BadInput
from rbmviz.metrics.ais import DEFAULT_CHAINS, TEMPERATURES
from rbmviz.metrics.monte_carlo import MAX_MONTE_CARLO, MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS
from rbmviz.models import data_of, load_model
from rbmviz.rbm import Model

Chains = Annotated[int, whole(2, 10**7)]


def log_z(
    *,
    model: ModelName = "bas_pcd",
    method: Literal["exact", "ais"] = "exact",
    chains: Chains = DEFAULT_CHAINS,
    temperatures: Chains = TEMPERATURES,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Compute log Z of a model, exactly or by AIS.

    The exact value enumerates the smaller layer, which may have 25 units at most.

    Parameters
    ----------
    method
        How it is computed.
    chains
        Chains of AIS.
    temperatures
        Inverse temperatures of AIS.

    Examples
    --------
    rbmviz log-z --model mnist_fpcd --method ais --chains 512 --temperatures 10000
    """
    loaded = load_model(model)
    estimate = _log_z(loaded, method, chains, temperatures, seed, f"rbmviz log-z --model {model}")
    return estimate | {"origin": origin_of({model: loaded}, seed=seed)}


def log_likelihood(
    *,
    model: ModelName = "bas_pcd",
    dataset: DataName = None,
    method: Literal["exact", "ais", "monte-carlo", "monte_carlo"] = "exact",
    chains: Chains | None = None,
    temperatures: Chains = TEMPERATURES,
    sweeps: Annotated[int, whole(0, MAX_MONTE_CARLO)] = MONTE_CARLO_SWEEPS,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Compute the mean log-likelihood of data under a model, in nats.

    Parameters
    ----------
    method
        How it is computed; monte-carlo is the average of the paper on unbiased CD.
    chains
        Chains of AIS (default 100), or of monte-carlo for each row.
    temperatures
        Inverse temperatures of AIS.
    sweeps
        Sweeps of the chains of monte-carlo, which start at the rows.

    Examples
    --------
    rbmviz log-likelihood --model bas_pcd --dataset bas
    """
    loaded = load_model(model)
    data = data_of(loaded, dataset, load_dataset)
    parts = {part: getattr(data, part) for part in PARTS}
    if method not in ("exact", "ais"):
        settings = {"chains": chains or MONTE_CARLO_CHAINS, "sweeps": sweeps}
        estimate: dict[str, Any] = {"method": "monte-carlo", **settings}

        def score(v: np.ndarray) -> float:
            return metrics.monte_carlo_likelihood(loaded.rbm, v, seed=seed, **settings)
    else:
        same = f"rbmviz log-likelihood --model {model}" + (f" --dataset {dataset}" if dataset else "")
        estimate = _log_z(loaded, method, chains or DEFAULT_CHAINS, temperatures, seed, same)

        def score(v: np.ndarray) -> float:
            return -float(loaded.rbm.free_energy(v).mean()) - estimate["log_z"]

    means = {part: score(v) if len(v) else None for part, v in parts.items()}
    source = origin_of({model: loaded}, data, seed=seed)
    return {"log_likelihood": means["test"], **means, **estimate, "origin": source}


def _log_z(
    model: Model, method: str, chains: int, temperatures: int, seed: int, command: str
) -> dict[str, Any]:
    """Return log Z in nats, its standard error, and for AIS the ESS and a warning."""
    if method == "exact":
        if refusal := metrics.too_large(model.rbm):
            raise BadInput(
                f"{refusal}; estimate it by annealed importance sampling: '{command} --method ais'."
            )
        return {"log_z": metrics.log_z(model.rbm), "std_error": 0.0, "method": "exact"}
    done: list[np.ndarray] = []
    interrupted = False
    blocks = metrics.ais_blocks(model, n_chains=chains, betas=temperatures, seed=seed)
    with tqdm(total=chains, unit="chain", disable=None) as bar:
        try:
            for log_weights in blocks:
                done.append(log_weights)
                bar.update(len(log_weights))
        except KeyboardInterrupt:
            if sum(map(len, done)) < 2:
                raise
            interrupted = True
    annealed = metrics.Annealed(np.concatenate(done), temperatures)
    result = {
        "log_z": annealed.log_z,
        "std_error": annealed.std_error,
        "method": "ais",
        "ess": annealed.ess,
        "n_chains": annealed.n_chains,
        "n_temperatures": annealed.n_temperatures,
        "warning": annealed.warning,
    }
    if interrupted:
        result["interrupted"] = True
        print_message(f"Interrupted: an estimate from the {annealed.n_chains:,} chains that were done.")
    if annealed.warning:
        print_message(annealed.warning)
    return result


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    how = result["method"]
    error = f" +- {result['std_error']:.2g}" if how == "ais" else ""
    if how == "monte-carlo":
        how += f", {result['chains']:,} chains x {result['sweeps']:,} sweeps from each row"
    if how == "ais":
        chains, temperatures = result["n_chains"], result["n_temperatures"]
        how += f", {chains:,} chains x {temperatures:,} temperatures, ESS {result['ess']:.1f}"
    if "log_likelihood" not in result:
        return f"log Z = {result['log_z']:.10g}{error} ({how})"
    parts = ", ".join(f"{part} {result[part]:.6g}" for part in PARTS if result[part] is not None)
    return f"mean log-likelihood in nats: {parts}{error and f', all{error}'} ({how})"
