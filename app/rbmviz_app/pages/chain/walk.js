// @ts-check
// A dot for each of two chains, which walks over their states by the same random numbers.

const STEP_MS = 450, APART = 44, FIRST = 34, LOW = 46;

/** @param {number[]} row probabilities of the next state @param {number} u from 0 to 1 @returns {number} the next state */
const next = (row, u) => {
  let j = 0;
  for (let sum = row[0]; j < row.length - 1 && u >= sum; sum += row[j]) j++;
  return j;
};

/** @param {{ data: { chains: { name: string, colour: string, rows: number[][] }[], names: string[] }, parentElement: any }} mounted @returns {() => void} */
export default ({ data, parentElement }) => {
  const { chains, names } = data, n = names.length, x = (/** @type {number} */ i) => FIRST + APART * (i + 0.5);
  parentElement.rbmvizStop?.();
  const before = parentElement.rbmvizWalk?.n === n ? parentElement.rbmvizWalk : null;
  const walk = parentElement.rbmvizWalk = before ?? { n, at: chains.map(() => 0), moves: chains.map(() => 0), steps: 0, goes: !isCalm() };
  if (before?.key !== JSON.stringify(chains)) Object.assign(walk, { key: JSON.stringify(chains), moves: chains.map(() => 0), steps: 0 });
  const svg = shape('svg', { viewBox: `0 0 ${FIRST + APART * n + 150} ${LOW * chains.length}`, role: 'img', 'aria-label': 'A dot walks over the states of each chain' });
  const drawn = chains.map(({ name, colour }, row) => {
    const y = LOW * (row + 0.5), dot = shape('circle', { r: 16, cy: y, class: 'dot', fill: colour }), said = shape('text', { x: FIRST + APART * n + 10, y: y + 5 });
    svg.append(shape('text', { x: 6, y: y + 5, class: 'name' }, name), ...names.map((_, i) => shape('circle', { cx: x(i), cy: y, r: 16, class: 'state' })),
      dot, ...names.map((each, i) => shape('text', { x: x(i), y: y + 5, class: 'number' }, each)), said);
    return { dot, said };
  });
  const show = () => drawn.forEach(({ dot, said }, row) => {
    dot.setAttribute('style', `transform: translateX(${x(walk.at[row])}px)`);
    said.textContent = walk.steps ? `moved ${walk.moves[row]} of ${walk.steps}` : '';
  });
  const step = () => {
    const u = Math.random();
    chains.forEach(({ rows }, row) => {
      const to = next(rows[walk.at[row]], u);
      if (to !== walk.at[row]) walk.moves[row]++;
      walk.at[row] = to;
    });
    walk.steps++;
    show();
  };
  let timer = 0;
  const go = () => {
    clearInterval(timer);
    if (walk.goes) timer = setInterval(step, STEP_MS);
    button.textContent = walk.goes ? 'Pause' : 'Walk';
  };
  const button = element('button', { type: 'button', onclick: () => { walk.goes = !walk.goes; go(); } });
  parentElement.querySelector('.walk')?.remove();
  parentElement.append(element('div', { class: 'walk' }, svg, button));
  show();
  go();
  return parentElement.rbmvizStop = () => clearInterval(timer);
};
