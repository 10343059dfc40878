// @ts-check
// What a live page without a server says about one sample, like tile_of (rbmviz_app/stream/tiles.py): from the weights and
// the training examples in the page.

/** @param {Uint8Array} bytes @returns {string} in base64 */
const textOf = bytes => btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));

class TileModel {
  /** @param {any} live the frame with the kernels and chains */
  constructor({ request: { chains, scores }, panels: [{ blocks }] }) {
    this.blocks = blocks;
    this.chain = chains[0];
    this.scores = scores;
    /** @type {Weights | null} */
    this.rbm = null;
  }

  /** @param {string} path @returns {Float32Array | undefined} the array of the chain's start */
  arrayOf(path) {
    const { arrays: { [path]: array } } = this.chain;
    if (!array) return undefined;
    const [, shape, source] = array, bytes = new Uint8Array(4 * shape.reduce((/** @type {number} */ product, /** @type {number} */ n) => product * n, 1)), block = this.blocks[source];
    if (block?.shape.length === 1) bytes.set(block.data);
    else if (block) for (let plane = 0, n = block.shape[1]; plane < 4; plane++) { // see Chain.fill
      for (let i = 0; i < n; i++) bytes[4 * i + plane] = block.data[n * plane + i];
    }
    return new Float32Array(bytes.buffer);
  }

  /** @param {Uint8Array} v bits @returns {{ energy: number, p: Uint8Array }} free energy, and the probability of each pixel given the means of the hidden units, in 255ths */
  passOf(v) {
    this.rbm ??= weightsOf(path => this.arrayOf(path), this.chain);
    const { W, b } = this.rbm, { n_hidden } = this.chain, pitch = W.length / v.length, { energy, input } = energyOf(this.rbm, v, n_hidden);
    const h = input.map(x => 1 / (1 + Math.exp(-x)));
    const p = Uint8Array.from(v, (_, i) => {
      let x = b[i];
      for (let j = 0; j < n_hidden; j++) x += W[i * pitch + j] * h[j];
      return Math.round(255 / (1 + Math.exp(-x)));
    });
    return { energy, p };
  }

  /** @param {number} panel @param {number} sample @param {Uint8Array} v bits @returns {Tile} */
  tileOf(panel, sample, v) {
    const { energy, p } = this.passOf(v), tile = { panel, sample, energy, p: textOf(p) };
    if (!this.scores) return tile;
    const { examples, labels } = this.blocks, [rows, bytes] = examples.shape, row = packRow(v, bytes), { threshold, blank_below } = this.scores;
    let index = 0, least = Infinity;
    for (let r = 0; r < rows; r++) {
      let differ = 0;
      for (let i = 0; i < bytes; i++) differ += ONES[row[i] ^ examples.data[r * bytes + i]];
      if (differ < least) [index, least] = [r, differ];
    }
    const bits = examples.data.slice(index * bytes, (index + 1) * bytes), example = unpackBits({ dtype: 'bits', shape: [1, v.length], data: bits });
    return { ...tile, nearest: {
      v: textOf(bits), differ: least, energy: this.passOf(example).energy, of: labels ? labels.data[index] : null,
      unlike: threshold >= 0 && least > threshold, blank: v.reduce((sum, on) => sum + on, 0) < blank_below,
    } };
  }
}

/** @param {Uint8Array} bits @param {number} bytes of the row @returns {Uint8Array} */
function packRow(bits, bytes) {
  const row = new Uint8Array(bytes);
  bits.forEach((on, i) => { row[i >> 3] |= on << (7 - (i & 7)); });
  return row;
}
