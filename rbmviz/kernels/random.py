"""Random bits and Bernoulli draws in vector lanes.

Generator: xoshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
one independent generator a lane, state uint32 (4, lanes) as made by ``rng.kernel_state``. A block of
draws is one step of all lanes: consecutive memory, no branch, so that it vectorises. Every call starts
a new block; what a call draws therefore depends on how many values it asks for, not on chunking.
"""

import numpy as np

from rbmviz.kernels._jit import inner, kernel

f32, i32, u32 = np.float32, np.int32, np.uint32

# numba widens uint32 arithmetic to uint64: every intermediate below is cast back by hand.


@inner
def rotate_left(x, k):
    """Rotate the 32 bits of x to the left by k, uint32 both."""
    return u32(u32(x << k) | u32(x >> u32(u32(32) - k)))


@inner
def random_bits(state, out):
    """Fill ``out`` (uint32, one block: as long as the state has lanes) and advance ``state`` in place."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for lane in range(out.shape[0]):
        a, b, c, d = s0[lane], s1[lane], s2[lane], s3[lane]
        out[lane] = u32(rotate_left(u32(a + d), u32(7)) + a)
        t = u32(b << u32(9))
        c = u32(c ^ a)
        d = u32(d ^ b)
        s1[lane] = u32(b ^ c)
        s0[lane] = u32(a ^ d)
        s2[lane] = u32(c ^ t)
        s3[lane] = rotate_left(d, u32(11))


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


@kernel
def bernoulli(state, mean, out):
    """Draw out[i] = 1 with probability mean[i].

    mean float32 (n,), out uint8 (n,); uniforms have 24 bits and lie in the middle of their cell, so
    that 0 and 1 never happen.
    """
    lanes = state.shape[1]
    bits = np.empty(lanes, np.uint32)
    for start in range(0, out.shape[0], lanes):
        random_bits(state, bits)
        # Slices: an index i - start could be negative for all that numba knows, and would not vectorise.
        means, draws = mean[start : start + lanes], out[start : start + lanes]
        for i in range(draws.shape[0]):
            uniform = (f32(i32(bits[i] >> u32(8))) + f32(0.5)) * f32(2.0**-24)
            draws[i] = uniform < means[i]


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


@kernel
def bernoulli_rows(state, x, bias, mean, out):
    """Draw a batch: mean = sigmoid(x + bias) row by row, out = 1.0 with that probability.

    x, mean, out float32 (rows, n), bias float32 (n,); all three may be the same array.
    """
    row, bits = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.uint8)
    for r in range(x.shape[0]):
        draw_row(state, x[r], bias, row, bits, mean[r], out[r])


@kernel
def bernoulli_chains(states, x, bias, mean, out):
    """Draw a batch as ``bernoulli_rows``, each row from its own stream: states uint32 (rows, 4, lanes)."""
    row, bits = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.uint8)
    for r in range(x.shape[0]):
        draw_row(states[r], x[r], bias, row, bits, mean[r], out[r])


@kernel
def mean_rows(x, bias, mean):
    """Write mean = sigmoid(x + bias), float32 (rows, n); ``mean`` may be ``x`` itself."""
    n = x.shape[1]
    row = np.empty(n, np.float32)
    for r in range(x.shape[0]):
        mean_row(x[r], bias, row)
        for i in range(n):
            mean[r, i] = row[i]
