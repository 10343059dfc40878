"""The pseudo-likelihood: how well a model predicts each unit of a row from the others."""

import numpy as np

from rbmviz import rng
from rbmviz.datasets import AnyData, rows_of
from rbmviz.rbm import softplus
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric


@metric("pseudo_likelihood")
def pseudo_likelihood(model: AnyModel, v: AnyData, seed: rng.Seed = 0) -> float:
    """Return the mean pseudo-log-likelihood of rows, in nats, estimated as scikit-learn does.

    log PL(v) = sum_i log p(v_i | the other units) (Besag, 1975) needs no log Z. Of each row one unit is
    drawn, and its term is multiplied by the number of units, as in ``BernoulliRBM.score_samples``. It is
    local: it says how well the model fits around the data, and nothing about modes elsewhere or about their
    weights. A model may rise by it while its likelihood falls.

    Parameters
    ----------
    model : RBM, Model, name or file
        The model.
    v : uint8 (n, n_visible), or a data set, name or file
        Rows of 0 and 1; of a data set its test part.
    seed : int, SeedSequence or Generator
        Draws the units (default 0).

    Returns
    -------
    float
        The mean over the rows, nats per row.

    Raises
    ------
    BadInput
        If the rows do not fit the model.

    Examples
    --------
    >>> rbmviz.metrics.pseudo_likelihood("bas_pcd", "bas") > -1
    True
    """
    rbm = as_rbm(model)
    v = rows_of("The data", v, rbm.n_visible)
    units = rng.generator(seed, "pseudo-likelihood").integers(rbm.n_visible, size=len(v))
    flipped = v.copy()
    flipped[np.arange(len(v)), units] ^= 1
    return -rbm.n_visible * float(softplus(rbm.free_energy(v) - rbm.free_energy(flipped)).mean())
