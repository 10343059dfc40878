"""Every intrinsic against its meaning in Python, at edge values, bit for bit."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from rbmviz.kernels import bits, enumerate, hamming, random, updates, vectors
from rbmviz.kernels._jit import FLAGS, kernel
from rbmviz.kernels._llvm import INTRINSICS
from rbmviz.kernels._without_jit import PythonKernel
from rbmviz.kernels.fast_weights import intrinsics

f32, f64, i64, u32, u64 = np.float32, np.float64, np.int64, np.uint32, np.uint64
G = np.random.default_rng(3)

WORDS = [0, 1, 2**63, 2**64 - 1, 0xF0F0, 0x8000000000000001, 12345678901234567890]
EDGES = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 1, 0.5], f32)
"""Zeros of both signs, no number, infinities, denormals, and what overflows when added."""


def states(lanes):
    """States of the generator: random ones, all zeros, all ones."""
    drawn = G.integers(0, 2**32, (4, lanes), dtype=u32)
    return [drawn, np.zeros_like(drawn), np.full_like(drawn, 2**32 - 1)]


def floats(*shape, dtype=f32):
    """Random numbers, and then numbers of which every third is an edge value."""
    drawn = G.normal(size=shape).astype(dtype)
    edges = drawn.copy()
    edges.flat[::3] = np.resize(EDGES.astype(dtype), edges.flat[::3].shape)
    return [drawn, edges]


def sums_of_rows(n_out, start):
    none, some, all_ = (np.array(x, np.int32) for x in ([], [4, 0, 4], range(7)))
    for rows in floats(7, n_out):
        for base in floats(n_out):
            for on, off in ((none, none), (some, none), (none, some), (all_, some)):
                for factor, *at in ((f32(1), start, 0), (f32(-1 / 3), 0, start)):
                    yield base, np.ones(n_out, f32), factor, rows, *at, on, len(on), off, len(off)


def cases():
    """Yield the name of an intrinsic and arguments, several times for each intrinsic."""
    for word in WORDS:
        yield "popcount", u64(word)
        yield "first_one", u64(word)
        yield "write_word", u64(word), np.full(70, 7, np.uint8), 5
    for units in (np.zeros(70, np.uint8), np.full(70, 255, np.uint8), G.integers(0, 3, 70, dtype=np.uint8)):
        for start in (0, 6):
            yield "whole_word", units, start
    for numbers in (np.resize(np.array([0, 1, 0.5, -0.0, np.nan], f32), 70), *floats(70)):
        for n in (0, 1, 17, 64):
            for value in (0.0, 1.0, np.nan):
                yield "equal", numbers, 6, n, f32(value)
    for state in states(random.STREAM_LANES):
        yield "_random_bits", state, np.zeros(64, u32)
        for mean in (np.zeros(70, f32), np.ones(70, f32), *floats(70)):
            yield "draw_block", state, mean, 6
            for n in (1, 37, 63):
                yield "draw_part", state, mean[:n].copy(), 0, n
    for state in states(random.UNIFORM_LANES):
        for n in (0, 1, 16, 40):
            yield "_uniforms", state, np.ones(48, f32), n
    for n in (0, 16, 64):
        for numbers in floats(n, dtype=f64):
            yield "total", numbers
            yield "product", numbers
    yield "total", np.full(32, -0.0)
    yield "product", np.full(800, 0.5)  # just above the smallest normal number
    yield "product", np.full(1072, 0.5)  # a denormal
    for n in (0, 1, 16, 21, 64):
        for x in floats(64):
            for y in floats(n):
                yield "dot", x, y
    for n in (0, 8, 40):
        v, h = (G.integers(0, 30_000, 48, dtype=u64) for _ in range(2))
        for weight in floats(48, dtype=f64):
            yield "weighted_products", weight, v, h, n
    for z in floats(40):
        for p in floats(40):
            yield "ones_below", z, p, 8
    yield from (("_sum_wider", *case) for case in sums_of_rows(160, 16))
    yield from (("_sum_wide", *case) for case in sums_of_rows(80, 16))
    yield from (("_sum_narrow", *case) for case in sums_of_rows(80, 64))
    for block in floats(20, 40):
        yield "transpose_block", block, 3, 17, np.ones((24, 48), f32), 5, 30
        yield "fetch", block, 2, 0
    for words in (np.zeros((2, 128), u64), G.integers(0, 2**64, (2, 128), dtype=u64)):
        for at in (0, 64, 192):
            yield "transpose_bits", words, at, np.ones((2, 128), u64), 64
    block = G.integers(0, 2**64, (3, hamming.BLOCK_SAMPLES), dtype=u64)
    for point in (np.zeros(3, u64), np.full(3, 2**64 - 1, u64), block[:, 70].copy()):
        for at in (0, 64):
            yield "compare_lanes", point, block, at, np.full(hamming.BLOCK_SAMPLES, 9, u32)
    sums = zip(floats(20, dtype=f64), floats(20, hamming.MIXTURE_LANES, dtype=f64), strict=True)
    for weights, powers in sums:
        for n in (0, 1, 20):
            yield "mix_lanes", weights, n, powers, np.ones(hamming.MIXTURE_LANES)
    for factor in floats(8):
        for packed in (np.zeros(32, np.uint8), np.full(32, 255, np.uint8), np.arange(32, dtype=np.uint8) * 8):
            yield "add_packed", factor, packed, floats(32)[1]
    for units, group in ((1, 1), (7, 3), (40, 100)):
        high, low = (np.exp(G.normal(0, 3, units * n)) for n in (enumerate.HIGH, enumerate.LOW))
        n = enumerate.HIGH * enumerate.LOW
        yield "_multiply", high, low, group, np.zeros(n), np.zeros(n, i64)


CASES: dict[str, list] = {}
for _name, *_arguments in cases():
    CASES.setdefault(_name, []).append(_arguments)


def copies(arguments):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def same_bits(x, y):
    """Compare bit for bit; but which no-number a computation returns is the processor's choice."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    return np.array_equal(x, y, equal_nan=True) and np.array_equal(
        np.signbit(x[~np.isnan(x)]), np.signbit(y[~np.isnan(y)])
    )


def test_every_intrinsic_has_cases():
    assert set(CASES) == set(INTRINSICS)
    for name, owner in (("add_packed", intrinsics), ("transpose_bits", updates)):
        assert INTRINSICS[name] is getattr(owner, name)


@pytest.mark.parametrize("name", CASES)
def test_intrinsics_do_what_they_mean(name):
    """The result, and what is written to every array."""
    intrinsic = INTRINSICS[name]

    @njit(**FLAGS)
    def call(*arguments):
        return intrinsic(*arguments)

    for arguments in CASES[name]:
        ours, meant = copies(arguments), copies(arguments)
        found = call(*ours)
        with np.errstate(all="ignore"):
            want = intrinsic.means(*meant)
        if want is not None:
            assert same_bits(found, want), arguments
        for x, y in zip(ours, meant, strict=True):
            assert same_bits(x, y), arguments


@kernel
def popcount_of(x):
    return bits.popcount(x)


@kernel
def total_of(x):
    return vectors.total(x)


@kernel
def write_ones(x):
    bits.write_word(u64(3), x, 0)


WRONG_ARRAYS = [
    (total_of, np.zeros(16, f32)),
    (total_of, np.zeros((4, 16))),
    (total_of, np.zeros(32)[::2]),
    (total_of, np.zeros(16)[::-1]),
    (total_of, 3.0),
]


@pytest.mark.parametrize(("call", "wrong"), WRONG_ARRAYS)
def test_other_dtypes_axes_and_layouts_are_refused(call, wrong):
    """When the call is typed: before anything is compiled that would read beside the array."""
    with pytest.raises(NumbaError, match=r"'x' is .*, and must be array\(float64, 1d, C\)"):
        call(wrong)


def test_numbers_are_converted():
    assert popcount_of(7) == popcount_of(7.0) == popcount_of(np.int32(7)) == 3


def test_read_only_arrays_are_not_written_to():
    frozen = np.zeros(64, np.uint8)
    frozen.flags.writeable = False
    with pytest.raises((NumbaError, ValueError), match="read-only"):
        write_ones(frozen)
    assert not frozen.any()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, y: x * y, (f32(3), 0.1)),
        (lambda x, y: x - u64(y), (u64(0), 1)),
        (lambda x, y: x / y, (1.0, 0.0)),
        (lambda x, y: x / y, (0.0, 0.0)),
        (lambda x, y: x // y, (i64(-7), 2)),
        (lambda x, y: np.exp(x) + y, (1e6, 0)),
        (lambda x, y: x + y, (2**62, 2**62)),
    ],
)
def test_python_kernels_compute_as_compiled_ones(function, arguments):
    """Where numba computes differently from Python: the value, and the type, in which it goes on."""
    want, found = njit(**FLAGS)(function)(*arguments), PythonKernel(function)(*arguments)
    assert same_bits(np.array(want), np.array(found))
    assert isinstance(found, bool | int) or found.dtype == np.array(want).dtype
