"""Unnormalised log-probabilities of all states of one layer, summed over the other layer.

A pre-activation is a sum over the bits of a state, so its exponential is a factor of the high bits times one
of the low bits, and sum_j softplus is the logarithm of prod_j (1 + high_j low_j). HIGH x LOW states are
multiplied side by side in registers: a factor costs one multiply-add and one multiplication. The exponents of
the products are moved to integers before they overflow, so that one logarithm serves a state.
"""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels._llvm import (
    DOUBLE,
    WORD,
    Register,
    call,
    constant,
    in_llvm,
    loop,
    processor,
    spread,
    vector,
)

LANES = 8
HIGH, LOW = 4, 32 if "+avx512f" in processor() else 8
"""States of a block: their products fill half of the registers (16 of 32 with AVX-512, 8 of 16 with AVX2)."""
MANTISSA, BIAS = 52, 1023  # of float64


def _multiply_in_python(high, low, group, product, exponent):
    factors = 1 + high.reshape(-1, HIGH, 1) * low.reshape(-1, 1, LOW)
    product[:], exponent[:] = 1, 0
    for first in range(0, len(factors), group):
        fraction, power = np.frexp(product * factors[first : first + group].prod(axis=0).reshape(-1))
        product[:], exponent[:] = 2 * fraction, exponent + power - 1


@in_llvm("void(float64[::1], float64[::1], int64, float64[::1], int64[::1])", means=_multiply_in_python)
def _multiply(build, high, low, group, product, exponent):
    """Write prod_j (1 + high[j, i] low[j, s]) = product[i, s] 2^exponent[i, s], with 1 <= product < 2.

    high (units, HIGH), low (units, LOW), flattened; the product of ``group`` factors must not overflow.

    Gain: 5 times as fast as a loop over the low states of one high state, which loads and stores a product at
    each factor.
    """
    kind, whole = vector(DOUBLE, LANES), vector(WORD, LANES)
    places = [(i, LANES * k) for i in range(HIGH) for k in range(LOW // LANES)]
    products = {place: Register(build, constant(kind, 1.0)) for place in places}
    exponents = {place: Register(build, constant(whole, 0)) for place in places}
    units = build.sdiv(high.shape[0], constant(WORD, HIGH))
    first = Register(build, constant(WORD, 0))
    with loop(build, 0, build.sdiv(build.sub(build.add(units, group), constant(WORD, 1)), group)):
        start, end = first.read(), build.add(first.read(), group)
        end = build.select(build.icmp_signed("<", end, units), end, units)
        with loop(build, start, end) as j:
            row, column = build.mul(j, constant(WORD, LOW)), build.mul(j, constant(WORD, HIGH))
            lows = {s: low.load(build.add(row, constant(WORD, s)), LANES) for s in range(0, LOW, LANES)}
            highs = [
                spread(build, high.value(build.add(column, constant(WORD, i))), LANES) for i in range(HIGH)
            ]
            for i, s in places:
                factor = call(
                    build, f"llvm.fmuladd.v{LANES}f64", kind, highs[i], lows[s], constant(kind, 1.0)
                )
                products[i, s].write(build.fmul(products[i, s].read(), factor))
        for place in places:
            bits = build.bitcast(products[place].read(), whole)
            power = build.sub(build.lshr(bits, constant(whole, MANTISSA)), constant(whole, BIAS))
            exponents[place].write(build.add(exponents[place].read(), power))
            fraction = build.and_(bits, constant(whole, 2**MANTISSA - 1))
            fraction = build.or_(fraction, constant(whole, BIAS << MANTISSA))
            products[place].write(build.bitcast(fraction, kind))
        first.write(end)
    for i, s in places:
        product.store(LOW * i + s, products[i, s].read())
        exponent.store(LOW * i + s, exponents[i, s].read())


@kernel
def log_weights(high, low, group, high_bias, low_bias, out):
    """Write high_bias + low_bias + sum_j log(1 + high[j] low[j]) for every pair of a high and a low state.

    high float64 (high blocks, units, HIGH), low (low blocks, units, LOW), high_bias (high blocks, HIGH),
    low_bias (low blocks, LOW), out (high blocks, HIGH, low blocks, LOW): the order of the states. The product
    of ``group`` factors 1 + high low must not overflow. ValueError if the arrays do not fit.
    """
    n_high, n_low, units = high.shape[0], low.shape[0], high.shape[1]
    fit = high.shape[2] == HIGH and low.shape[1] == units and low.shape[2] == LOW
    fit = fit and high_bias.shape == (n_high, HIGH) and low_bias.shape == (n_low, LOW)
    if group < 1 or not fit or out.shape != (n_high, HIGH, n_low, LOW):
        raise ValueError("log_weights: the arrays do not fit each other")
    product, exponent = np.empty(HIGH * LOW), np.empty(HIGH * LOW, np.int64)
    for a in range(n_high):
        for b in range(n_low):
            _multiply(high[a].reshape(units * HIGH), low[b].reshape(units * LOW), group, product, exponent)
            for i in range(HIGH):
                row = out[a, i, b]
                for s in range(LOW):
                    at = LOW * i + s
                    logarithm = np.log(product[at]) + exponent[at] * 0.6931471805599453  # log 2
                    row[s] = high_bias[a, i] + low_bias[b, s] + logarithm
