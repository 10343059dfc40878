// @ts-check
// What speaks against the samples of one chain, in the worker of its panel; engine.js precedes it. It mirrors
// rbmviz/metrics/findings.py and thinned.py, with what they take from ArviZ, and is tested against them. Sentences and
// thresholds come from there (rbmviz/browser/findings.py).

/**
 * @typedef {object} DiagnosisSpec
 * @property {Record<string, { looked_at: string, line: string, sentence: string, threshold: number, source: string, of_data: boolean }>} rules the gravest first
 * @property {number} chance probability with which chance alone makes one comparison a finding
 * @property {number} patience samples from which on too few effective samples are a finding
 * @property {number} fewest samples before anything is said
 * @property {number} growth factor by which the samples grow between two looks
 * @property {number} most rows that are kept
 * @property {number[]} t quantiles of Student's t from 1 degree of freedom on, for a comparison of early and late samples
 * @property {number} chi_square its quantile for R-hat
 * @property {string[]} classes names
 * @property {number[]} data_shares share of each class in the data
 * @property {boolean} scored whether there are data
 */
/** @typedef {{ row: Uint8Array, energy: number, on: number, of: number }} KeptRow packed bits, and the class (-1: unlike the data, -2: blank) */
/** @typedef {{ name: string, value: number, threshold: number, line: string, sentence: string, source: string }} Found */
/** @typedef {{ found: Found[], said: { mark: string, verdict: string, findings: [string, string][], stride: number }, blocks: Blocks }} LookTaken */
/** @typedef {number[][]} Chains of equal length */

/** Rate of Chernoff's bound for a share of draws. @param {number} found @param {number} expected @returns {number} */
const divergence = (found, expected) => [[found, expected], [1 - found, 1 - expected]].reduce((sum, [p, q]) => (p > 0 ? sum + p * Math.log(p / Math.max(q, 1e-12)) : sum), 0);

/** @param {ArrayLike<number>} x */
const meanOf = x => Array.from(x).reduce((sum, value) => sum + value, 0) / x.length;

/** @param {number[]} x @param {number} [less] 1 for an estimate from a sample */
function varianceOf(x, less = 0) {
  const centre = meanOf(x);
  return x.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (x.length - less);
}

/** Variance of the sum over chains, autocorrelation included, by means of batches. @param {Chains} chains @returns {number} */
function batchVariance(chains) {
  const draws = chains[0].length, length = Math.floor(Math.sqrt(draws)), batches = Math.floor(draws / length);
  const means = chains.flatMap(x => Array.from({ length: batches }, (_, i) => meanOf(x.slice(i * length, (i + 1) * length))));
  return chains.length * draws * Math.max(length * varianceOf(means, 1), varianceOf(chains.flat()));
}

/** @param {number[]} x @param {number} lag @returns {number} autocovariance, over all draws */
function autocovariance(x, lag) {
  const centre = meanOf(x);
  let sum = 0;
  for (let i = lag; i < x.length; i++) sum += (x[i] - centre) * (x[i - lag] - centre);
  return sum / x.length;
}

/** Quantile of the normal distribution, to nine digits (Acklam). @param {number} p @returns {number} */
function normalQuantile(p) {
  if (p > 0.5) return -normalQuantile(1 - p);
  /** @param {number[]} factors @param {number} x */
  const polynomial = (factors, x) => factors.reduce((sum, factor) => sum * x + factor, 0);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return polynomial([-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783], q)
      / polynomial([7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1], q);
  }
  const q = p - 0.5, r = q * q;
  return q * polynomial([-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1, 2.506628277459239], r)
    / polynomial([-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1], r);
}

/** @param {Chains} chains @returns {Chains} first and second half of each */
const halves = chains => [...chains.map(x => x.slice(0, x.length >> 1)), ...chains.map(x => x.slice(-(x.length >> 1)))];

/** Normal scores of the ranks among all chains; equal values share their mean rank. @param {Chains} chains @returns {Chains} */
function ranked(chains) {
  const all = chains.flat(), order = [...all.keys()].sort((a, b) => all[a] - all[b]), scores = new Array(all.length), draws = chains[0].length;
  for (let first = 0, end = 0; first < order.length; first = end) {
    while (end < order.length && all[order[end]] === all[order[first]]) end++;
    const score = normalQuantile(((first + end + 1) / 2 - 3 / 8) / (all.length + 1 / 4));
    for (let i = first; i < end; i++) scores[order[i]] = score;
  }
  return chains.map((_, i) => scores.slice(i * draws, (i + 1) * draws));
}

/** @param {Chains} chains @returns {number} R-hat, of the ranks and of their distances from the median */
function rhatOf(chains) {
  const split = halves(chains), sorted = split.flat().sort((a, b) => a - b), n = sorted.length, draws = split[0].length;
  const median = (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
  return Math.max(...[split, split.map(x => x.map(value => Math.abs(value - median)))].map(x => {
    const scores = ranked(x), between = draws * varianceOf(scores.map(meanOf), 1), within = meanOf(scores.map(y => varianceOf(y, 1)));
    return Math.sqrt((between / within + draws - 1) / draws);
  }));
}

/** @param {number[]} values of one chain @returns {number} effective sample size of the ranks, by Geyer's initial monotone sequence */
function essOf(values) {
  const chains = ranked(halves([values])), draws = chains[0].length, size = chains.length * draws;
  /** @param {number} lag */
  const covariance = lag => meanOf(chains.map(x => autocovariance(x, lag)));
  const variance = covariance(0) * draws / (draws - 1), all = covariance(0) + varianceOf(chains.map(meanOf), 1);
  /** @param {number} lag */
  const rhoAt = lag => 1 - (variance - covariance(lag)) / all;
  const rho = new Array(draws).fill(0);
  let even = 1, odd = rhoAt(1), t = 1;
  rho[0] = even;
  rho[1] = odd;
  for (; t < draws - 3 && even + odd > 0; t += 2) {
    [even, odd] = [rhoAt(t + 1), rhoAt(t + 2)];
    if (even + odd >= 0) [rho[t + 1], rho[t + 2]] = [even, odd];
  }
  const last = t - 2;
  if (even > 0) rho[last + 1] = even;
  for (t = 1; t <= last - 2; t += 2) {
    if (rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]) rho[t + 1] = rho[t + 2] = (rho[t - 1] + rho[t]) / 2;
  }
  const sum = rho.slice(0, last + 1).reduce((total, value) => total + value, 0);
  return size / Math.max(2 * sum - 1 + rho[last + 1], 1 / Math.log10(size));
}

/** @param {number} n @returns {string} */
const counted = n => n.toLocaleString('en');

/** The samples that are looked at, and what speaks against them. */
class Diagnosis {
  /** @param {DiagnosisSpec} spec */
  constructor(spec) {
    this.spec = spec;
    /** Samples so far, samples at the last look, samples from one kept row to the next, and class of the newest sample. */
    this.n = this.lookedAt = 0;
    this.stride = 1;
    this.before = -1;
    /** @type {KeptRow[]} */
    this.rows = [];
    /** How often each class was followed by each, blank last, row by row. */
    this.jumps = new Uint32Array((spec.classes.length + 1) ** 2);
  }

  /** Forget all samples. */
  clear() { Object.assign(this, new Diagnosis(this.spec)); }

  /** Take the next sample. @param {() => KeptRow} row what is kept of it @param {number} of its class; -1: none @param {boolean} blank */
  add(row, of, blank) {
    const { spec } = this, states = spec.classes.length + 1, now = blank ? states - 1 : of;
    if (this.before >= 0) this.jumps[this.before * states + now]++;
    this.before = spec.classes.length ? now : -1;
    if (this.n >= spec.most * this.stride) {
      this.rows = this.rows.filter((_, i) => i % 2 === 0);
      this.stride *= 2;
    }
    if (this.n++ % this.stride === 0) this.rows.push(row());
  }

  /** Whether there are enough new samples for a look. */
  get isDue() { return this.n >= Math.max(this.spec.fewest, this.spec.growth * this.lookedAt); }

  /** @returns {LookTaken} what speaks against the samples, the gravest first */
  look() {
    const { spec, rows, n, stride } = this, { rules } = spec;
    this.lookedAt = n;
    const energy = rows.map(row => row.energy), scalars = Object.entries({ 'free energy': energy, 'number of units on': rows.map(({ on }) => on) }).filter(([, x]) => x.some(value => value !== x[0]));
    const first = autocovariance(energy, 0), correlation = Array.from({ length: energy.length >> 2 }, (_, lag) => autocovariance(energy, lag) / first);
    const found = [...this.ess(scalars), ...this.drift(scalars), ...this.rhat(scalars), ...this.repeats(correlation), ...(spec.scored ? [...this.spurious(), ...this.classes()] : [])];
    found.sort((a, b) => Object.keys(rules).indexOf(a.name) - Object.keys(rules).indexOf(b.name));
    const lookedAt = [...new Set(Object.values(rules).filter(({ of_data, looked_at }) => (spec.scored || !of_data) && (spec.classes.length || looked_at !== 'classes')).map(rule => rule.looked_at))].join(', ');
    const mark = found.length ? (n < spec.patience && found.every(({ name }) => name === 'ess') ? 'unsure' : 'found') : 'fine';
    const findings = /** @type {[string, string][]} */ (found.length ? found.map(({ sentence, source }) => [sentence, source]) : [[`Nothing was found. Looked at: ${lookedAt}.`, '']]);
    const states = spec.classes.length + 1, blocks = {
      energy: { dtype: 'float32', shape: [1, rows.length], data: Float32Array.from(energy) },
      energy_class: { dtype: 'uint16', shape: [1, rows.length], data: Uint16Array.from(rows, ({ of }) => of + 2) },
      autocorrelation: { dtype: 'float32', shape: [correlation.length], data: Float32Array.from(correlation) },
      jumps: { dtype: 'uint32', shape: [states, states], data: this.jumps.slice() },
    };
    return { found, blocks, said: { mark, verdict: found[0]?.line ?? 'nothing found', findings: [...findings, ['Looked at', `${counted(n)} samples: ${lookedAt}`]], stride } };
  }

  /** @param {string} name @param {number} value @param {Record<string, string>} fields of the sentences @param {number} [threshold] @returns {Found[]} */
  finding(name, value, fields, threshold = this.spec.rules[name].threshold) {
    const { line, sentence, source } = this.spec.rules[name], all = /** @type {Record<string, string>} */ ({ threshold: String(Number(threshold.toPrecision(4))), ...fields });
    const [short, long] = [line, sentence].map(text => text.replace(/\{(\w+)\}/g, (_, field) => all[field]));
    return [{ name, value, threshold, line: short, sentence: long, source }];
  }

  /** @param {[string, number[]][]} scalars @returns {Found[]} */
  ess(scalars) {
    const [scalar, least] = scalars.map(([name, x]) => /** @type {[string, number]} */ ([name, essOf(x)])).reduce((worst, one) => (one[1] < worst[1] ? one : worst), ['free energy', scalars.length ? Infinity : 1]);
    const { threshold } = this.spec.rules.ess;
    return least >= threshold || this.rows.length < 2 * threshold ? [] : this.finding('ess', least, { scalar, ess: least.toFixed(0), n: counted(this.n) });
  }

  /** Compare the first tenth with the second half. @param {[string, number[]][]} scalars @returns {Found[]} */
  drift(scalars) {
    for (const [scalar, x] of scalars) {
      const early = x.slice(0, Math.floor(x.length / 10)), late = x.slice(x.length >> 1), batches = Math.floor(late.length / Math.floor(Math.sqrt(late.length)));
      const error = Math.sqrt(batchVariance([late]) * (1 + late.length / early.length)) / late.length, difference = meanOf(early) - meanOf(late);
      const limit = this.spec.t[batches - 2] * error;
      if (error && Math.abs(difference) > limit) return this.finding('drift', difference, { scalar, early: meanOf(early).toFixed(1), late: meanOf(late).toFixed(1) }, limit);
    }
    return [];
  }

  /** @param {[string, number[]][]} scalars @returns {Found[]} */
  rhat(scalars) {
    const all = scalars.flatMap(([scalar, x]) => {
      const chains = halves([x.slice(0, 2 * (x.length >> 1))]), rhat = rhatOf(chains), parts = 2 * chains.length;
      const within = chains.map(y => { const centre = meanOf(y); return y.map(value => value - centre); }), flat = within.flat();
      const ess = flat.length ** 2 * varianceOf(flat) / Math.max(batchVariance(within), 1e-300) / parts;
      const limit = Math.max(this.spec.rules.rhat.threshold, Math.sqrt(1 + this.spec.chi_square / (parts - 1) / Math.max(ess, 1)));
      return rhat > limit ? this.finding('rhat', rhat, { who: 'Parts of the chain', scalar, rhat: rhat < 100 ? String(Number(rhat.toPrecision(4))) : 'over 100' }, limit) : [];
    });
    return all.sort((a, b) => b.value - a.value).slice(0, 1);
  }

  /** Look for an autocorrelation that rises again, where the bits come back. @param {number[]} correlation @returns {Found[]} */
  repeats(correlation) {
    const { rows, spec: { rules: { repeats: { threshold } }, fewest } } = this;
    let lag = -1, least = Infinity;
    correlation.forEach((value, i) => {
      least = Math.min(least, value);
      if (value - least > threshold && value > threshold && (lag < 0 || value > correlation[lag])) lag = i;
    });
    if (lag < 0 || rows.length < fewest) return [];
    /** @param {number} by @returns {number} mean number of bits that differ */
    const differing = by => meanOf(rows.slice(by).map(({ row }, i) => row.reduce((sum, byte, at) => sum + ONES[byte ^ rows[i].row[at]], 0)));
    const low = correlation.indexOf(Math.min(...correlation.slice(0, lag)));
    return differing(lag) > threshold * differing(low) ? [] : this.finding('repeats', correlation[lag], { lag: counted(lag * this.stride) });
  }

  /** @returns {Found[]} */
  spurious() {
    const share = meanOf(this.rows.map(({ of }) => (of < 0 ? 1 : 0))), blank = meanOf(this.rows.map(({ of }) => (of === -2 ? 1 : 0)));
    return share > this.spec.rules.spurious.threshold ? this.finding('spurious', share, { share: `${(100 * share).toFixed(0)}%`, blank: `${(100 * blank).toFixed(0)}%` }) : [];
  }

  /** Compare the classes that were visited with those of the data, as if draws were independent. @returns {Found[]} */
  classes() {
    const { spec: { classes, data_shares, chance, rules }, rows } = this, counts = classes.map((_, c) => rows.filter(({ of }) => of === c).length);
    const n = counts.reduce((sum, count) => sum + count, 0), bound = -Math.log(chance), rare = rules.missing_classes.threshold;
    if (!n) return [];
    const most = Math.max(...counts), which = `class ${classes[counts.indexOf(most)]}`;
    if (most / n >= 1 - rare && n * divergence(most / n, Math.max(...data_shares)) > bound) return this.finding('one_class', most / n, { who: `The chain has ${most === n ? 'never' : 'hardly'}`, which, n: counted(n) });
    const gone = classes.map((_, c) => c).filter(c => counts[c] / n <= Math.min(rare, data_shares[c]) && n * divergence(counts[c] / n, data_shares[c]) > bound);
    const names = gone.map(c => classes[c]), last = names[names.length - 1], few = gone.some(c => counts[c]) ? 'hardly any' : 'no';
    const listed = gone.length > 1 ? `${names.slice(0, -1).join(', ')} or ${last}` : last, some = 2 * gone.length <= classes.length ? listed : 'other class';
    return gone.length ? this.finding('missing_classes', Math.max(...gone.map(c => counts[c] / n)), { few, names: listed, which: some, n: counted(n) }) : [];
  }
}
