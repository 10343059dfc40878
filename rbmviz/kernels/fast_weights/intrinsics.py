"""Sums over samples stored as bits: eight samples and sixteen units at once, or by their overlaps."""

import numpy as np

from rbmviz.kernels._llvm import (
    DOUBLE,
    FLOAT,
    INT,
    Register,
    call,
    constant,
    has,
    in_llvm,
    loop,
    spread,
    undefined,
    vector,
)
from rbmviz.kernels.vectors import join_lanes

f32 = np.float32

PATTERNS = 16
"""Patterns of four bits."""
UNIT_LANES = PATTERNS
"""Units that look their sums up at once: a vector holds the table of all patterns, or as many sums."""


def _table(build, factor, first):
    """Return the sums of four factors, from ``first`` on, for all patterns of four bits."""
    a, b, c, d = (
        build.fmul(
            constant(vector(FLOAT, UNIT_LANES), [float(pattern >> k & 1) for pattern in range(PATTERNS)]),
            spread(build, factor.value(first + k), UNIT_LANES),
        )
        for k in range(4)
    )
    return build.fadd(build.fadd(a, b), build.fadd(c, d))


def _look_up(build, table, pattern):
    """Return table[pattern % PATTERNS], lane by lane.

    AVX-512 has an instruction that reads the low four bits alone; elsewhere it takes UNIT_LANES loads.
    """
    if has("avx512f"):
        return call(build, "llvm.x86.avx512.permvar.sf.512", table.type, table, pattern)
    pattern = build.and_(pattern, constant(pattern.type, PATTERNS - 1))
    looked_up = undefined(table.type)
    for lane in range(UNIT_LANES):
        place = constant(INT, lane)
        value = build.extract_element(table, build.extract_element(pattern, place))
        looked_up = build.insert_element(looked_up, value, place)
    return looked_up


def _add_packed_in_python(factor, packed, out):
    bits = np.unpackbits(packed, bitorder="little").reshape(-1, 8).astype(f32)
    a, b, c, d, e, f, g, h = (bits * factor).T
    out[:] = (out + ((a + b) + (c + d))) + ((e + f) + (g + h))


@in_llvm("void(float32[::1], uint8[::1], float32[::1])", means=_add_packed_in_python)
def add_packed(build, factor, packed, out):
    """out[i] += sum_k factor[k] bit_k(packed[i]), k < 8; UNIT_LANES divides the length of packed and out.

    Gain: 17 times as fast as the sum over k of factor[k] or 0, chosen by its bit; with AVX-512 a look-up of
    16 floats is one VPERMPS, without it 16 loads.
    """
    low, high = _table(build, factor, 0), _table(build, factor, 4)
    whole = vector(INT, UNIT_LANES)
    with loop(build, 0, out.shape[0], UNIT_LANES) as place:
        pattern = build.zext(packed.load(place, UNIT_LANES), whole)
        low_sum = _look_up(build, low, pattern)
        high_sum = _look_up(build, high, build.lshr(pattern, constant(whole, 4)))
        out.store(place, build.fadd(build.fadd(out.load(place, UNIT_LANES), low_sum), high_sum))


OVERLAP_LANES = 8
"""Samples whose products are summed at once; it divides the length of every history."""


def _weighted_products_in_python(weight, v, h, n):
    lanes, v, h = np.zeros(OVERLAP_LANES), v.astype(np.int64), h.astype(np.int64)
    for at in range(0, n, OVERLAP_LANES):
        s = slice(at, at + OVERLAP_LANES)
        lanes = lanes + weight[s] * (v[s] * h[s] + (v[s] + h[s]))
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return lanes[0]


@in_llvm("float64(float64[::1], uint64[::1], uint64[::1], int64)", means=_weighted_products_in_python)
def weighted_products(build, weight, v, h, n):
    """Return the sum of weight[s] (v[s] h[s] + v[s] + h[s]), s < n, for overlaps v and h below 2^15.

    Partial sums in lanes, and then their halves: the same bits on any machine. OVERLAP_LANES divides n.
    """
    sums = Register(build, constant(vector(DOUBLE, OVERLAP_LANES), 0.0))
    whole = vector(INT, OVERLAP_LANES)
    with loop(build, 0, n, OVERLAP_LANES) as s:
        a, b = (build.trunc(x.load(s, OVERLAP_LANES), whole) for x in (v, h))
        product = build.add(build.mul(a, b), build.add(a, b))
        terms = build.fmul(weight.load(s, OVERLAP_LANES), build.sitofp(product, sums.read().type))
        sums.write(build.fadd(sums.read(), terms))
    return join_lanes(build, sums.read(), build.fadd)
