// @ts-check
// Pairs of coupled chains, by the project's kernel run_pairs: in a worker of a page, or in node. Mirrors PairStream
// (rbmviz/coupling.py) and DisplayedPair (rbmviz/session/coupling.py), and is tested against them.

/** @typedef {{ n_visible: number, n_hidden: number, pairs: number, numbers: Record<string, number>, arrays: ChainSpec['arrays'], setups: Record<string, Record<string, boolean>> }} PairsSpec (rbmviz/browser/pairs.py) */
/** @typedef {{ pair: number, t: number, met: boolean, truncated: boolean, stride: number, path: number[], v: Uint8Array, v2: Uint8Array }} PairState bits packed as in frames */
/** @typedef {{ tau: number[], cut: boolean[], rejected: [number, number] }} CountedPairs ended pairs, in order, and how many proposals each chain has rejected on average */
/** @typedef {{ shown: Record<string, PairState & { ended: PairState | null }>, counted: Record<string, CountedPairs> }} MadePairs */

const COUNT_MS = 25, COUNT_PAIRS = 25; // most time and pairs of an algorithm that an order counts beside the pairs that are shown: the histogram is seen to grow
const COUNT_SWEEPS = 50; // of a call while counting
const MAX_PATH_POINTS = 300;

/** Pairs of one algorithm, one after another. */
class CoupledPairs extends KernelState {
  /** @param {Kernels} kernels @param {PairsSpec} spec @param {Blocks} blocks @param {string} algorithm */
  constructor(kernels, spec, blocks, algorithm) {
    super(kernels, spec.arrays, blocks);
    this.spec = spec;
    this.setup = { ...spec.numbers, ...spec.setups[algorithm] };
    this.run = kernels.bind('run_pairs', this.arrays);
  }

  /** Begin at the first pair of the model with these multiples of its parameters. @param {number} scale */
  begin(scale) {
    const { arrays, n_visible, n_hidden } = this.spec, times = Math.fround(scale);
    for (const [path, [, , source]] of Object.entries(arrays)) this.fill(path, source);
    for (const [path, n] of /** @type {[string, number][]} */ ([['h.weights', Infinity], ['v.weights', Infinity], ['h.bias', n_hidden], ['v.bias', n_visible]])) {
      const numbers = this.kernels.numbers(this.arrays[`chains.${path}`]); // the biases of padding units stay
      for (let i = 0; i < Math.min(n, numbers.length); i++) numbers[i] *= times;
    }
  }

  /** @param {number} sweeps */
  advance(sweeps) { this.run({ ...this.setup, sweeps }); }
  /** Number of pairs that have ended. */
  get finished() { return this.kernels.field(this.arrays.progress, 'pair'); }

  /** Sweeps of the current pair's first chain; 0 before the next pair begins. */
  get t() { return this.kernels.field(this.arrays.progress, 't'); }

  /** @param {string} name @returns {BigInt64Array} outcomes of all pairs */
  outcomes(name) { const { at, bytes } = this.arrays[`outcomes.${name}`]; return new BigInt64Array(this.kernels.memory.buffer, at, bytes / 8); }

  /** @param {number} pair */
  isCut(pair) { return this.kernels.bytes(this.arrays['outcomes.truncated'])[pair] !== 0; }

  /** @param {number} chain 0 or 1 @returns {Uint8Array} its visible units, bit by bit */
  visible(chain) {
    const { bytes, shape: [, words], at } = this.arrays['chains.v.bits'], packed = new Uint8Array(this.kernels.memory.buffer, at + chain * 8 * words, bytes / 2);
    return Uint8Array.from({ length: this.spec.n_visible }, (_, i) => packed[i >> 3] >> (i & 7) & 1);
  }

  /** @returns {CountedPairs} */
  get counted() {
    const n = this.finished, rejected = Array.from(this.outcomes('rejected').subarray(0, 2 * n), Number);
    const mean = (/** @type {number} */ chain) => rejected.reduce((sum, count, i) => sum + (i % 2 === chain ? count : 0), 0) / n;
    return { tau: Array.from(this.outcomes('tau').subarray(0, n), Number), cut: Array.from({ length: n }, (_, i) => this.isCut(i)), rejected: [mean(0), mean(1)] };
  }
}

/** The pairs that are shown, sweep by sweep. */
class ShownPairs {
  /** @param {CoupledPairs} pairs */
  constructor(pairs) {
    this.pairs = pairs;
    /** @type {PairState | null} */
    this.ended = null;
    /** @type {number[]} */
    this.path = [];
    this.stride = 1;
    this.t = 0;
  }

  sweep() {
    const { pairs } = this, before = pairs.finished;
    if (before === pairs.spec.pairs) return;
    if (pairs.t === 0) Object.assign(this, { path: [], stride: 1, t: 0 }); // the first sweep after a meeting
    pairs.advance(1);
    this.t++;
    if ((this.t - 1) % this.stride === 0) {
      const v2 = pairs.visible(1);
      this.path.push(pairs.visible(0).reduce((sum, on, i) => sum + (on !== v2[i] ? 1 : 0), 0));
    }
    if (this.path.length > MAX_PATH_POINTS) {
      this.path = this.path.filter((_, i) => i % 2 === 0);
      this.stride *= 2;
    }
    if (pairs.finished > before) this.ended = this.state;
  }

  /** @returns {PairState} */
  get state() {
    const { pairs, t, stride, path } = this, over = t > 0 && pairs.t === 0, pair = pairs.finished - Number(over), cut = over && pairs.isCut(pair);
    const [v, v2] = [0, 1].map(chain => packRows(pairs.visible(chain), 1, Math.ceil(pairs.spec.n_visible / 8)));
    return { pair, t, met: over && !cut, truncated: cut, stride, path: [...path], v, v2 };
  }
}

/** Pairs of all algorithms in a worker: some are shown, and others counted. */
class PairsRun {
  /** @param {{ wasm: WebAssembly.Module, signatures: Signatures, pairs: PairsSpec, blocks: Blocks }} data */
  constructor({ wasm, signatures, pairs, blocks }) {
    const kernels = new Kernels(wasm, signatures), names = Object.keys(pairs.setups), made = () => names.map(name => new CoupledPairs(kernels, pairs, blocks, name));
    this.names = names;
    this.streams = [made(), made()];
    this.shown = this.streams[0].map(each => new ShownPairs(each));
    this.most = 0;
  }

  /** @param {{ scale?: number, sweeps: number }} order @returns {MadePairs} */
  make({ scale, sweeps }) {
    const [shown, counted] = this.streams, end = performance.now() + COUNT_MS;
    if (scale !== undefined) {
      this.most = 0;
      for (const each of [...shown, ...counted]) each.begin(scale);
      this.shown = shown.map(each => new ShownPairs(each));
    }
    this.most += sweeps ? COUNT_PAIRS : 0;
    for (let i = 0; i < sweeps; i++) for (const each of this.shown) each.sweep();
    while (sweeps && performance.now() < end) {
      const last = counted.reduce((least, each) => (each.finished < least.finished ? each : least));
      if (last.finished >= Math.min(last.spec.pairs, this.most)) break;
      last.advance(COUNT_SWEEPS);
    }
    const byName = (/** @type {(i: number) => any} */ of) => Object.fromEntries(this.names.map((name, i) => [name, of(i)]));
    return { shown: byName(i => ({ ...this.shown[i].state, ended: this.shown[i].ended })), counted: byName(i => counted[i].counted) };
  }
}
