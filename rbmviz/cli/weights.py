"""``rbmviz weights``: the importance weights of pop-CD."""

from typing import Annotated, Literal

from rbmviz import metrics, rng
from rbmviz.cli import Answer
from rbmviz.cli.options import Count, DataName, ModelName, Seed, range_of
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import data_of, load_dataset
from rbmviz.files.budget import check_memory
from rbmviz.models import load_model
from rbmviz.trainers.likelihood import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz.trainers.pop_cd import PopCD, pop_weights


def weights(
    *,
    model: ModelName = "bas_pcd",
    dataset: DataName = None,
    k: Annotated[int, range_of(PopCD, "k")] = 1,
    batch: Count = 100,
    proposal: Literal["visible", "joint", "mixture"] = "visible",
    mixture: Annotated[int, range_of(PopCD, "mixture")] = 10,
    seed: Seed = 0,
) -> Answer:
    """Compute the importance weights of pop-CD for a batch.

    The batch is drawn from the training examples.

    Parameters
    ----------
    k
        Gibbs sweeps.
    batch
        Random training examples.
    proposal
        Distribution that the weights compare the model with.
    mixture
        Hidden states in a mixture.

    Examples
    --------
    rbmviz weights --model bas_pcd --dataset bas --k 1 --batch 32
    """
    loaded = load_model(model)
    rbm, data = loaded.rbm, data_of(loaded, dataset, load_dataset)
    check_memory(
        f"weights: a batch of {batch:,} examples",
        batch * (rbm.n_visible + rbm.n_hidden) * 40,  # five float64 values per unit at the peak
        "give a smaller --batch",
    )
    chosen = rng.generator(seed, "data").integers(len(data.train), size=batch)
    population = pop_weights(rbm, data.train[chosen], k, seed, proposal=proposal, mixture=mixture)
    exact = metrics.log_z(rbm) if min(rbm.n_visible, rbm.n_hidden) <= MAX_UNITS_EXACT_LIKELIHOOD else None
    result = {
        "log_weights": population.log_weights.tolist(),
        "ess": population.ess,
        "max_weight": population.max_weight,
        "log_z_estimate": population.log_z_estimate,
        "log_z": exact,
        "origin": origin_of({model: loaded}, data, seed=seed),
    }
    return result, (
        f"{batch:,} weights: ESS {population.ess:.2f}, largest {population.max_weight:.3f}, "
        f"log Z estimate {population.log_z_estimate:.4f}"
        + (f" (exact {exact:.4f})" if exact is not None else "")
    )
