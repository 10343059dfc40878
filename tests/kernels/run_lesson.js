// node run_lesson.js MODULE TABLE FRAME: walk over landscapes, evaluate claims and draw units, by the scripts of pages; print JSON.
const { readFileSync } = require('fs'), vm = require('vm'), path = require('path');
const root = path.join(__dirname, '..', '..'), [wasm, table, frameFile] = process.argv.slice(2);
const scripts = ['rbmviz/browser/engine.js', 'rbmviz/browser/landscape.js', 'rbmviz/browser/claims.js', 'rbmviz/browser/units.js', 'rbmviz/view/panel/frame.js'];
for (const script of scripts) vm.runInThisContext(readFileSync(path.join(root, script), 'utf8'));
const signatures = JSON.parse(readFileSync(table, 'utf8'));
const bytes = readFileSync(frameFile), frame = readFrame(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const { walks, claims, units } = frame.request;

const walked = walks.map(({ chain, spec, knobs, ends }) => {
  const run = new Chain(new Kernels(readFileSync(wasm), signatures), frame.request.chains[chain], frame.panels[0].blocks), walk = new Walk(run, spec), views = [];
  for (const end of ends) {
    while (walk.n < end) {
      const m = Math.min(BATCH, end - walk.n);
      walk.add(run.advance(m, knobs), m);
    }
    const { ground, visits, ...view } = walk.view(knobs);
    views.push({ ...view, ground: [...ground], visits: [...visits] });
  }
  return views;
});
const evaluated = claims.map(({ claim, panels }) => {
  const watched = new WatchedClaims([claim]);
  watched.note(panels);
  return [watched.seen[0], claimHolds(claim, panels)];
});
const drawn = [], model = units && new DrawnUnits(units);
for (let i = 0; model && i < 60; i++) {
  drawn.push([model.said, model.data.last, model.next, model.v, model.h].map(part => JSON.parse(JSON.stringify(part))));
  if (i % 7 === 3) model.draw('visible', i % 6);
  else if (i % 11 === 5) model.sweep();
  else model.draw(...model.next);
}
console.log(JSON.stringify({ walked, evaluated, drawn }));
