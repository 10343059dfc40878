"""Unnormalised probabilities of all states of one layer, summed over the other layer.

A pre-activation is a sum x over the high bits of a state plus a sum y over its low bits, and 1 + exp(x + y) =
exp(y) (exp(x) + exp(-y)). The first factors are a bias: y is linear in the bits. What is left is a product of
high_j + low_j. HIGH x LOW states are multiplied side by side in registers: an addition and a multiplication
each, at the same time if the processor can. Exponents are moved to integers before the products overflow.
"""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels._llvm import (
    DOUBLE,
    WORD,
    Register,
    constant,
    has,
    in_llvm,
    loop,
    spread,
    vector,
)

HIGH, LOW = 16 if has("avx512f") else 4, 8
"""States of a block: their products fill half of the registers (16 of 32 with AVX-512, 8 of 16 with AVX2).

With AVX-512 an addition spreads a number from memory by itself, but only if it is the only one to use it: one
vector of low states. Spread by an instruction of its own, it takes the time of an addition on AMD's Zen 4.
"""
MANTISSA, BIAS = 52, 1023  # of float64


def _multiply_in_python(high, low, group, product, exponent):
    factors = (high.reshape(-1, HIGH, 1) + low.reshape(-1, 1, LOW)).reshape(-1, HIGH * LOW)
    product[:], exponent[:] = 1, 0
    for first in range(0, len(factors), group):
        for factor in factors[first : first + group]:
            product *= factor
        fraction, power = np.frexp(product)
        product[:], exponent[:] = 2 * fraction, exponent + power - 1


@in_llvm("void(float64[::1], float64[::1], int64, float64[::1], int64[::1])", means=_multiply_in_python)
def _multiply(build, high, low, group, product, exponent):
    """Write prod_j (high[j, i] + low[j, s]) = product[i, s] 2^exponent[i, s], with 1 <= product < 2.

    high (units, HIGH), low (units, LOW), flattened; the product of ``group`` factors: see ``weights``.

    Gain: 3 times as fast as a loop over the low states of one high state, which stores products.
    """
    kind, whole = vector(DOUBLE, LOW), vector(WORD, LOW)
    products = [Register(build, constant(kind, 1.0)) for _ in range(HIGH)]
    exponents = [Register(build, constant(whole, 0)) for _ in range(HIGH)]
    units = build.sdiv(high.shape[0], constant(WORD, HIGH))
    first = Register(build, constant(WORD, 0))
    with loop(build, 0, build.sdiv(build.sub(build.add(units, group), constant(WORD, 1)), group)):
        start, end = first.read(), build.add(first.read(), group)
        end = build.select(build.icmp_signed("<", end, units), end, units)
        with loop(build, start, end) as j:
            lows, row = low.load(build.mul(j, constant(WORD, LOW)), LOW), build.mul(j, constant(WORD, HIGH))
            for i, state in enumerate(products):
                one = spread(build, high.value(build.add(row, constant(WORD, i))), LOW)
                state.write(build.fmul(state.read(), build.fadd(one, lows)))
        for state, exponent_of in zip(products, exponents, strict=True):
            bits = build.bitcast(state.read(), whole)
            power = build.sub(build.lshr(bits, constant(whole, MANTISSA)), constant(whole, BIAS))
            exponent_of.write(build.add(exponent_of.read(), power))
            fraction = build.and_(bits, constant(whole, 2**MANTISSA - 1))
            fraction = build.or_(fraction, constant(whole, BIAS << MANTISSA))
            state.write(build.bitcast(fraction, kind))
        first.write(end)
    for i in range(HIGH):
        product.store(LOW * i, products[i].read())
        exponent.store(LOW * i, exponents[i].read())


@kernel
def weights(high, scale, low, group, high_bias, low_bias, fractions, logs):
    """Write exp(high_bias + low_bias) prod_j (scale[j] high[j] + low[j]) for every high and every low state.

    It is fractions exp(logs), with 1 <= fractions < 2: no state needs a logarithm. high float64 (high blocks,
    units, HIGH), scale (units,), low (low blocks, units, LOW), high_bias (high blocks, HIGH), low_bias (low
    blocks, LOW), fractions and logs (high blocks, HIGH, low blocks, LOW): the states in order. The product of
    ``group`` factors must be between exp(-700) and exp(700). ValueError if the arrays do not fit.
    """
    n_high, n_low, units = high.shape[0], low.shape[0], high.shape[1]
    fit = high.shape[2] == HIGH and scale.shape[0] == units and low.shape[1] == units and low.shape[2] == LOW
    fit = fit and high_bias.shape == (n_high, HIGH) and low_bias.shape == (n_low, LOW)
    fit = fit and fractions.shape == (n_high, HIGH, n_low, LOW)
    if group < 1 or not fit or logs.shape != fractions.shape:
        raise ValueError("weights: the arrays do not fit each other")
    scaled, product, exponent = np.empty(units * HIGH), np.empty(HIGH * LOW), np.empty(HIGH * LOW, np.int64)
    for a in range(n_high):
        for j in range(units):
            for i in range(HIGH):
                scaled[HIGH * j + i] = scale[j] * high[a, j, i]
        for b in range(n_low):
            _multiply(scaled, low[b].reshape(units * LOW), group, product, exponent)
            for i in range(HIGH):
                for s in range(LOW):
                    fractions[a, i, b, s] = product[LOW * i + s]
                    power = exponent[LOW * i + s] * 0.6931471805599453  # log 2
                    logs[a, i, b, s] = high_bias[a, i] + low_bias[b, s] + power
