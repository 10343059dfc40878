// @ts-check
// The only frame reader in JavaScript. rbmviz/view/frames.py defines the format and contains the only writer.

/**
 * An array of a frame. For dtype "bits", the data are packed along the last axis, and each row is padded to whole bytes.
 * @typedef {object} Block
 * @property {string} dtype
 * @property {number[]} shape
 * @property {Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array} data
 */

/**
 * One panel of a frame. The panel's own script defines further entries of its head.
 * @typedef {object} PanelPart
 * @property {PanelHead} head
 * @property {Record<string, Block | undefined>} blocks by name
 */

/**
 * @typedef {object} PanelHead
 * @property {number} key
 * @property {number} run number of the run; a new run has a new number
 * @property {string} status
 * @property {number} n steps so far
 * @property {number} [bins_before] number of the class strip's parts that precede a turn of a knob; sent with a new strip
 * @property {string | null} [error] the reason why the status is "failed"
 * @property {[number, number] | null} [compiling] for status "starting": how many jobs of the compiler are done, and of how many; null: the run's kernels are compiled
 * @property {number} [rebuilt] for status "rebuilding": share of the run that is restored, from 0 to 1
 * @property {string} [warning]
 * @property {Record<string, number | boolean>} [knobs] values of knobs that can also be turned by something other than their controls
 * @property {Record<string, ReadoutValue>} [readouts] a head without readouts has only the entries that the pictures need; the rest is unchanged
 */

/** @typedef {number | string | number[] | null} ReadoutValue a number, words, or several numbers; null if unknown */

const BLOCK_ARRAYS = {
  bits: Uint8Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array,
};
const HEADER_LENGTH_BYTES = 4;

/**
 * Return the content of a frame; throw if it is cut short or too long. What it describes is not checked: all frames are
 * of our own writer.
 * @param {ArrayBuffer} buffer
 * @returns {{ request: object, running: boolean, panels: PanelPart[], charts: Record<string, any> | null }} ``running`` tells whether the page plays; ``charts`` has the charts of the page if one is new, see Parts.take
 */
function readFrame(buffer) {
  try {
    let at = HEADER_LENGTH_BYTES + new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEADER_LENGTH_BYTES, at - HEADER_LENGTH_BYTES)));
    const panels = header.panels.map((/** @type {any} */ { blocks: described, ...head }) => {
      /** @type {Record<string, Block>} */
      const blocks = {};
      for (const [name, dtype, shape] of /** @type {[string, keyof BLOCK_ARRAYS, number[]][]} */ (described)) {
        const stored = dtype === 'bits' ? [...shape.slice(0, -1), Math.ceil(shape[shape.length - 1] / 8)] : shape;
        const Elements = BLOCK_ARRAYS[dtype], count = stored.reduce((product, size) => product * size, 1), end = at + count * Elements.BYTES_PER_ELEMENT;
        // Copy, because a view with several bytes per element must begin at a multiple of them.
        blocks[name] = { dtype, shape, data: Elements.BYTES_PER_ELEMENT === 1 ? new Uint8Array(buffer, at, count) : new Elements(buffer.slice(at, end)) };
        at = end;
      }
      return { head, blocks };
    });
    if (at !== buffer.byteLength) throw new Error('its length is another');
    return { request: header.request, running: header.running === true, panels, charts: header.charts ?? null };
  } catch (error) {
    throw new Error('A frame is damaged: it is cut short or too long, or none.', { cause: error });
  }
}

/** @param {BlobPart} packed a frame compressed by zlib @returns {Promise<ArrayBuffer>} */
const inflated = packed => new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();

/** @param {Block | undefined} block @returns {number} number of rows; 0 if the block is not in the frame */
function rowCount(block) {
  return block ? block.shape[0] : 0;
}

/**
 * Return one row of a block of bits, as zeros and ones.
 * @param {Block} block
 * @param {number} [row]
 * @returns {Uint8Array}
 */
function unpackBits(block, row = 0) {
  const n = block.shape[block.shape.length - 1], from = row * Math.ceil(n / 8), bits = new Uint8Array(n);
  for (let i = 0; i < n; i++) bits[i] = (block.data[from + (i >> 3)] >> (7 - (i & 7))) & 1;
  return bits;
}
