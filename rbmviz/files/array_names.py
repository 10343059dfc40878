"""Find W, b and c among the arrays of another program's model, by their names or as stated by the caller."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import printable

OTHER_ARRAY_NAMES = {
    "W": ("w", "weight", "weights", "weight_matrix", "components_"),
    "b": ("bv", "b_v", "vbias", "v_bias", "bias_v", "visible_bias", "intercept_visible_"),
    "c": ("bh", "b_h", "hbias", "h_bias", "bias_h", "hidden_bias", "intercept_hidden_"),
}
"""Names of the arrays in other programs, in lower case, after the last full stop: ``rbm.h_bias``."""

ORIENTATION = {"W": False, "weight_matrix": False, "components_": True}
"""Names whose programs fix the shape of W, and whether it is (n_hidden, n_visible)."""

TRANSPOSED = ".T"
"""Suffix of a stated name: the array is (n_hidden, n_visible)."""

Names = Mapping[str, str]


def array_names(available: Collection[str], stated: Names | None, what: str) -> dict[str, str]:
    """Return the names of W, b and c in the file.

    available : names of all arrays
    stated : names of some of W, b, c; ``weight.T`` is the transposed array ``weight``
    what : name of the model in error messages

    Raises BadInput if an array is missing, or if several names mean the same array.
    """
    if not isinstance(stated or {}, Mapping):
        raise BadInput(f"names is {quoted(stated)}: give the names of W, b and c as a dict.")
    stated = dict(stated or {})
    available = [name for name in available if not name.startswith("rates.")]  # mean statistics of our files
    holds = ", ".join(printable(str(name))[:40] for name in list(available)[:20]) or "nothing"
    for key, name in stated.items():
        if key not in OTHER_ARRAY_NAMES:
            raise BadInput(f"names has a key {quoted(key)}: give the names of W, b and c.")
        if not isinstance(name, str) or name.removesuffix(TRANSPOSED) not in available:
            raise BadInput(f"{what} has no array {quoted(name)}; it holds {holds}.")
    missing = []
    for key, others in OTHER_ARRAY_NAMES.items():
        if key in stated:
            continue
        alike = [name for name in available if name.rpartition(".")[2].lower() in others]
        if key in available:
            stated[key] = key
        elif len(alike) == 1:
            stated[key] = alike[0]
        else:
            missing.append(key)
    if missing:
        raise BadInput(
            f"{what} has no array {', '.join(missing)}; a model file holds W, b and c, and this one {holds}: "
            "names={'W': ..., 'b': ..., 'c': ...} says which is which, b of the visible units."
        )
    return stated


def oriented(arrays: Mapping[str, np.ndarray], names: Names, stated: Names | None) -> dict[str, np.ndarray]:
    """Return W as (n_visible, n_hidden), and b and c as vectors.

    W is transposed if its stated name says so, or if it fits b and c only when transposed. The second rule
    does not apply to arrays named W, b and c: there, b and c may have been swapped instead. PyTorch and
    scikit-learn store (n_hidden, n_visible), others (n_visible, n_hidden), and biases of one length fit both.

    arrays : W, b, c
    names : their names in the file
    stated : names that the caller gave

    Raises BadInput if b and c have one length and neither the name of W nor the caller says its shape.
    """
    W, b, c = (np.asarray(arrays[key]) for key in "Wbc")
    b, c = (x.reshape(-1) if x.ndim == 2 and 1 in x.shape else x for x in (b, c))
    full = names["W"]
    name = full.rpartition(".")[2]
    if full.endswith(TRANSPOSED):
        W = W.T
    elif b.shape != c.shape:
        W = W.T if W.shape == c.shape + b.shape and any(names[key] != key for key in "Wbc") else W
    elif name in ORIENTATION:
        W = W.T if ORIENTATION[name] else W
    elif "W" not in (stated or {}) and W.ndim == 2 and min(W.shape) > 1:
        shown = printable(full)[:40]
        raise BadInput(
            f"'{shown}' is square, and its name does not say whether its rows are visible units or, as in "
            f"torch.nn.Linear, hidden ones: give names={{'W': '{shown}'}} for visible units, '{shown}.T' for "
            "hidden ones."
        )
    return {"W": W, "b": b, "c": c}


def as_numpy(array: Any) -> Any:
    """Return a torch tensor as a numpy array, and anything else unchanged."""
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array
