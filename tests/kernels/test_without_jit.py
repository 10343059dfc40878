"""Kernels as Python, under NUMBA_DISABLE_JIT=1, against kernels as they are compiled: ``.ci/without-jit``."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from small_runs import RUNS

from rbmviz.kernels import bits, random

pytestmark = pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="only with NUMBA_DISABLE_JIT=1")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The results of all small runs, by run and name, from a process that compiles its kernels."""
    path = tmp_path_factory.mktemp("compiled") / "results.npz"
    others = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    script = Path(__file__).with_name("small_runs.py")
    subprocess.run([sys.executable, str(script), str(path)], check=True, env=others)
    with np.load(path) as results:
        return dict(results)


@pytest.mark.parametrize("name", RUNS)
def test_python_makes_what_compiled_kernels_make(name, compiled):
    """Bit for bit, where the order of the arithmetic is the same."""
    found = RUNS[name]()
    assert found
    for key, value in found.items():
        want = compiled[f"{name}/{key}"]
        assert value.dtype == want.dtype, key
        if key.endswith("about"):
            np.testing.assert_allclose(value, want, rtol=2e-6, atol=2e-6, err_msg=key)
        else:
            np.testing.assert_array_equal(value, want, err_msg=key)


def test_kernels_are_python():
    """A debugger that is told to break at a kernel, or at an intrinsic, finds the file and the line."""
    for found, name in ((random.bernoulli, "random.py"), (bits.whole_word, "bits.py")):
        assert Path(found.__code__.co_filename).name == name
