// @ts-check
// The parameters of a chain's model, and the free energy of a sample, in workers and in pages.

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

/** The model's parameters; rows of W may be padded. @param {(path: string) => Float32Array | undefined} arrayOf an array of the chain @param {{ n_visible: number, n_hidden: number }} spec @returns {Weights} */
function weightsOf(arrayOf, { n_visible, n_hidden }) {
  const [W, c, b] = ['up.weights', 'up.bias', 'down.bias'].map(path => arrayOf(path) ?? arrayOf(path.replace('.', '.theta.')));
  if (W && c && b) return { W, c, b };
  // Of replicas: in tiles of 64 hidden units, and the visible biases without those of the model at 0.
  const [tiles, hidden, visible, base] = ['hidden.weights', 'hidden.bias', 'visible.bias', 'base'].map(path => /** @type {Float32Array} */ (arrayOf(`ladder.${path}`)));
  const rows = 64 * Math.ceil(n_visible / 64), row = (/** @type {number} */ at) => Math.floor(at / n_hidden);
  return { W: Float32Array.from({ length: n_visible * n_hidden }, (_, at) => tiles[64 * (rows * (at % n_hidden >> 6) + row(at)) + (at % n_hidden & 63)]), c: hidden, b: base.map((bias, i) => bias + visible[i]) };
}
