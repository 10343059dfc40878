"""What the three recomputations share: model files, an RBM's conditionals, means with errors. Only numpy.

Nothing in this folder imports the package that it checks.
"""

import json
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[3]
TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


def read_safetensors(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a pretrained model: a header's length, the header in JSON, then the numbers."""
    content = (ROOT / "pretrained" / f"{name}.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    return {
        key: np.frombuffer(numbers[slice(*entry["data_offsets"])], TYPES[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for key, entry in header.items()
        if key != "__metadata__"
    }


class Model(NamedTuple):
    """Weights (visible, hidden), visible biases, hidden biases."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def hidden(self, v: np.ndarray) -> np.ndarray:
        """Return E[h | v] of each row."""
        return sigmoid(v @ self.W + self.c)

    def visible(self, h: np.ndarray) -> np.ndarray:
        """Return E[v | h] of each row."""
        return sigmoid(h @ self.W.T + self.b)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def bits(g: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Return a draw of independent bits with these probabilities, as floats."""
    return (g.random(p.shape, dtype=p.dtype) < p).astype(p.dtype)


def shipped(name: str) -> Model:
    """Return a pretrained model."""
    arrays = read_safetensors(name)
    return Model(*(arrays[key].astype(np.float64) for key in "Wbc"))


def statistics(v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return (v h', v, h) of each row, flat: (n, parameters)."""
    return np.concatenate([(v[:, :, None] * h[:, None, :]).reshape(len(v), -1), v, h], axis=1)


def expected_statistics(rbm: Model) -> np.ndarray:
    """Return the model's expectation of (v h', v, h), by enumeration of all hidden states."""
    n = len(rbm.c)
    h = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    log_p = h @ rbm.c + np.logaddexp(0, h @ rbm.W.T + rbm.b).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    v = rbm.visible(h)
    return np.concatenate([((p[:, None] * v).T @ h).ravel(), p @ v, p @ h])


def bars_and_stripes() -> np.ndarray:
    """Return the 32 rows of Bars and Stripes 4 x 4; all 0 and all 1 are there twice."""
    lines = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.float64)
    rows = np.repeat(lines, 4, axis=1)
    columns = np.tile(lines, (1, 4))
    return np.concatenate([rows, columns])
