"""Tables of sweeps, compared."""

import numpy as np


def same(one, other):
    """Compare all columns, bit for bit, but the processor time."""
    assert list(one) == list(other)
    for name in one:
        if name != "seconds":
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
