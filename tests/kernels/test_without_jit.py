"""Kernels as Python (``.ci/without-jit``), or for other processors, against those compiled for this one."""

import numba
import pytest
from small_runs import RUNS, check_same, results_of

in_python = pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="only with NUMBA_DISABLE_JIT=1")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("compiled"))


@in_python
@pytest.mark.parametrize("name", RUNS)
def test_python_makes_what_compiled_kernels_make(name, compiled):
    """Bit for bit, where the order of the arithmetic is the same."""
    check_same(name, compiled)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("processor", ["generic", "haswell"])
def test_kernels_for_another_processor_make_the_same_bits(processor, tmp_path):
    """Without AVX, and with AVX2 in place of AVX-512."""
    other = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "RBMVIZ_CACHE_DIR": str(tmp_path)}
    results = results_of(tmp_path, **other)
    for name in RUNS:
        check_same(name, results)
