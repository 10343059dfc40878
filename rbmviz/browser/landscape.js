// @ts-check
// A chain over all states of a small model, in the worker of its panel; engine.js precedes it. It mirrors LandscapeRun
// (rbmviz/session/landscape.py), current_parameters (rbmviz/kernels/fast_weights/state.py) and probabilities
// (rbmviz/metrics/exact.py), and is tested against them.

/**
 * What a landscape adds to a chain (rbmviz/browser/landscapes.py); states are numbered by their bits, the first unit the
 * most significant.
 * @typedef {object} LandSpec
 * @property {number[]} valley of each state
 * @property {number} start the first state
 * @property {number[] | null} rates means of the visible units in the data
 */
/** @typedef {{ state: number, trail: number[], ground: Float32Array, visits: Float32Array, numbers: Record<string, number | null> }} LandView */

const TRAIL = 240; // newest states that a view has
const MAX_EXP = 700;

/** @param {number} x @returns {number} log(1 + exp(x)) */
const softplus = x => (x > MAX_EXP ? x : Math.log1p(Math.exp(x)));

/** Half the sum of differences. @param {ArrayLike<number>} p @param {ArrayLike<number>} q */
const totalVariation = (p, q) => Array.from(p).reduce((sum, x, i) => sum + Math.abs(x - q[i]), 0) / 2;

/** The logarithm of the gamma function, by Stirling's series. @param {number} x from 1 on @returns {number} */
function logGamma(x) {
  let shift = 0;
  for (; x < 10; x++) shift -= Math.log(x);
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + (1 - (1 - 2 / (7 * x * x)) / (30 * x * x)) / (12 * x);
}

/** The distance that n independent draws have on average from their distribution (noise_floor of rbmviz/metrics/gibbs_chain.py). @param {Float64Array} law @param {number} n */
const noiseFloor = (law, n) => law.reduce((sum, p) => {
  const m = Math.min(Math.floor(n * p) + 1, n);
  return p > 0 && p < 1 ? sum + m / n * Math.exp(logGamma(n + 1) - logGamma(m + 1) - logGamma(n - m + 1) + m * Math.log(p) + (n - m + 1) * Math.log1p(-p)) : sum;
}, 0);

/** Return theta + theta_F, or theta / T for Gibbs sampling. @param {Chain} chain @param {Record<string, any>} knobs @returns {{ W: number[][], b: number[], c: number[] }} */
function parametersOf({ kernels, arrays, spec: { kind, n_visible: m, n_hidden: n } }, knobs) {
  const { buffer } = kernels.memory, { fround } = Math; // parameters are float32
  const values = (/** @type {string} */ path) => kernels.numbers(arrays[path]);
  /** @param {(i: number, j: number) => number} W @param {(i: number) => number} b @param {(j: number) => number} c */
  const made = (W, b, c) => ({ W: Array.from({ length: m }, (_, i) => Array.from({ length: n }, (_, j) => fround(W(i, j)))), b: Array.from({ length: m }, (_, i) => fround(b(i))), c: Array.from({ length: n }, (_, j) => fround(c(j))) });
  if (kind === 'gibbs') {
    const [weights, b, c] = ['up.weights', 'down.bias', 'up.bias'].map(values), pitch = arrays['up.weights'].shape[1], T = knobs.temperature;
    return made((i, j) => weights[i * pitch + j] / T, i => b[i] / T, j => c[j] / T);
  }
  /** @param {string} name */
  const scalar = name => new DataView(buffer).getFloat64(arrays.scalars.at + kernels.table.records.ChainScalars.fields[name][1], true);
  const [ofM, ofR, ofTheta] = ['M_coef', 'rates_coef', 'theta_coef'].map(scalar), pitch = arrays['up.M.weights'].shape[1], weight = values('history.weight');
  const [M, R, theta, pendingUp, pendingDown, input] = ['up.M.weights', 'up.rates.weights', 'up.theta.weights', 'up.pending', 'down.pending', 'up.flips.input'].map(values);
  /** The samples of the history: whether a unit was on. @param {'visible' | 'hidden'} layer */
  const bits = layer => {
    const packed = values(`history.${layer}.packed_samples`), units = arrays[`history.${layer}.packed_samples`].shape[1];
    return (/** @type {number} */ s, /** @type {number} */ unit) => (packed[(s >> 3) * units + unit] >> (s & 7)) & 1;
  };
  const v = bits('visible'), h = bits('hidden');
  /** The weighted sum over the history. @param {(s: number) => number} statistic */
  const P = statistic => weight.reduce((/** @type {number} */ sum, /** @type {number} */ w, /** @type {number} */ s) => sum + (w ? w * statistic(s) : 0), 0);
  /** @param {string} half @param {ArrayLike<number>} pending @param {number} i */
  const bias = (half, pending, i) => {
    const [M, R, theta] = ['M', 'rates', 'theta'].map(part => values(`${half}.${part}.bias`)[i]);
    return ofM * fround(M + pending[i]) + ofR * R + ofTheta * theta;
  };
  return made(
    (i, j) => ofM * fround(M[i * pitch + j] + input[i] * pendingUp[j]) + ofR * R[i * pitch + j] + ofTheta * theta[i * pitch + j] - P(s => v(s, i) * h(s, j)),
    i => bias('down', pendingDown, i) - P(s => v(s, i)), j => bias('up', pendingUp, j) - P(s => h(s, j)),
  );
}

/** Return p(v) of all states, by their free energies. @param {{ W: number[][], b: number[], c: number[] }} parameters @returns {Float64Array} */
function lawOf({ W, b, c }) {
  const m = b.length, law = new Float64Array(2 ** m);
  for (let state = 0; state < law.length; state++) {
    const on = b.map((_, i) => i).filter(i => (state >> (m - 1 - i)) & 1);
    law[state] = on.reduce((sum, i) => sum + b[i], 0) + c.reduce((sum, bias, j) => sum + softplus(on.reduce((x, i) => x + W[i][j], bias)), 0);
  }
  const most = Math.max(...law), total = law.reduce((sum, x) => sum + Math.exp(x - most), 0);
  return law.map(x => Math.exp(x - most) / total);
}

/** The walk of a chain over its landscape. */
class Walk {
  /** @param {Chain} chain @param {LandSpec} spec */
  constructor(chain, spec) {
    this.chain = chain;
    this.spec = spec;
    /** The model's: at the start theta_F is 0. By the same arithmetic as later, so that an unmoved ground is raised by 0. */
    this.law = lawOf(parametersOf(chain, { temperature: 1 }));
    this.visits = new Float64Array(this.law.length);
    /** How often each unit was on. */
    this.on = new Float64Array(chain.spec.n_visible);
    this.trail = [spec.start];
    this.n = this.crossings = 0;
    /** @type {number | null} */
    this.fastNorm = null;
  }

  /** Count samples. @param {Uint8Array} v row by row @param {number} n */
  add(v, n) {
    const { valley } = this.spec, m = this.on.length;
    for (let r = 0; r < n; r++) {
      let state = 0;
      for (let i = 0; i < m; i++) {
        state = 2 * state + v[r * m + i];
        this.on[i] += v[r * m + i];
      }
      if (valley[state] !== valley[this.trail[this.trail.length - 1]]) this.crossings++;
      this.visits[state]++;
      this.trail.push(state);
    }
    this.n += n;
    this.trail = this.trail.slice(-TRAIL);
    if (n && this.chain.driven) this.fastNorm = this.chain.kernels.numbers(this.chain.norm)[n - 1];
  }

  /** @param {Record<string, any>} knobs @returns {LandView} */
  view(knobs) {
    const { n, law, spec: { rates }, trail } = this, now = lawOf(parametersOf(this.chain, knobs)), state = trail[trail.length - 1];
    const shares = this.visits.map(count => count / Math.max(n, 1));
    const moments = n && rates ? Math.hypot(...rates.map((rate, i) => this.on[i] / n - rate)) : null;
    return {
      state, trail: n ? trail.slice(-n) : [], ground: Float32Array.from(now, p => -Math.log(p)), visits: Float32Array.from(shares),
      numbers: { crossings: this.crossings, visits: n ? totalVariation(shares, law) : null, floor: n ? noiseFloor(law, n) : null, raised: Math.log(law[state] / now[state]), bent: totalVariation(now, law), moments, fast_norm: this.fastNorm,
        empty: n ? 100 * shares[0] : null, states: this.visits.filter(count => count > 0).length },
    };
  }
}
