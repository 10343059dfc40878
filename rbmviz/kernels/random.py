"""Random bits, uniforms and Bernoulli draws, in lanes of vectors.

The generator is xoshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
Transactions on Mathematical Software 47, 2021, doi:10.1145/3460772), with an independent generator in each
lane. A *stream* is the state of all lanes, uint32 (4, lanes): ``rng.kernel_state`` makes streams of
STREAM_LANES lanes, ``coupling.pair_streams`` streams of UNIFORM_LANES for ``uniforms``. ``random_bits``,
``uniforms`` and ``bernoulli`` do not check which kind they get: from the wrong one ``uniforms`` draws bad
numbers, and the other two write beyond its end. Kernels that other packages call check the shape.

A block of draws is one step of all lanes, in consecutive memory without a branch. Every call starts a new
block and discards the rest of its last one. A chain asks for the same numbers however its run is divided into
chunks, and so draws the same numbers.

A *uniform* is (cell + 1/2) 2^-24 in float32, where ``cell`` is the upper 24 bits of a draw: the middle of a
cell below 1/2. From 1/2 on float32 cannot represent it and rounds to the end that is an even multiple of
2^-24, which is 1 in the last cell. Uniforms therefore lie in (0, 1]: log(z) is always finite, log(1 - z) is
not.

``bits`` says how the gains of the intrinsics were measured.
"""

import numpy as np

from rbmviz.kernels._jit import inline, inner, kernel
from rbmviz.kernels._llvm import FLOAT, Register, constant, in_llvm, loop, vector, word_of
from rbmviz.kernels.bits import as_word, write_word

f32, i32, u32, u64 = np.float32, np.int32, np.uint32, np.uint64

STREAM_LANES = 64
"""Lanes of a stream, equal to rng.STREAM_LANES: one draw per bit of a word."""

UNIFORM_LANES = 16
"""Lanes of a stream for ``uniforms``: a short request discards few draws."""


# xoshiro128++ in LLVM, and in numpy with the names of the paper's program (s0 to s3).


def _rotate_left(build, x, k):
    return build.or_(build.shl(x, constant(x.type, k)), build.lshr(x, constant(x.type, 32 - k)))


def _advance(build, a, b, c, d):
    """Return a draw of 32 bits per lane, and the next four rows of a stream, from its four rows.

    The rows are vectors of LLVM: a loop over lanes would check in every block that they do not overlap.
    """
    drawn = build.add(_rotate_left(build, build.add(a, d), 7), a)
    t = build.shl(b, constant(b.type, 9))
    c, d = build.xor(c, a), build.xor(d, b)
    return drawn, (build.xor(a, d), build.xor(b, c), build.xor(c, t), _rotate_left(build, d, 11))


def _uniform(build, drawn):
    """Return draws as uniforms in (0, 1], a vector of floats."""
    kind = vector(FLOAT, drawn.type.count)
    cell = build.sitofp(build.lshr(drawn, constant(drawn.type, 8)), kind)
    return build.fmul(build.fadd(cell, constant(kind, 0.5)), constant(kind, 2.0**-24))


def _step(build, stream):
    """Advance a stream of STREAM_LANES lanes, and return a draw of 32 bits per lane."""
    drawn, after = _advance(build, *(stream.load(STREAM_LANES * row, STREAM_LANES) for row in range(4)))
    for row, value in enumerate(after):
        stream.store(STREAM_LANES * row, value)
    return drawn


def _rotate_left_in_python(x, k):
    return (x << u32(k)) | (x >> u32(32 - k))


def _step_in_python(stream):
    """Advance a stream, uint32 (4, lanes), and return a draw of 32 bits per lane."""
    s0, s1, s2, s3 = stream
    drawn = _rotate_left_in_python(s0 + s3, 7) + s0
    t = s1 << u32(9)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3[:] = _rotate_left_in_python(s3, 11)
    return drawn


def _uniforms_of_step(stream):
    """Advance a stream and return a uniform in (0, 1] per lane, float32."""
    return ((_step_in_python(stream) >> u32(8)).astype(f32) + f32(0.5)) * f32(2.0**-24)


def _random_bits_in_python(stream, out):
    out[:STREAM_LANES] = _step_in_python(stream)


@in_llvm("void(uint32[:, ::1], uint32[::1])", means=_random_bits_in_python)
def _random_bits(build, stream, out):
    """Do ``random_bits``.

    Gain: 1.6 times as fast; AVX-512 rotates 16 lanes in one instruction.
    """
    out.store(0, _step(build, stream))


@inner
def random_bits(stream, out):
    """Fill ``out``, uint32 (STREAM_LANES,), with random bits, and advance ``stream`` in place."""
    _random_bits(stream, out)


def _draw_block_in_python(stream, mean, start):
    return as_word(_uniforms_of_step(stream) < mean[start : start + STREAM_LANES])


@in_llvm("uint64(uint32[:, ::1], float32[::1], int64)", means=_draw_block_in_python)
def draw_block(build, stream, mean, start):
    """Draw bits with probabilities mean[start : start + STREAM_LANES], all inside, as a uint64.

    Gain: 3 times as fast; 64 draws stay in four registers of AVX-512, and 64 comparisons become a word at
    once.
    """
    z = _uniform(build, _step(build, stream))
    return word_of(build, build.fcmp_ordered("<", z, mean.load(start, STREAM_LANES)))


def _draw_part_in_python(stream, mean, start, n):
    return as_word(_uniforms_of_step(stream)[:n] < mean[start : start + n])


@in_llvm("uint64(uint32[:, ::1], float32[::1], int64, int64)", means=_draw_part_in_python)
def draw_part(build, stream, mean, start, n):
    """Draw as ``draw_block``, but only the first n lanes have a mean; the other bits are 0.

    Gain: 3 times as fast, for 16 of 64 lanes; needs masked loads, which AVX2 has too.
    """
    z = _uniform(build, _step(build, stream))
    return word_of(build, build.fcmp_ordered("<", z, mean.load_first(start, STREAM_LANES, n)))


def _uniforms_in_python(stream, out, n):
    for start in range(0, n, UNIFORM_LANES):
        out[start : start + UNIFORM_LANES] = _uniforms_of_step(stream)


@in_llvm("void(uint32[:, ::1], float32[::1], int64)", means=_uniforms_in_python)
def _uniforms(build, stream, out, n):
    """Do ``uniforms``.

    Gain: 3 times as fast, for 784 numbers; the stream stays in registers between blocks.
    """
    rows = [Register(build, stream.load(UNIFORM_LANES * row, UNIFORM_LANES)) for row in range(4)]
    with loop(build, 0, n, UNIFORM_LANES) as start:
        drawn, after = _advance(build, *(row.read() for row in rows))
        out.store(start, _uniform(build, drawn))
        for row, value in zip(rows, after, strict=True):
            row.write(value)
    for which, row in enumerate(rows):
        stream.store(UNIFORM_LANES * which, row.read())


@inner
def uniforms(stream, out, n):
    """Fill out[:n], float32, with uniforms in (0, 1] and advance ``stream``.

    stream uint32 (4, UNIFORM_LANES); ``out`` has room for whole blocks of UNIFORM_LANES.
    """
    _uniforms(stream, out, n)


@inline
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) in float32, error below 1.2e-7, x clamped to [-30, 30].

    exp(-x) = 2^n 2^f with |f| <= 1/2. The integer n is written into the exponent bits; 2^f is a polynomial of
    degree six with relative error 2e-9 (2e-8 after rounding its coefficients to float32), not Taylor's.
    """
    x = f32(-30.0) if x < f32(-30.0) else x  # numba compiles min and max as functions of their own
    x = f32(30.0) if x > f32(30.0) else x
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
def bernoulli(stream, mean, out):
    """Draw out[i] = 1 with probability mean[i].

    mean float32 (n,), out uint8 (n,). A uniform is never 0, so mean 0 gives 0; it is 1 once in 2^24 draws, so
    mean 1 gives 0 as rarely.
    """
    n = out.shape[0]
    whole = n // STREAM_LANES * STREAM_LANES
    for start in range(0, whole, STREAM_LANES):
        write_word(draw_block(stream, mean, start), out, start)
    if whole < n:
        bits = draw_part(stream, mean, whole, n - whole)
        for i in range(whole, n):
            out[i] = (bits >> u64(i - whole)) & u64(1)


@inner
def mean_row(x, bias, mean):
    """Write mean = sigmoid(x + bias), float32 (n,), which must not overlap x: the loop vectorises."""
    for i in range(x.shape[0]):
        mean[i] = sigmoid(x[i] + bias[i])


@kernel
def draw_row(stream, x, bias, row, bits, mean, out):
    """Draw one row of a batch, see ``bernoulli_rows``; row float32 (n,), bits uint8 (n,): work space."""
    mean_row(x, bias, row)
    bernoulli(stream, row, bits)
    for i in range(row.shape[0]):
        mean[i] = row[i]
    for i in range(row.shape[0]):
        out[i] = f32(bits[i])


@inline
def rows_fit(stream, x, bias, mean, out):
    """Return whether the arrays of a batch of draws fit each other, with a single stream."""
    lanes = stream.shape[0] == 4 and stream.shape[1] == STREAM_LANES
    return lanes and bias.shape[0] == x.shape[1] and mean.shape == x.shape and out.shape == x.shape


@kernel
def bernoulli_rows(stream, x, bias, mean, out):
    """Draw a batch row by row: mean = sigmoid(x + bias), and out = 1.0 with that probability, else 0.0.

    x, mean, out float32 (rows, n), which may all be the same array; bias float32 (n,).
    """
    if not rows_fit(stream, x, bias, mean, out):
        raise ValueError("bernoulli_rows: the arrays do not fit each other")
    row, bits = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.uint8)
    for r in range(x.shape[0]):
        draw_row(stream, x[r], bias, row, bits, mean[r], out[r])
