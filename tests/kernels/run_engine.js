// node run_engine.js MODULE TABLE FRAME JOBS: run chains of a frame by the engine, and print what they made as JSON.
const { readFileSync } = require('fs'), { createHash } = require('crypto'), vm = require('vm'), path = require('path');
const root = path.join(__dirname, '..', '..'), [wasm, table, frameFile, jobs] = process.argv.slice(2);
for (const script of ['rbmviz/browser/engine.js', 'rbmviz/view/panel/frame.js']) vm.runInThisContext(readFileSync(path.join(root, script), 'utf8'));
const bytes = readFileSync(frameFile), frame = readFrame(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const { blocks } = frame.panels[0], signatures = JSON.parse(readFileSync(table, 'utf8'));

const made = JSON.parse(jobs).map(({ panel, start, chunks }) => {
  const kernels = new Kernels(readFileSync(wasm), signatures), chain = new Chain(kernels, frame.request.chains[panel], blocks);
  chain.advance(3, chunks[0][1]);
  chain.restart(start); // nothing of the samples before remains
  const digest = createHash('sha256'), norms = [], nearest = [], { score_spec } = frame.request;
  const scores = score_spec && new Scores(kernels, score_spec, blocks);
  for (const [n, knobs] of chunks) for (let done = 0; done < n;) {
    const m = Math.min(BATCH - 37, n - done);
    const v = chain.advance(m, knobs), rows = new Uint8Array(v);
    digest.update(v);
    if (scores) nearest.push(...scores.add(packRows(rows, m, 8 * scores.words), m).nearest);
    norms.push(...kernels.floats(chain.norm).slice(0, m));
    done += m;
  }
  return { v: digest.digest('hex'), norms, nearest, isl: scores ? scores.isl() : null };
});
console.log(JSON.stringify(made));
