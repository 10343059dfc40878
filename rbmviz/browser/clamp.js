// @ts-check
// Clamped units: the chain of the free visible units given the others (rbmviz/rbm/clamp.py), in workers; engine.js precedes
// it. It begins with the arrays that Python's ``init`` makes for these units, and so its samples are the same bits.

/** @typedef {number[]} Units value at which each visible unit is held, -1 for a free one */
/** @typedef {{ W: Float32Array, b: Float32Array, c: Float32Array }} FreePart parameters, or statistics, of the free units in their order; W (units x hidden units) */

const NEAREST_EXAMPLES = 20; // see rbmviz/rbm/clamp.py

/** @param {Units} units */
const freeOf = units => units.flatMap((unit, i) => (unit < 0 ? [i] : []));

/** The axis of an array that depends on the number of visible units, and its length for m of them. @param {string} path @param {number} last axis @param {number} m @returns {[axis: number, length: number] | null} */
function visibleAxis(path, last, m) {
  const name = path.slice(path.lastIndexOf('.') + 1), tiled = path.startsWith('ladder.'), tiles = Math.ceil(m / 64), inputs = tiled ? 64 * tiles : m;
  if (/^(v|ladder\.(base|mean_v))$/.test(path)) return [last, m];
  if (/^(up|v_flips|ladder\.hidden)\./.test(path)) { // they are the input
    return name === 'weights' ? [last - 1, inputs] : name === 'input' ? [last, inputs] : /^(on|off|active)$/.test(name) ? [last, inputs + 4] : null;
  }
  if (!/^(down|(ladder|history)\.visible)\./.test(path) || /\.flips\.|\.(tracked|updates|order|overlap)$/.test(path)) return null;
  return name === 'units' ? [last, inputs] : tiled || name === 'words' || name === 'now' ? [0, tiles] : [last, 16 * Math.ceil(m / 16)];
}

/** Rows of all units from those of the free ones. @param {Uint8Array} part @param {Units} units @param {number} [on] the value of units that are held on @returns {Uint8Array} */
function filled(part, units, on = 1) {
  let next = 0;
  return Uint8Array.from({ length: part.length / freeOf(units).length * units.length }, (_, i) => { const unit = units[i % units.length]; return unit < 0 ? part[next++] : on * unit; });
}

/** Statistics of the examples nearest to the held units (Clamp.model). @param {Blocks[string]} examples packed @param {Units} units @param {FreePart} model @returns {FreePart} */
function nearestRates({ data, shape: [rows, bytes] }, units, { W, b, c }) {
  /** @param {number} r @param {number} i */
  const bit = (r, i) => (data[r * bytes + (i >> 3)] >> (7 - (i & 7))) & 1;
  const differ = Array.from({ length: rows }, (_, r) => units.reduce((sum, unit, i) => sum + Number(unit >= 0 && unit !== bit(r, i)), 0));
  const most = [...differ].sort((x, y) => x - y)[Math.min(NEAREST_EXAMPLES, rows) - 1], near = [...differ.keys()].filter(r => differ[r] <= most);
  const n = c.length, free = freeOf(units), [sumW, sumB, sumC] = [W, b, c].map(({ length }) => new Float64Array(length));
  for (const r of near) {
    const on = [...b.keys()].filter(k => bit(r, free[k])), h = Float64Array.from(c);
    for (const k of on) for (let j = 0; j < n; j++) h[j] += W[k * n + j];
    h.forEach((x, j) => { sumC[j] += h[j] = (1 + Math.tanh(x / 2)) / 2; });
    for (const k of on) for (let j = 0; j < n; j++) sumW[k * n + j] += h[j];
    for (const k of on) sumB[k]++;
  }
  const [meanW, meanB, meanC] = [sumW, sumB, sumC].map(sum => Float32Array.from(sum, x => x / near.length));
  return { W: meanW, b: meanB, c: meanC };
}

/**
 * Return the chain of the free units, begun as ``init`` does.
 * @param {Kernels} kernels for this chain alone @param {Chain} all the chain of all units, at a start
 * @param {Units} units @param {Blocks[string] | undefined} examples for the rates; without them, the rates are those of all data
 */
function chainOfFree(kernels, all, units, examples) {
  const { spec, weights } = all, n = spec.n_hidden, tiled = spec.kind === 'tempering', free = freeOf(units), m = free.length;
  const arrays = Object.fromEntries(Object.entries(spec.arrays).map(([path, [dtype, shape]]) => {
    const axis = visibleAxis(path, shape.length - 1, m);
    return [path, /** @type {ChainSpec['arrays'][string]} */ ([dtype, axis ? shape.map((length, i) => (i === axis[0] ? axis[1] : length)) : shape, null])];
  }));
  kernels.clear();
  const numbers = tiled ? { ...spec.numbers, 'ladder.visible.n': m } : spec.numbers, chain = new Chain(kernels, { ...spec, n_visible: m, numbers, arrays, starts: [{ seed: 0, changed: {} }] }, {});
  for (const path in arrays) if (arrays[path][1] === spec.arrays[path][1]) kernels.bytes(chain.arrays[path]).set(all.kernels.bytes(all.arrays[path]));
  /** @param {string} path @returns {any} numbers of an array of the new chain, and of the one of all units */
  const made = path => kernels.numbers(chain.arrays[path]), given = path => all.kernels.numbers(all.arrays[path]);
  const state = tiled ? 'ladder.visible.units' : 'v', started = given(state), v = Uint8Array.from(free, (i, k) => started[spec.drawn ? k : i]), on = [...v.keys()].filter(k => v[k]);
  /** Write parameters, and the pre-activations at the start, rounded as the kernels do. @param {string} part @param {FreePart} parameters */
  const write = (part, { W, b, c }) => {
    const [up, down] = tiled ? ['ladder.hidden', 'ladder.visible'] : [`up${part}`, `down${part}`], upW = made(`${up}.weights`), downW = made(`${down}.weights`), value = made(`${up}.value`), chains = value.length / made(`${up}.bias`).length, sum = new Float32Array(n);
    /** @param {string} layer @returns {(input: number, output: number) => number} place of a weight */
    const placeIn = (layer, { shape } = chain.arrays[`${layer}.weights`]) => (input, output) => (tiled ? 64 * ((output >> 6) * shape[1] + input) + (output & 63) : input * shape[1] + output), upAt = placeIn(up), downAt = placeIn(down);
    for (let k = 0, i = 0; k < m; k++) for (let j = 0; j < n; j++, i++) {
      upW[upAt(k, j)] = downW[downAt(j, k)] = W[i];
      if (v[k]) sum[j] += W[i];
    }
    made(`${up}.bias`).set(c);
    for (const name of tiled ? ['bias'] : ['bias', 'value']) made(`${down}.${name}`).set(b);
    for (let r = 0; r < chains; r++) c.forEach((bias, j) => { value[tiled ? 64 * ((j >> 6) * chains + r) + (j & 63) : j] = bias + sum[j]; });
  };
  const pitch = weights.W.length / units.length, c = Float64Array.from(weights.c.subarray(0, n));
  units.forEach((unit, i) => { if (unit > 0) for (let j = 0; j < n; j++) c[j] += weights.W[i * pitch + j]; });
  /** The part of the free units. @param {Float32Array} W @param {Float32Array} b @param {ArrayLike<number>} c @returns {FreePart} */
  const freePart = (W, b, c) => ({ W: Float32Array.from({ length: m * n }, (_, at) => W[free[Math.floor(at / n)] * pitch + at % n]), b: Float32Array.from(free, i => b[i]), c: Float32Array.from(c).subarray(0, n) });
  const model = freePart(weights.W, tiled ? given('ladder.visible.bias') : weights.b, c);
  write(chain.driven ? '.theta' : '', model);
  if (tiled) made('ladder.base').set(free.map(i => given('ladder.base')[i]));
  if (spec.arrays['up.rates.bias']?.[2]) {
    const rates = examples ? nearestRates(examples, units, model) : freePart(given('up.rates.weights'), given('down.rates.bias'), given('up.rates.bias'));
    write('.rates', rates);
    kernels.setField(chain.arrays.scalars, 'R_R', Object.values(rates).reduce((sum, part) => part.reduce((/** @type {number} */ squares, /** @type {number} */ x) => squares + x * x, sum), 0));
  }
  const flips = tiled ? 'ladder.hidden.flips' : chain.driven ? 'up.flips' : 'v_flips', counts = chain.arrays[`${flips}.counts`], [chains] = counts.shape;
  for (let r = 0; r < chains; r++) {
    for (const [path, row] of Object.entries({ [state]: v, [`${flips}.input`]: v, [`${flips}.on`]: on, [`${flips}.active`]: on })) made(path).set(row, r * made(path).length / chains);
    for (const name of ['on', 'active']) kernels.setField(rowsOf(counts, r, 1), name, on.length);
  }
  return chain;
}
