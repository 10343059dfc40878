"""The restricted Boltzmann machine: the records, what they compute on themselves, and their files.

Glossary: one name for one thing, in the whole project
------------------------------------------------------

First words
model        a restricted Boltzmann machine (RBM), which has learned how likely every picture is
visible unit  one pixel of a picture, off or on (0 or 1)
hidden unit  a unit that no data show; it is on where it sees the pattern of pixels that it has learned
sample       a picture that the model makes
chain        samples in a row, each made from the one before it, by chance
class        the kind of a picture, as the digit that it shows; a sample has that of the nearest example
mode         a group of pictures alike that the model finds likely, with unlikely ones all around
mixing       how soon a chain goes through all modes; one that mixes badly sticks in a mode
spurious     said of a sample that looks like nothing in the data
blank        said of a sample that is nearly empty where no example is
training     to change the weights, little by little, until the model finds the data likely
bias         of an estimate: how far its mean is from the truth, however often it is repeated
temperature  divides every activation: above 1 a chain moves more freely, and its samples blur

The model
W            weights, float32 (n_visible, n_hidden); scikit-learn stores the transpose
b, c         visible bias (n_visible,), hidden bias (n_hidden,)
v, h         visible and hidden state, values 0 and 1
p            mean of v given the h that v was drawn from, float32
theta        the parameters (W, b, c) together
free_energy  F(v) with exp(-F(v)) the unnormalised probability of v
log_z        logarithm of the partition function
nats         unit of every log-likelihood: natural logarithms
beta         inverse temperature (tempering), or the kernel parameter of ISL where the context says so
statistics   the sufficient statistics s = (v h', v, h); with means of h instead of draws where it says "mean"
rates        mean statistics of the training set, R = (<v E[h|v]'>, <v>, <E[h|v]>)

Chains
sweep        draws all hidden units anew, then all visible ones: one Gibbs step, v -> h -> v
k            sweeps for one sample or one update
v0           the state in which a chain begins
n_chains     chains that take turns; sample t belongs to chain t % n_chains
interleave   to put the samples of several chains into one sequence, in turns
target       the model that the next sample of a chain is drawn from
exact_chain  says that a chain leaves the law of the model as it is
driven       said of chains that are pushed away from where they have been: their parameters move
theta_F      the fast parameters, which are added to theta while a driven chain runs
eps, alpha   step size and decay of theta_F
fast_norm    the Euclidean norm of theta_F
share        whether all chains have one theta_F, which moves by the mean of their statistics
tau          the sweep at which two coupled chains meet
lag          sweeps by which the first of two coupled chains is ahead
burn_in      updates or sweeps that are thrown away until a chain has forgotten its start
thin         to keep only every n-th sample of a chain
ess          effective sample size: number of independent samples with the same precision
rhat         disagreement of several chains, near 1 where they agree
isl          log-likelihood of test data under a kernel density around the samples

Training
update       one change of theta, from one mini-batch
batch_size   rows of the training data in one update
negative     the model's statistics in an update, which trainers differ in; the positive ones are the data's
persistent   said of chains that go on from update to update; fresh ones begin anew at each
inner        statistics that one trainer adds to those that all trainers give
checkpoint   a training as bytes, from which it goes on to the same bits

Runs
knob         one parameter of an algorithm that a person may turn, declared beside its field
live         said of a knob that may be turned while a run goes on
chunk        steps that a run makes between two looks at its commands, about 30 ms of work
setup        what the panels of a page have in common: model, data, seed, start
plan         what one run is made of; a run prepares, advances and shows
worker       the thread of one run, and its commands
comparison   the workers of one page, which are commanded together
panel        one algorithm on a page, with its knobs and its worker
snapshot     what a run shows at one moment, as a record that never changes
slot         the right to compute for one turn; there are as many as cores
beat         the thread that drives all light runs of a comparison together
record       seed, start and changes of knobs: enough to replay a run

Kernels
kernel       a function that numba compiles: arrays in, arrays out
stream       random numbers of one purpose, found by a seed and a name
lanes        generators of one stream that are advanced side by side, one in each part of a vector register
pre-activation  what a unit's mean is the sigmoid of: its bias and the sum over the active units below it
flips        units that differ from the sweep before, whose rows alone change a pre-activation
half-step    v -> h, or h -> v
history      the newest samples of a chain, packed as bits, whose statistics make up theta_F where it decays
pending      an update of rank 1 that has been added up and not yet written to the rows of a matrix
pair         two coupled chains
oracle       the slow form that a kernel is tested against
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from rbmviz import checks, metadata
from rbmviz.array_files import (
    MAX_HEADER,
    Content,
    Damaged,
    Headers,
    is_file,
    read_json,
    read_npz,
    read_safetensors,
    text_of,
)
from rbmviz.errors import BadInput
from rbmviz.output import write_whole

SCHEMA = 1

ENTRIES_PER_BLOCK = 2**22
"""Numbers in a block of what is computed by rows, at most, whatever the number of rows."""

ARRAYS = (*"Wbc", *(f"rates.{name}" for name in "Wbc"))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def softplus(x: np.ndarray) -> np.ndarray:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, x)


def _parameter(name: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    with np.errstate(over="ignore"):  # infinite, and refused as that
        array = np.array(checks.numbers(name, value), dtype=np.float32, order="C")
    if array.ndim != (2 if name.endswith("W") else 1) or 0 in array.shape:
        want = "(n_visible, n_hidden)" if name.endswith("W") else "one-dimensional"
        raise BadInput(f"{name} has shape {array.shape}; it must be {want} and not empty.")
    if shape is not None and array.shape != shape:
        raise BadInput(f"{name} has shape {array.shape}; W asks for {shape}.")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} holds NaN or infinite values; give finite parameters.")
    array.flags.writeable = False
    return array


def _layer(name: str, value: Any, units: int) -> np.ndarray:
    array = checks.numbers(name, value)
    if not array.ndim or array.shape[-1] != units:
        raise BadInput(f"{name} has shape {array.shape}; the model asks for (..., {units}).")
    return array


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics, or a direction in parameter space: float32 arrays shaped like (W, b, c)."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", _parameter("rates.W", self.W))
        object.__setattr__(self, "b", _parameter("rates.b", self.b, self.W.shape[:1]))
        object.__setattr__(self, "c", _parameter("rates.c", self.c, self.W.shape[1:]))


@dataclass(frozen=True, eq=False)
class RBM:
    """A binary RBM with energy E(v, h) = -v'Wh - b'v - c'h.

    Parameters
    ----------
    W, b, c : array, float32 (n_visible, n_hidden), (n_visible,), (n_hidden,)
        All are copied, made C-ordered and read-only.

    Raises
    ------
    BadInput
        If shapes do not fit or a value is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> rbm = rbmviz.RBM(W=np.eye(3, 2), b=np.zeros(3), c=np.zeros(2))
    >>> rbm.n_visible, rbm.n_hidden
    (3, 2)
    >>> v = np.array([[1, 0, 0], [0, 0, 0]], np.uint8)
    >>> rbm.mean_hidden(v).round(3)
    array([[0.731, 0.5  ],
           [0.5  , 0.5  ]], dtype=float32)
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", _parameter("W", self.W))
        object.__setattr__(self, "b", _parameter("b", self.b, self.W.shape[:1]))
        object.__setattr__(self, "c", _parameter("c", self.c, self.W.shape[1:]))

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self.W.shape[0]

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return self.W.shape[1]

    def mean_hidden(self, v: np.ndarray) -> np.ndarray:
        """Return E[h|v], float (..., n_hidden), for v (..., n_visible)."""
        v = _layer("v", v, self.n_visible)
        return sigmoid(v @ self.W + self.c)

    def mean_visible(self, h: np.ndarray) -> np.ndarray:
        """Return E[v|h], float (..., n_visible), for h (..., n_hidden)."""
        h = _layer("h", h, self.n_hidden)
        return sigmoid(h @ self.W.T + self.b)

    def free_energy(self, v: np.ndarray) -> np.ndarray:
        """Return ``F(v) = -b'v - sum_j softplus(c_j + v'W_:j)``, float64 (...), in nats.

        Many rows (n, n_visible) are taken a block at a time: in float64 they would be eight times their size.
        """
        v = _layer("v", v, self.n_visible)
        rows = max(ENTRIES_PER_BLOCK // max(self.W.shape), 1)
        if v.ndim == 2 and len(v) > rows:
            blocks = [self.free_energy(v[at : at + rows]) for at in range(0, len(v), rows)]
            return np.concatenate(blocks)
        v = v.astype(np.float64)
        return -(v @ self.b) - softplus(v @ self.W.astype(np.float64) + self.c).sum(axis=-1)

    def rates(self, v: np.ndarray) -> Statistics:
        """Return the mean statistics <v E[h|v]'>, <v>, <E[h|v]> of the rows of v (n, n_visible).

        Mean-field hidden units, summed in float64 blocks (ALGORITHMS: the positive statistics of the
        whole training set; paper rates-FPCD, section 4).
        """
        v = checks.bits("The data", v, self.n_visible)
        W, b, c = (np.zeros(a.shape) for a in (self.W, self.b, self.c))
        for rows in np.array_split(v, -(-len(v) // 4096)):
            x = rows.astype(np.float32)
            h = self.mean_hidden(x)
            W += x.T @ h
            b += x.sum(axis=0, dtype=np.float64)
            c += h.sum(axis=0, dtype=np.float64)
        return Statistics(W / len(v), b / len(v), c / len(v))


@dataclass(frozen=True, eq=False)
class Model:
    """An RBM with what is needed to sample and to trust it.

    Parameters
    ----------
    rbm : RBM
        The parameters.
    rates : Statistics or None
        Rates of its training set; the driven samplers (rates-FPCD, rates-herding) need them.
    meta : mapping
        Provenance, JSON values only: data set, binarisation, trainer, knobs, seed, updates, scores. What the
        known keys may hold is in ``metadata.SCHEMA_OF_KEYS``.

    Raises
    ------
    BadInput
        If the rates do not fit, or the metadata are not what they should be.
    """

    rbm: RBM
    rates: Statistics | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rates is not None and self.rates.W.shape != self.rbm.W.shape:
            raise BadInput(f"The rates have shape {self.rates.W.shape}; the model has {self.rbm.W.shape}.")
        object.__setattr__(self, "meta", metadata.checked(self.meta))


def model_bytes(model: Model, suffix: str = ".safetensors") -> bytes:
    """Return the content of a model file, .safetensors or .npz.

    Arrays: W, b, c, and rates.W, rates.b, rates.c where the model has rates (float32).
    Header string ``rbmviz`` (in .npz an array of one string): JSON of the schema version and ``model.meta``.
    """
    arrays = {"W": model.rbm.W, "b": model.rbm.b, "c": model.rbm.c}
    if model.rates is not None:
        arrays |= {f"rates.{name}": getattr(model.rates, name) for name in "Wbc"}
    header = json.dumps({"schema": SCHEMA, **model.meta}, sort_keys=True)
    if suffix == ".safetensors":
        return save(arrays, metadata={"rbmviz": header})
    content = io.BytesIO()
    np.savez(content, rbmviz=np.array(header), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def save_model(model: Model, path: str | Path) -> None:
    """Write a model as .safetensors or .npz (see ``model_bytes``): the whole file, or none.

    Examples
    --------
    >>> import tempfile
    >>> model = rbmviz.load_model("bas_pcd")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rbmviz.save_model(model, f"{folder}/mine.npz")
    ...     again = rbmviz.load_model(f"{folder}/mine.npz")
    >>> bool((again.rbm.W == model.rbm.W).all())
    True
    """
    suffix = Path(path).suffix
    if suffix not in (".safetensors", ".npz"):
        raise BadInput(f"A model file ends in .safetensors or .npz, not '{Path(path).name}'.")
    write_whole(path, model_bytes(model, suffix))


def load_model_file(path: str | Path) -> Model:
    """Read a model from .safetensors, or from .npz with arrays W, b, c (and rates.W, rates.b, rates.c).

    Raises
    ------
    BadInput
        If the file is missing, too large for the memory budget, truncated, of another format (pickles
        are never read), or its arrays do not fit each other.
    """
    path = Path(path)
    if not is_file(path):
        raise BadInput(f"There is no model file '{path}'; 'rbmviz list models' shows the pretrained ones.")
    return load_model_bytes(path, str(path))


def load_model_bytes(content: Content, name: str) -> Model:
    """Return the model of a file's bytes (an upload), or of a path, as ``load_model_file`` does.

    name : as the person knows the file; its suffix says what it is
    """
    read = _read_npz if Path(name).suffix == ".npz" else _read_safetensors
    try:
        arrays, header = read(content, name)
        meta = read_json(header)
    except Damaged as error:
        raise BadInput(
            f"'{name}' is not a readable model file ({error}); give a .safetensors or an .npz with W, b, c."
        ) from None
    missing = [array for array in "Wbc" if array not in arrays]
    if missing:
        raise BadInput(f"'{name}' has no array {', '.join(missing)}; a model file holds W, b and c.")
    schema = meta.pop("schema", SCHEMA) if isinstance(meta, dict) else SCHEMA
    if not isinstance(schema, int) or schema > SCHEMA:
        raise BadInput(f"'{name}' was written by a newer rbmviz; update rbmviz to read it.")
    try:
        rates = Statistics(*(arrays.pop(array) for array in ARRAYS[3:])) if len(arrays) == 6 else None
        rbm = RBM(*(arrays.pop(array) for array in ARRAYS[:3]))
        return Model(rbm, rates, meta)
    except BadInput as error:
        raise BadInput(f"'{name}': {error}") from None


def _need(headers: Headers) -> int:
    """Return what a model takes while it is read: its arrays, float32 copies, the mask of one."""
    arrays = {array: headers[array] for array in ARRAYS if array in headers}
    for array, header in arrays.items():
        if header.dtype.kind not in "biuf":
            raise Damaged(f"{array} holds no numbers")
        rank = 2 if array.endswith("W") else 1
        if len(header.shape) != rank:
            raise Damaged(f"{array} has {len(header.shape)} dimensions and not {rank}")
    text = headers.get("rbmviz")
    if text is not None and text.nbytes > 4 * MAX_HEADER:
        raise Damaged("its header is too long")
    read = sum(header.nbytes + 4 * header.size for header in arrays.values())
    return read + max((header.size for header in arrays.values()), default=0)


def _read_npz(content: Content, name: str) -> tuple[dict[str, np.ndarray], str]:
    arrays = read_npz(content, f"'{name}'", (*ARRAYS, "rbmviz").__contains__, _need)
    return arrays, text_of(arrays.pop("rbmviz", None), "rbmviz")


def _read_safetensors(content: Content, name: str) -> tuple[dict[str, np.ndarray], str]:
    arrays, texts = read_safetensors(content, f"'{name}'", ARRAYS.__contains__, _need)
    return arrays, texts.get("rbmviz", "{}")
