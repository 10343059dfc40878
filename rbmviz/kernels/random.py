"""Random bits and Bernoulli draws in vector lanes.

Generator: xoshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
one independent generator a lane, state uint32 (4, lanes) as made by ``rng.kernel_state``. A block of
draws is one step of all lanes: consecutive memory, no branch, so that it vectorises. Every call starts
a new block; what a call draws therefore depends on how many values it asks for, not on chunking.
"""

import numpy as np

from rbmviz.kernels._jit import inline, inner, kernel
from rbmviz.kernels._llvm import FLOAT, Register, constant, in_llvm, loop, vector, word_of
from rbmviz.kernels.bits import write_word

f32, i32, u64 = np.float32, np.int32, np.uint64

STREAM_LANES = 64
"""Lanes of a state (rng.STREAM_LANES): as many draws as a word has bits."""

FEW = 16
"""Lanes of the state of ``uniforms``: of a short draw few are thrown away."""


def _rotate_left(build, x, k):
    return build.or_(build.shl(x, constant(x.type, k)), build.lshr(x, constant(x.type, 32 - k)))


def _advance(build, a, b, c, d):
    """Return one draw of 32 bits a lane, and the next state, from the four rows of a state.

    In vectors of LLVM, not as a loop over the lanes: that loop would check at every block that the four rows
    of the state do not overlap.
    """
    drawn = build.add(_rotate_left(build, build.add(a, d), 7), a)
    t = build.shl(b, constant(b.type, 9))
    c, d = build.xor(c, a), build.xor(d, b)
    return drawn, (build.xor(a, d), build.xor(b, c), build.xor(c, t), _rotate_left(build, d, 11))


def _uniform(build, drawn):
    """Return draws as uniforms of 24 bits, in the middle of their cells, a vector of floats."""
    kind = vector(FLOAT, drawn.type.count)
    cell = build.sitofp(build.lshr(drawn, constant(drawn.type, 8)), kind)
    return build.fmul(build.fadd(cell, constant(kind, 0.5)), constant(kind, 2.0**-24))


def _step(build, state):
    """Advance a state and return one draw of 32 bits a lane."""
    drawn, after = _advance(build, *(state.load(STREAM_LANES * row, STREAM_LANES) for row in range(4)))
    for row, value in enumerate(after):
        state.store(STREAM_LANES * row, value)
    return drawn


@in_llvm
def _random_bits(build, state, out):
    out.store(0, _step(build, state))


@inner
def random_bits(state, out):
    """Fill ``out`` (uint32, one block: as long as the state has lanes) and advance ``state`` in place."""
    _random_bits(state, out)


@in_llvm
def draw_block(build, state, mean, start: np.int64) -> np.uint64:
    """Draw bits with probabilities mean[start : start + STREAM_LANES], all of them inside, as a uint64."""
    z = _uniform(build, _step(build, state))
    return word_of(build, build.fcmp_ordered("<", z, mean.load(start, STREAM_LANES)))


@in_llvm
def draw_part(build, state, mean, start: np.int64, n: np.int64) -> np.uint64:
    """Draw as ``draw_block``, where only the first n lanes have a mean: the others are 0."""
    z = _uniform(build, _step(build, state))
    return word_of(build, build.fcmp_ordered("<", z, mean.load_first(start, STREAM_LANES, n)))


@in_llvm
def _uniforms(build, state, out, n: np.int64):
    rows = [Register(build, state.load(FEW * row, FEW)) for row in range(4)]
    with loop(build, 0, n, FEW) as place:
        drawn, after = _advance(build, *(row.read() for row in rows))
        out.store(place, _uniform(build, drawn))
        for row, value in zip(rows, after, strict=True):
            row.write(value)
    for which, row in enumerate(rows):
        state.store(FEW * which, row.read())


@inner
def uniforms(state, out, n):
    """Fill out[:n], float32, with uniforms of 24 bits, in the middle of their cells.

    state uint32 (4, FEW), which stays in registers on the way; ``out`` has room for whole blocks of FEW.
    """
    _uniforms(state, out, n)


@inner
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) in float32, error below 1.2e-7, x clamped to [-30, 30].

    exp(-x) = 2^n * 2^f with |f| <= 1/2: n goes into the exponent bits, 2^f is a polynomial of degree
    six (the Taylor coefficients of 2^f, the two highest adjusted to balance the error at the ends).
    """
    x = min(max(x, f32(-30.0)), f32(30.0))
    t = x * f32(-1.4426950408889634)
    n = np.rint(t)
    f = t - n
    p = f32(1.535336188319500e-4)
    p = p * f + f32(1.339887440266574e-3)
    p = p * f + f32(9.618437357674640e-3)
    p = p * f + f32(5.550332471162809e-2)
    p = p * f + f32(2.402264791363012e-1)
    p = p * f + f32(6.931472028550421e-1)
    p = p * f + f32(1.0)
    power = i32((i32(n) + i32(127)) << i32(23)).view(f32)
    return f32(1.0) / (f32(1.0) + p * power)


@inner
def bernoulli(state, mean, out):
    """Draw out[i] = 1 with probability mean[i].

    mean float32 (n,), out uint8 (n,); uniforms have 24 bits and lie in the middle of their cell, so
    that 0 and 1 never happen.
    """
    n = out.shape[0]
    whole = n // STREAM_LANES * STREAM_LANES
    for start in range(0, whole, STREAM_LANES):
        write_word(draw_block(state, mean, start), out, start)
    if whole < n:
        bits = draw_part(state, mean, whole, n - whole)
        for i in range(whole, n):
            out[i] = (bits >> u64(i - whole)) & u64(1)


@inner
def mean_row(x, bias, mean):
    """Write mean = sigmoid(x + bias), float32 (n,): into other memory than x, else it does not vectorise."""
    for i in range(x.shape[0]):
        mean[i] = sigmoid(x[i] + bias[i])


@kernel
def draw_row(state, x, bias, row, bits, mean, out):
    """Draw one row of a batch, see ``bernoulli_rows``; row float32 (n,) and bits uint8 (n,) are scratch."""
    mean_row(x, bias, row)
    bernoulli(state, row, bits)
    for i in range(row.shape[0]):
        mean[i] = row[i]
    for i in range(row.shape[0]):
        out[i] = f32(bits[i])


@inline
def fit_rows(state, x, bias, mean, out):
    """Say whether the arrays of a batch of draws fit each other; state as a single stream."""
    lanes = state.shape[0] == 4 and state.shape[1] == STREAM_LANES
    return lanes and bias.shape[0] == x.shape[1] and mean.shape == x.shape and out.shape == x.shape


@kernel
def bernoulli_rows(state, x, bias, mean, out):
    """Draw a batch: mean = sigmoid(x + bias) row by row, out = 1.0 with that probability.

    x, mean, out float32 (rows, n), bias float32 (n,); all three may be the same array.
    """
    if not fit_rows(state, x, bias, mean, out):
        raise ValueError("bernoulli_rows: the arrays do not fit each other")
    row, bits = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.uint8)
    for r in range(x.shape[0]):
        draw_row(state, x[r], bias, row, bits, mean[r], out[r])


@kernel
def bernoulli_chains(states, x, bias, mean, out):
    """Draw a batch as ``bernoulli_rows``, each row from its own stream: states uint32 (rows, 4, lanes)."""
    if states.shape[0] != x.shape[0] or (len(states) and not fit_rows(states[0], x, bias, mean, out)):
        raise ValueError("bernoulli_chains: the arrays do not fit each other")
    row, bits = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.uint8)
    for r in range(x.shape[0]):
        draw_row(states[r], x[r], bias, row, bits, mean[r], out[r])


@kernel
def mean_rows(x, bias, mean):
    """Write mean = sigmoid(x + bias), float32 (rows, n); ``mean`` may be ``x`` itself."""
    n = x.shape[1]
    if bias.shape[0] != n or mean.shape != x.shape:
        raise ValueError("mean_rows: the arrays do not fit each other")
    row = np.empty(n, np.float32)
    for r in range(x.shape[0]):
        mean_row(x[r], bias, row)
        for i in range(n):
            mean[r, i] = row[i]
