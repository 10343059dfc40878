"""``rbmviz log-z`` and ``rbmviz log-likelihood``: exact for small models, estimated by AIS for large ones."""

from typing import Annotated, Any, Literal

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import DataName, ModelName, Seed, whole
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import data_of, load_dataset
from rbmviz.datasets.fields import PARTS
from rbmviz.errors import BadInput
from rbmviz.metrics.ais import DEFAULT_CHAINS, TEMPERATURES
from rbmviz.metrics.monte_carlo import MAX_MONTE_CARLO, MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS
from rbmviz.models import load_model
from rbmviz.rbm import Model

Chains = Annotated[int, whole(2, 10**7)]


def log_z(
    *,
    model: ModelName = "bas_pcd",
    method: Literal["exact", "ais"] = "exact",
    chains: Chains = DEFAULT_CHAINS,
    temperatures: Chains = TEMPERATURES,
    seed: Seed = 0,
) -> Answer:
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
    if method == "exact":
        found = _enumerated(loaded, f"log-z --model {model}")
    else:
        found = _annealed(loaded, chains, temperatures, seed)
    said = f"log Z = {found['log_z']:.10g}{_error(found)} ({_how(found)})"
    return found | {"origin": origin_of({model: loaded}, seed=seed)}, said


def log_likelihood(
    *,
    model: ModelName = "bas_pcd",
    dataset: DataName = None,
    method: Literal["exact", "ais", "monte_carlo"] = "exact",
    chains: Chains | None = None,
    temperatures: Chains = TEMPERATURES,
    sweeps: Annotated[int, whole(0, MAX_MONTE_CARLO)] = MONTE_CARLO_SWEEPS,
    seed: Seed = 0,
) -> Answer:
    """Compute the mean log-likelihood of data under a model, in nats.

    Parameters
    ----------
    method
        How it is computed; monte_carlo is the average of the paper on unbiased CD: too low where its chains
        leave their rows and do not come back, too high where they stay.
    chains
        Chains of AIS (default 128), or of monte_carlo for each row (default 100).
    temperatures
        Inverse temperatures of AIS.
    sweeps
        Sweeps of the chains of monte_carlo, which start at the rows.

    Examples
    --------
    rbmviz log-likelihood --model bas_pcd --dataset bas
    """
    loaded = load_model(model)
    data = data_of(loaded, dataset, load_dataset)
    if method == "monte_carlo":
        settings = {"chains": chains or MONTE_CARLO_CHAINS, "sweeps": sweeps}
        found: dict[str, Any] = {"method": method, **settings}
    elif method == "ais":
        found = _annealed(loaded, chains or DEFAULT_CHAINS, temperatures, seed)
    else:
        named = f" --dataset {dataset}" if dataset else ""
        found = _enumerated(loaded, f"log-likelihood --model {model}{named}")

    def mean(v: np.ndarray) -> float:
        if method == "monte_carlo":
            return metrics.monte_carlo_likelihood(loaded.rbm, v, seed=seed, **settings)
        return -float(loaded.rbm.free_energy(v).mean()) - found["log_z"]

    means = {part: mean(v) if len(v := getattr(data, part)) else None for part in PARTS}
    for part, value in means.items() if method == "monte_carlo" else ():
        if value is not None and value > (best := metrics.highest_log_likelihood(getattr(data, part))) + 1e-6:
            print_message(
                f"The average of the {part} part, {value:.4g}, is above {best:.4g}, the best that any model "
                "can have: its chains do not leave their rows, and flatter the model."
            )
    parts = ", ".join(f"{part} {value:.6g}" for part, value in means.items() if value is not None)
    error = _error(found)
    said = f"mean log-likelihood in nats: {parts}{error and f', all{error}'} ({_how(found)})"
    source = origin_of({model: loaded}, data, seed=seed)
    return {"log_likelihood": means["test"], **means, **found, "origin": source}, said


def _enumerated(model: Model, command: str) -> dict[str, Any]:
    """Return log Z, in nats; BadInput, with a command that can, if the model is too large."""
    if refusal := metrics.too_large(model.rbm):
        raise BadInput(
            f"{refusal}; estimate it by annealed importance sampling: 'rbmviz {command} --method ais'."
        )
    return {"log_z": metrics.log_z(model.rbm), "std_error": 0.0, "method": "exact"}


def _annealed(model: Model, chains: int, temperatures: int, seed: int) -> dict[str, Any]:
    """Return AIS's log Z, in nats, of the chains that were done before an interrupt."""
    done: list[np.ndarray] = []
    interrupted = False
    with tqdm(total=chains, unit="chain", disable=None) as bar:
        try:
            for log_weights in metrics.ais_blocks(model, n_chains=chains, betas=temperatures, seed=seed):
                done.append(log_weights)
                bar.update(len(log_weights))
        except KeyboardInterrupt:
            if sum(map(len, done)) < 2:
                raise
            interrupted = True
    annealed = metrics.Annealed(np.concatenate(done), temperatures)
    if interrupted:
        print_message(f"Interrupted: an estimate from the {annealed.n_chains:,} chains that were done.")
    if annealed.warning:
        print_message(annealed.warning)
    names = ("ess", "n_chains", "n_temperatures", "warning")
    found = {"log_z": annealed.log_z, "std_error": annealed.std_error, "method": "ais"}
    found |= {name: getattr(annealed, name) for name in names}
    return found | ({"interrupted": True} if interrupted else {})


def _error(found: dict[str, Any]) -> str:
    return f" +- {found['std_error']:.2g}" if found["method"] == "ais" else ""


def _how(found: dict[str, Any]) -> str:
    """Say how a number was computed."""
    if found["method"] == "ais":
        chains = f"{found['n_chains']:,} chains x {found['n_temperatures']:,} temperatures"
        return f"ais, {chains}, ESS {found['ess']:.1f}"
    if found["method"] == "monte_carlo":
        return f"monte_carlo, {found['chains']:,} chains x {found['sweeps']:,} sweeps from each row"
    return "exact"
