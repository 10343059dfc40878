// @ts-check
// Chains and scores computed by the project's kernels (kernels.wasm): in a worker of a page, or in node. What Python does
// between two kernels is mirrored here, and tested against it: Chain.advance (sample_chain and climb_chain of
// rbmviz/kernels/fast_weights/sample.py, Gibbs._step), packRows (hamming.pack_blocks), and Scores (metrics/isl.py,
// metrics/coverage.py). No floating-point number that a sample depends on is computed here, but 1 / temperature.

/** @typedef {{ at: number, dtype: string, shape: number[], bytes: number }} KernelArray an array in the module's memory */
/** @typedef {[path: string, dtype: string | null, axes: number]} Leaf an argument's array, or with -1 axes a number */
/** @typedef {{ functions: Record<string, Leaf[]>, records: Record<string, { itemsize: number, fields: Record<string, [string, number]> }> }} Signatures */
/** @typedef {null | string | [string]} Source zeros, the name of a block, or the path of the array whose transpose it is */
/**
 * A chain as the arrays that ``init`` makes (rbmviz/browser/chains.py); each start has the arrays of another seed.
 * @typedef {object} ChainSpec
 * @property {'gibbs' | 'driven' | 'herding' | 'tempering'} kind
 * @property {number} n_visible
 * @property {number} n_hidden
 * @property {Record<string, number>} numbers of the kernel's arguments, which stay
 * @property {Record<string, [dtype: string, shape: number[], source: Source]>} arrays
 * @property {boolean} drawn whether it starts at random bits
 * @property {{ seed: number, changed: Record<string, Source> }[]} starts
 */
/** @typedef {Record<string, { dtype: string, shape: number[], data: any }>} Blocks */

const NUMBER_BYTES = /** @type {Record<string, number>} */ ({ bool: 1, uint8: 1, int16: 2, int32: 4, uint32: 4, float32: 4, int64: 8, uint64: 8, float64: 8 });
const BATCH = 128; // samples of one call: a block of kernels/hamming.py
const MIXTURE_LANES = 8;

/** The module with its memory. */
class Kernels {
  /** @param {Uint8Array | WebAssembly.Module} wasm @param {Signatures} table */
  constructor(wasm, table) {
    this.table = table;
    this.memory = new WebAssembly.Memory({ initial: 32, maximum: 32768 });
    const module = wasm instanceof WebAssembly.Module ? wasm : new WebAssembly.Module(/** @type {any} */ (wasm));
    this.functions = /** @type {any} */ (new WebAssembly.Instance(module, { env: { memory: this.memory, exp: Math.exp, log: Math.log } }).exports);
    this.base = this.end = this.functions.__heap_base.value;
  }

  /** Forget all arrays. */
  clear() {
    new Uint8Array(this.memory.buffer, this.base).fill(0);
    this.end = this.base;
  }

  /** Return a new array of zeros. @param {string} dtype @param {number[]} shape @returns {KernelArray} */
  array(dtype, shape) {
    const size = NUMBER_BYTES[dtype] ?? this.table.records[dtype].itemsize, bytes = shape.reduce((product, n) => product * n, size);
    const at = Math.ceil(this.end / 64) * 64, missing = at + bytes - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / 65536));
    this.end = at + bytes;
    return { at, dtype, shape, bytes };
  }

  /** @param {KernelArray} array @returns {Uint8Array} its bytes, until the next array is made */
  bytes({ at, bytes }) { return new Uint8Array(this.memory.buffer, at, bytes); }

  /** @param {KernelArray} array @returns {any} its numbers, until the next array is made */
  numbers({ at, dtype, bytes }) {
    const Numbers = /** @type {Record<string, any>} */ ({ float64: Float64Array, float32: Float32Array, int32: Int32Array })[dtype] ?? Uint8Array;
    return new Numbers(this.memory.buffer, at, bytes / Numbers.BYTES_PER_ELEMENT);
  }

  /** Return a field of a record. @param {KernelArray} record @param {string} field @returns {number} */
  field(record, field) {
    const [, offset] = this.table.records[record.dtype].fields[field];
    return Number(new DataView(this.memory.buffer).getBigInt64(record.at + offset, true));
  }

  /** @param {KernelArray} record @param {string} field of 64 bits @param {number} value */
  setField(record, field, value) {
    const [dtype, offset] = this.table.records[record.dtype].fields[field], view = new DataView(this.memory.buffer, record.at + offset);
    if (dtype === 'float64') view.setFloat64(0, value, true);
    else view.setBigInt64(0, BigInt(value), true);
  }

  /**
   * Return a function of the module with these arrays as arguments; numbers, and other arrays, are given at each call.
   * @param {string} name
   * @param {Record<string, KernelArray>} arrays by path
   * @returns {(numbers: Record<string, number | boolean>, others?: Record<string, KernelArray>) => number}
   */
  bind(name, arrays) {
    const leaves = this.table.functions[name], slots = leaves.map(([, , axes]) => (axes < 0 ? 1 : 5 + 2 * axes));
    const block = this.array('uint8', [8 * (2 + slots.reduce((sum, n) => sum + n, 0))]), result = this.array('int64', [2]);
    let place = block.at + 16;
    /** @type {Record<string, [at: number, leaf: Leaf]>} */
    const places = {};
    const view = () => new DataView(this.memory.buffer);
    view().setUint32(block.at, result.at, true);
    view().setUint32(block.at + 8, result.at + 8, true);
    /** @param {number} at @param {Leaf} leaf @param {KernelArray} array */
    const write = (at, [path, dtype, axes], array) => {
      if (array.dtype !== dtype || array.shape.length !== axes) throw new Error(`${name}: ${path} is ${array.dtype} with ${array.shape.length} axes`);
      const count = array.shape.reduce((product, n) => product * n, 1), out = view();
      const strides = [...array.shape];
      strides[axes - 1] = count ? array.bytes / count : NUMBER_BYTES[array.dtype];
      for (let i = axes - 2; i >= 0; i--) strides[i] = strides[i + 1] * array.shape[i + 1];
      out.setUint32(at + 32, array.at, true);
      [count, strides[axes - 1]].forEach((n, i) => out.setBigInt64(at + 16 + 8 * i, BigInt(n), true));
      [...array.shape, ...strides].forEach((n, i) => out.setBigInt64(at + 40 + 8 * i, BigInt(n), true));
    };
    leaves.forEach((leaf, i) => {
      const [path, dtype, axes] = leaf;
      places[path] = [place, leaf];
      if (axes >= 0 && arrays[path]) write(place, leaf, arrays[path]);
      else if (dtype === 'bool') view().setUint8(place, 1); // rows_regime
      place += 8 * slots[i];
    });
    return (numbers, others = {}) => {
      const out = view();
      for (const [path, value] of Object.entries(numbers)) {
        const [at, [, dtype]] = places[path];
        if (dtype === 'bool') out.setUint8(at, value ? 1 : 0);
        else if (dtype === 'int64') out.setBigInt64(at, BigInt(value), true);
        else if (dtype === 'float32') out.setFloat32(at, Number(value), true);
        else out.setFloat64(at, Number(value), true);
      }
      for (const [path, array] of Object.entries(others)) write(...places[path], array);
      if (this.functions[name](block.at) !== 0) throw new Error(`The kernel ${name} refuses its arguments.`);
      return Number(new DataView(this.memory.buffer).getBigInt64(result.at, true));
    };
  }
}

/** Rows of an array, as an array. @param {KernelArray} array @param {number} first @param {number} n @returns {KernelArray} */
function rowsOf(array, first, n) {
  const row = array.bytes / array.shape[0];
  return { at: array.at + first * row, dtype: array.dtype, shape: [n, ...array.shape.slice(1)], bytes: n * row };
}

/** Arrays of a state in the module's memory, with their first contents. */
class KernelState {
  /** @param {Kernels} kernels @param {ChainSpec['arrays']} sources @param {Blocks} blocks */
  constructor(kernels, sources, blocks) {
    this.kernels = kernels;
    this.blocks = blocks;
    /** @type {Record<string, KernelArray>} */
    this.arrays = {};
    for (const [path, [dtype, shape]] of Object.entries(sources)) this.arrays[path] = kernels.array(dtype, shape);
  }

  /** @param {string} path @param {Source} source */
  fill(path, source) {
    const array = this.arrays[path], { buffer } = this.kernels.memory, bytes = this.kernels.bytes(array);
    if (typeof source === 'string') {
      const { data, dtype, shape } = this.blocks[source];
      if (dtype !== 'uint8' || shape.length === 1) bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      else for (let plane = 0, n = shape[1]; plane < shape[0]; plane++) { // bytes of the same place in each number stand together
        for (let i = 0; i < n; i++) bytes[shape[0] * i + plane] = data[n * plane + i];
      }
    } else bytes.fill(0);
    if (!Array.isArray(source)) return;
    const other = this.arrays[source[0]], [rows, pitch] = array.shape, [columns, otherPitch] = other.shape;
    const from = new Uint32Array(buffer, other.at, other.bytes / 4), to = new Uint32Array(buffer, array.at, array.bytes / 4);
    for (let i = 0; i < columns; i++) for (let j = 0; j < rows; j++) to[j * pitch + i] = from[i * otherPitch + j];
  }
}

/** A chain: its state in the module's memory, advanced in place. */
class Chain extends KernelState {
  /** @param {Kernels} kernels @param {ChainSpec} spec @param {Blocks} blocks */
  constructor(kernels, spec, blocks) {
    super(kernels, spec.arrays, blocks);
    this.spec = spec;
    const m = spec.n_visible;
    this.v = kernels.array('uint8', [BATCH, m]);
    this.p = kernels.array('float32', [BATCH, m]);
    this.norm = kernels.array('float64', [BATCH]);
    this.sweeps = kernels.array('int64', [BATCH]);
    const work = { ...this.arrays, mean_h: kernels.array('float32', [spec.n_hidden]) };
    this.driven = spec.kind === 'driven' || spec.kind === 'herding';
    const names = !this.driven ? [spec.kind] : [`${spec.kind}_rows`, `${spec.kind}_history`];
    this.calls = Object.fromEntries(names.map(name => [name, kernels.bind(name, work)]));
    if (this.driven) {
      const inChain = Object.fromEntries(Object.entries(this.arrays).map(([path, array]) => [`chain.${path}`, array]));
      this.prepare = kernels.bind('prepare', inChain);
    }
    this.restart(0);
  }

  /** Begin as ``init`` does. @param {number} start index of a start */
  restart(start) {
    const { changed } = this.spec.starts[start];
    for (const [path, [, , source]] of Object.entries(this.spec.arrays)) this.fill(path, path in changed ? changed[path] : source);
  }

  /**
   * Make n samples, at most BATCH.
   * @param {number} n
   * @param {Record<string, any>} knobs by the sampler's names
   * @returns {Uint8Array} the samples, row by row, until the next call
   */
  advance(n, knobs) {
    const { kind, n_visible } = this.spec, { kernels, arrays } = this;
    const out = { out_v: rowsOf(this.v, 0, n), out_p: rowsOf(this.p, 0, n) };
    if (kind === 'tempering') this.calls.tempering({ ...this.spec.numbers, k: knobs.k }, out);
    else if (kind === 'gibbs') {
      this.calls.gibbs({ inverse_temperature: Math.fround(1 / knobs.temperature), k: knobs.k }, out);
    } else {
      const { eps, alpha, k, max_sweeps } = knobs, driven = kind === 'driven', mean_statistics = knobs.statistics === 'mean';
      for (let done = 0; done < n;) {
        const rest = n - done, out = { out_v: rowsOf(this.v, done, rest), out_fast_norm: rowsOf(this.norm, done, rest) };
        if (kernels.field(arrays.scalars, 'prepared_until') > 0) {
          const call = this.calls[`${kind}_${kernels.field(arrays.scalars, 'history_length') ? 'history' : 'rows'}`];
          done += driven ? call({ eps, alpha, mean_statistics, k }, { ...out, out_p: rowsOf(this.p, done, rest) })
            : call({ eps, alpha, max_sweeps }, { ...out, out_sweeps: rowsOf(this.sweeps, done, rest) });
        }
        if (done < n) this.prepare?.({ eps, alpha, mean_statistics: driven && mean_statistics });
      }
    }
    return kernels.bytes(rowsOf(this.v, 0, n)).subarray(0, n * n_visible);
  }

  /** Return the sweeps of the newest n samples. @param {number} n @param {Record<string, any>} knobs */
  sweepsOf(n, knobs) {
    if (this.spec.kind !== 'herding') return n * knobs.k * (this.arrays['ladder.at']?.shape[0] ?? 1);
    return Array.from(new BigInt64Array(this.kernels.memory.buffer, this.sweeps.at, n), Number).reduce((sum, sweeps) => sum + sweeps, 0);
  }

  /** The model's parameters. */
  get weights() { return weightsOf(path => this.arrays[path] && this.kernels.numbers(this.arrays[path]), this.spec); }

  /** Return the means of a newest sample, 0 to 255; herding's are its bits. @param {number} row */
  meanOf(row) {
    const { kind, n_visible } = this.spec, { kernels, p } = this;
    if (kind === 'herding') return kernels.bytes(rowsOf(this.v, row, 1)).map(bit => 255 * bit);
    return Uint8Array.from(new Float32Array(kernels.memory.buffer, rowsOf(p, row, 1).at, n_visible), x => Math.round(255 * x));
  }
}

/** Pack rows of 0 and 1 as numpy.packbits does, first unit highest. @param {Uint8Array} v @param {number} n rows @param {number} bytes of a packed row @returns {Uint8Array} */
function packRows(v, n, bytes) {
  const width = v.length / n, packed = new Uint8Array(n * bytes);
  for (let r = 0; r < n; r++) for (let i = 0; i < width; i++) packed[r * bytes + (i >> 3)] |= v[r * width + i] << (7 - (i & 7));
  return packed;
}

/**
 * Points for ISL and examples for classes: packed rows of whole words, as blocks ``points`` and ``examples``.
 * @typedef {object} ScoreSpec
 * @property {number} n_test the first points are the test points, the others choose beta
 * @property {number} width units of a row
 * @property {[beta: number, log_odds: number, log_on: number][]} betas with log(beta / (1 - beta)) and width * log(beta)
 * @property {number} threshold distance beyond which a sample is spurious; -1: unknown
 * @property {number} blank_below units on below which a sample is blank
 */

/** ISL of the samples since the last change of knobs, and the nearest example of each sample. */
class Scores {
  /** @param {Kernels} kernels @param {ScoreSpec} spec @param {Blocks} blocks */
  constructor(kernels, spec, blocks) {
    this.kernels = kernels;
    this.spec = spec;
    this.words = Math.ceil(spec.width / 64);
    /** @param {string} name */
    const rows = name => {
      const array = kernels.array('uint64', [blocks[name].shape[0], this.words]);
      kernels.bytes(array).set(blocks[name].data);
      return array;
    };
    const points = rows('points'), examples = rows('examples'), { width, betas } = spec, n = points.shape[0];
    this.block = kernels.array('uint64', [1, this.words, BATCH]);
    this.histograms = kernels.array('uint32', [n, width + 1]);
    this.index = kernels.array('int64', [BATCH]);
    this.distance = kernels.array('int64', [BATCH]);
    this.logs = kernels.array('float64', [n, betas.length]);
    const out = kernels.array('uint32', [BATCH]), odds = kernels.array('float64', [betas.length]);
    kernels.numbers(odds).set(betas.map(([, log_odds]) => log_odds));
    this.countAll = kernels.bind('count_all', { points, blocks: this.block, histograms: this.histograms, out });
    this.findNearest = kernels.bind('find_nearest', { points: examples, block: { ...this.block, shape: [this.words, BATCH] }, out });
    this.mix = kernels.bind('mix', {
      histograms: this.histograms, log_odds: odds, powers: kernels.array('float64', [Math.ceil(betas.length / MIXTURE_LANES), width + 1, MIXTURE_LANES]),
      weights: kernels.array('float64', [width + 1]), total: kernels.array('float64', [MIXTURE_LANES]), out: this.logs,
    });
    this.n = 0;
  }

  /** Forget all samples. */
  clear() {
    this.n = 0;
    this.kernels.bytes(this.histograms).fill(0);
  }

  /**
   * Count samples, at most BATCH, and return the nearest example of each, with its distance.
   * @param {Uint8Array} packed rows of whole words
   * @param {number} n
   * @returns {{ nearest: number[], distances: number[] }}
   */
  add(packed, n) {
    const { kernels, words } = this, from = new BigUint64Array(packed.buffer, 0, n * words), to = new BigUint64Array(kernels.memory.buffer, this.block.at, words * BATCH);
    for (let r = 0; r < n; r++) for (let w = 0; w < words; w++) to[w * BATCH + r] = from[r * words + w];
    this.countAll({ n });
    this.findNearest({}, { index: rowsOf(this.index, 0, n), distance: rowsOf(this.distance, 0, n) });
    this.n += n;
    const [nearest, distances] = [this.index, this.distance].map(array => Array.from(new BigInt64Array(kernels.memory.buffer, array.at, n), Number));
    return { nearest, distances };
  }

  /** Return the ISL of the counted samples, at the beta best for the points after the test points, and its standard error. */
  isl() {
    const { n_test, betas } = this.spec, all = this.histograms.shape[0], columns = betas.length;
    this.mix({});
    const logs = this.kernels.numbers(this.logs);
    /** @param {number} b @param {number} first @param {number} last */
    const mean = (b, first, last) => {
      let sum = 0;
      for (let p = first; p < last; p++) sum += logs[p * columns + b];
      return sum / (last - first);
    };
    const held = betas.map(([, , log_on], b) => mean(b, n_test, all) + log_on), b = held.indexOf(Math.max(...held)), centre = mean(b, 0, n_test);
    let square = 0;
    for (let p = 0; p < n_test; p++) square += (logs[p * columns + b] - centre) ** 2;
    return [centre + betas[b][2] - Math.log(this.n), Math.sqrt(square / n_test / n_test)];
  }
}
