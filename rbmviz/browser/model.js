// @ts-check
// The free energy of a sample, in workers and in pages.

/** Weights (pixels x columns), and biases of the hidden units and pixels. @typedef {{ W: Float32Array, c: Float32Array, b: Float32Array }} Weights */

/** Number of bits that are on in each byte. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** @param {Weights} weights @param {Uint8Array} v bits @param {number} n_hidden @returns {{ energy: number, input: Float64Array }} free energy, and the inputs of the hidden units */
function energyOf({ W, c, b }, v, n_hidden) {
  const pitch = W.length / v.length, input = Float64Array.from(c.subarray(0, n_hidden));
  let energy = 0;
  v.forEach((on, i) => {
    if (!on) return;
    energy -= b[i];
    for (let j = 0; j < n_hidden; j++) input[j] += W[i * pitch + j];
  });
  for (const x of input) energy -= Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))); // softplus
  return { energy, input };
}
