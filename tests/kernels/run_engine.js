// Chains of a frame, run by the engine: in node, in a page, or in a page's worker (engines.py). engine.js and frame.js
// precede it.
const fromBase64 = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

function toBase64(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

let wasm, signatures, frame, standing = {};

function openFrame(module, table, content) {
  [wasm, signatures, frame] = [fromBase64(module), table, readFrame(fromBase64(content).buffer)];
  standing = {};
  return frame.request.chains?.length ?? 0;
}

const chainOf = panel => new Chain(new Kernels(wasm, signatures), frame.request.chains[panel], frame.panels[0].blocks);

/** Run a chain, perhaps that of the units that a clamp leaves free, from a start, with knobs turned between its chunks. */
function runJob({ panel, start, chunks, clamp }) {
  const whole = chainOf(panel), { blocks } = frame.panels[0], { score_spec } = frame.request;
  whole.advance(3, chunks[0][1]);
  whole.restart(start); // nothing of the samples before remains
  const chain = clamp ? chainOfFree(new Kernels(wasm, signatures), whole, clamp, score_spec ? blocks.examples : undefined) : whole, { kernels } = chain;
  const packed = [], norms = [], nearest = [], scores = score_spec && !clamp && new Scores(kernels, score_spec, blocks);
  for (const [n, knobs] of chunks) for (let done = 0; done < n;) {
    const m = Math.min(BATCH - 37, n - done), v = new Uint8Array(chain.advance(m, knobs));
    packed.push(...packRows(v, m, Math.ceil(v.length / m / 8)));
    if (scores) nearest.push(...scores.add(packRows(v, m, 8 * scores.words), m).nearest);
    norms.push(...kernels.numbers(chain.norm).slice(0, m));
    done += m;
  }
  return { v: toBase64(packed), norms, nearest, isl: scores ? scores.isl() : null };
}

/** Let a chain that stands at its last sample make n more. */
function goOn(panel, n, knobs) {
  const chain = standing[panel] ??= chainOf(panel);
  for (let done = 0; done < n; done += BATCH) chain.advance(Math.min(BATCH, n - done), knobs);
  return true;
}

/** Pairs of all algorithms at a scale, after pairs at another one: all that are counted, and those that are shown after each sweep. */
function runPairs(scale, sweeps) {
  const run = new PairsRun({ wasm, signatures, pairs: frame.request.pairs, blocks: frame.panels[0].blocks }), shown = [];
  run.make({ scale: 2, sweeps: 40 });
  run.make({ scale, sweeps: 0 });
  for (let i = 0; i < sweeps; i++) shown.push(run.make({ sweeps: 1 }).shown);
  for (const each of run.streams[1]) while (each.finished < each.spec.pairs) each.advance(COUNT_SWEEPS);
  return { shown: shown.map(each => Object.values(each).map(({ v, v2, ended, ...state }) => ({ ...state, v: [...v], v2: [...v2], ended: ended?.pair ?? -1 }))), counted: run.make({ sweeps: 0 }).counted };
}

/** What a worker finds in given samples, bytes of 0 and 1, in place of its own. */
function lookAt(v) {
  const { request: { signatures, chains: [chain], ...request }, panels: [{ blocks }] } = frame, rows = fromBase64(v);
  const run = new WorkerRun({ wasm: blocks.wasm.data, signatures, chain, ...request, land: null, blocks });
  let at = 0;
  run.chain.advance = n => rows.subarray(at * chain.n_visible, (at += n) * chain.n_visible);
  const { found, said, blocks: traced } = run.make({ samples: rows.length / chain.n_visible, knobs: request.values[0] }).look;
  return { found, said, traced: Object.fromEntries(Object.entries(traced).map(([name, { data }]) => [name, [...data]])) };
}
