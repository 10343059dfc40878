// @ts-check
// The worker of one panel: it makes samples when it is told to, and sends them with their classes and scores, and what
// speaks against them, or with their landscape. model.js, engine.js, clamp.js, findings.js and landscape.js precede it.

/**
 * The first message.
 * @typedef {object} RunData
 * @property {WebAssembly.Module} wasm
 * @property {Signatures} signatures
 * @property {ChainSpec} chain
 * @property {ScoreSpec | null} scores
 * @property {DiagnosisSpec} diagnosis
 * @property {LandSpec | null} land the landscape of a small model
 * @property {Blocks} blocks
 * @property {number[]} curve_counts samples since the last change of knobs at which ISL is computed
 */
/** @typedef {{ samples: number, knobs?: Record<string, any>, start?: number, clamp?: Units | null }} Order restart at a start, hold units from there on, turn knobs, and make samples */
/** @typedef {{ n: number, rows: Uint8Array, classes: number[], blank: number[], spurious: number[], curve: [number, number, number][], land: LandView | null, look: LookTaken | null, sweeps: number, mean: Uint8Array }} Made */

class WorkerRun {
  /** @param {RunData} data */
  constructor({ wasm, signatures, chain, scores, diagnosis, land, blocks, curve_counts }) {
    const kernels = new Kernels(wasm, signatures);
    /** The chain of all units, and the one that runs. */
    this.whole = this.chain = new Chain(kernels, chain, blocks);
    /** Units that are held, and the memory of the chain of the others. @type {Units | null} */
    this.clamp = null;
    this.memory = new Kernels(wasm, signatures);
    this.examples = scores ? blocks.examples : undefined;
    this.scores = scores ? new Scores(kernels, scores, blocks) : null;
    this.diagnosis = land ? null : new Diagnosis(diagnosis);
    this.land = land;
    this.walk = land ? new Walk(this.chain, land) : null;
    this.labels = blocks.labels?.data ?? null;
    this.counts = curve_counts;
    this.words = Math.ceil(chain.n_visible / 64);
    this.row = Math.ceil(chain.n_visible / 8);
    /** @type {Record<string, any>} */
    this.knobs = {};
  }

  /** @param {Order} order @returns {Made} */
  make({ samples, knobs, start, clamp = this.clamp }) {
    this.clamp = clamp;
    if (start !== undefined) {
      this.whole.restart(start);
      this.chain = clamp ? chainOfFree(this.memory, this.whole, clamp, this.examples) : this.whole;
      if (this.land) this.walk = new Walk(this.chain, this.land);
    }
    if (knobs) this.knobs = knobs;
    if (knobs || start !== undefined) {
      this.scores?.clear();
      this.diagnosis?.clear();
    }
    /** @type {Made} */
    const made = { n: samples, rows: new Uint8Array(samples * this.row), classes: [], blank: [], spurious: [], curve: [], land: null, look: null, sweeps: 0, mean: new Uint8Array(0) };
    for (let done = 0; done < samples;) {
      const counted = this.scores?.n ?? 0, next = this.counts.find(n => n > counted) ?? Infinity;
      const m = Math.min(samples - done, BATCH, this.scores ? next - counted : Infinity);
      const drawn = this.chain.advance(m, this.knobs), v = clamp ? filled(drawn, clamp) : drawn, packed = packRows(v, m, 8 * this.words), width = v.length / m;
      for (let r = 0; r < m; r++) made.rows.set(packed.subarray(8 * this.words * r, 8 * this.words * r + this.row), (done + r) * this.row);
      const before = this.scores ? made.blank.length : 0;
      if (this.scores) {
        const { nearest, distances } = this.scores.add(packed, m), { threshold, blank_below } = this.scores.spec;
        for (let r = 0; r < m; r++) {
          let on = 0;
          for (let i = r * width; i < (r + 1) * width; i++) on += v[i];
          const blank = on < blank_below ? 1 : 0;
          if (this.labels) made.classes.push(this.labels[nearest[r]]);
          made.blank.push(blank);
          if (threshold >= 0) made.spurious.push(blank || distances[r] > threshold ? 1 : 0);
        }
        if (this.scores.n === next && !clamp) made.curve.push(/** @type {[number, number, number]} */ ([next, ...this.scores.isl()]));
      }
      for (let r = 0; r < m && !clamp; r++) this.diagnose(v.subarray(r * width, (r + 1) * width), packed.subarray(8 * this.words * r, 8 * this.words * (r + 1)), made.classes[before + r], made.blank[before + r] === 1, made.spurious[before + r] === 1);
      this.walk?.add(v, m);
      made.sweeps += this.chain.sweepsOf(m, this.knobs);
      made.mean = clamp ? filled(this.chain.meanOf(m - 1), clamp, 255) : this.chain.meanOf(m - 1);
      done += m;
    }
    if (this.walk) made.land = this.walk.view(this.knobs);
    if (this.diagnosis?.isDue) made.look = this.diagnosis.look();
    return made;
  }

  /** @param {Uint8Array} v bits of the next sample @param {Uint8Array} packed @param {number} of its class; undefined without classes @param {boolean} blank @param {boolean} spurious */
  diagnose(v, packed, of = 0, blank = false, spurious = false) {
    const row = () => ({ row: packed.slice(), energy: energyOf(this.chain.weights, v, this.chain.spec.n_hidden).energy, on: v.reduce((sum, bit) => sum + bit, 0), of: blank ? -2 : spurious ? -1 : of });
    this.diagnosis?.add(row, of, blank);
  }
}

/** @type {WorkerRun | PairsRun | Error | null} an error: why there is no run */
let run = null;

/** @param {unknown} error @returns {string} */
const messageOf = error => (error instanceof Error ? error.message : String(error));

onmessage = ({ data }) => {
  try {
    if (run instanceof Error) throw run;
    if (run) postMessage({ made: run.make(data) });
    else run = data.pairs ? new PairsRun(data) : new WorkerRun(data);
  } catch (error) {
    if (run) postMessage({ error: messageOf(error) });
    else run = new Error(`The kernels cannot start in this browser: ${messageOf(error)}`);
  }
};
