// @ts-check
// A small RBM as circles and lines: hidden units above, pixels below. A click or Enter on a unit draws it, except on
// the watchers' page. Beside them are the image that the pixels make, the last images, and the random number of the draw.

const WIDTH = 560, HEIGHT = 350, TOP = 86, BOTTOM = 262, RADIUS = 27;

/** Half the width of a touch target, which is 44 pixels wide on the narrowest phones. */
const AROUND = 40;

const PLAY_MS = 700, ROWS = 2, COLUMNS = 3, KEPT_IMAGES = 12;

/** @param {boolean[]} on of each pixel @param {string} name @returns {SVGElement} the image that the pixels make */
const image = (on, name) => shape('svg', { viewBox: `0 0 ${COLUMNS} ${ROWS}`, role: 'img', 'aria-label': name },
  ...on.map((is, i) => shape('rect', { x: i % COLUMNS + 0.03, y: Math.floor(i / COLUMNS) + 0.03, width: 0.94, height: 0.94, class: is ? 'pixel on' : 'pixel' })));

/** @param {any[] | null} last layer, unit, p and random number of the last draw @returns {HTMLElement} where the random number fell: left of p means on */
const chance = last => {
  const [layer, unit, p, u] = last ?? ['', 0, 0, 0], dot = element('i', { class: u < p ? 'dot on' : 'dot' }), filled = element('i');
  filled.style.width = `${100 * p}%`;
  dot.style.left = `${100 * u}%`;
  const said = last ? `${layer === 'hidden' ? 'h' : 'v'}${unit + 1}: ${u < p ? 'left of p, on' : 'right of p, off'}` : 'A random number falls left or right of p.';
  return element('div', { class: 'chance' }, element('span', { text: said }), element('div', { class: 'line', 'aria-hidden': 'true' }, filled, ...(last ? [dot] : [])));
};

/** @param {number} i @param {number} n @returns {number} position of the i-th of n units */
const across = (i, n) => WIDTH * (i + 0.5) / n;

/** @param {any} data @returns {SVGElement[]} the weights as lines: thick if strong, dashed if negative, faint if a unit is off */
const lines = data => data.weights.flatMap((/** @type {number[]} */ row, /** @type {number} */ i) => row.map((weight, j) => {
  const both = data.visible[i].on && data.hidden[j].on;
  return shape('line', {
    x1: across(j, data.hidden.length), y1: TOP + RADIUS, x2: across(i, data.visible.length), y2: BOTTOM - RADIUS,
    class: weight < 0 ? 'weight negative' : 'weight', 'stroke-width': 1.8 * Math.abs(weight), opacity: both ? 1 : 0.28,
  });
}));

/** @param {any} unit @param {string} layer @param {number} i @param {number} n @param {any} data @param {() => void} draw */
const circle = (unit, layer, i, n, data, draw) => {
  const x = across(i, n), y = layer === 'hidden' ? TOP : BOTTOM;
  const name = layer === 'hidden' ? `hidden unit ${i + 1}` : `pixel ${i + 1}`;
  const next = data.next[0] === layer && data.next[1] === i;
  const last = data.last && data.last[0] === layer && data.last[1] === i;
  const group = shape('g', {
    ...(data.watched ? { role: 'img' } : { role: 'button', tabindex: 0 }), 'data-unit': `${layer} ${i}`, class: `unit${unit.on ? ' on' : ''}${next ? ' next' : ''}${last ? ' last' : ''}`,
    'aria-label': `${name}: ${unit.on ? 'on' : 'off'}, on with probability ${unit.p.toFixed(2)} if it is drawn${next ? '; the next of the sweep' : ''}`,
  });
  const above = layer === 'hidden';
  group.append(
    shape('rect', { class: 'around', x: x - AROUND, y: y - AROUND, width: 2 * AROUND, height: 2 * AROUND }),
    layer === 'hidden' ? shape('circle', { cx: x, cy: y, r: RADIUS }) : shape('rect', { x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS, rx: 4 }),
    shape('text', { x, y: y + 6, class: 'state' }, unit.on ? '1' : '0'),
    shape('text', { x, y: above ? y - RADIUS - 32 : y + RADIUS + 24 }, above ? `h${i + 1}` : `v${i + 1}`),
    shape('text', { x, y: above ? y - RADIUS - 9 : y + RADIUS + 47, class: 'p' }, `p ${unit.p.toFixed(2)}`),
  );
  if (data.watched) return group;
  group.addEventListener('click', draw);
  group.addEventListener('keydown', event => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    if (key !== 'Enter' && key !== ' ') return;
    event.preventDefault();
    draw();
  });
  return group;
};

/** @param {Component} component @returns {() => void} */
export default ({ data, parentElement, setTriggerValue }) => {
  let host = parentElement.querySelector('.host');
  if (!host) parentElement.append(host = element('div', { class: 'host' }));
  const root = host.getRootNode();
  const playing = root instanceof ShadowRoot && root.activeElement?.matches('.play');
  const focused = root instanceof ShadowRoot || root instanceof Document ? root.activeElement?.getAttribute('data-unit') : null;
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': `The units of the model${data.watched ? '' : ': click one to draw it'}` });
  svg.append(...lines(data));
  for (const layer of ['hidden', 'visible']) {
    data[layer].forEach((/** @type {any} */ unit, /** @type {number} */ i) => {
      svg.append(circle(unit, layer, i, data[layer].length, data, () => setTriggerValue('draw', { layer, unit: i, at: data.draws })));
    });
  }
  host.replaceChildren(element('p', { role: 'status', text: data.said }), svg);
  const on = data.visible.map((/** @type {any} */ unit) => unit.on), kept = host.rbmvizImages ??= [];
  if (data.draws < (host.rbmvizDraws ?? 0)) kept.length = 0;
  if (data.draws > (host.rbmvizDraws ?? 0) && data.next[0] === 'hidden' && data.next[1] === 0) kept.push(on); // a sweep has ended
  host.rbmvizDraws = data.draws;
  const next = () => setTriggerValue('draw', { layer: data.next[0], unit: data.next[1], at: data.draws });
  clearTimeout(host.rbmvizNext);
  // The first image is drawn slowly enough to follow, the others to see the strip fill.
  if (host.rbmvizPlays) host.rbmvizNext = setTimeout(next, kept.length ? PLAY_MS / 3 : PLAY_MS);
  const play = element('button', { class: 'play', type: 'button', text: host.rbmvizPlays ? 'Pause' : 'Play', onclick: () => {
    host.rbmvizPlays = !host.rbmvizPlays;
    play.textContent = host.rbmvizPlays ? 'Pause' : 'Play';
    clearTimeout(host.rbmvizNext);
    if (host.rbmvizPlays) next();
  } });
  host.append(element('div', { class: 'made' }, image(on, 'The image that the pixels make'), chance(data.last), ...(data.watched ? [] : [play]),
    element('div', { class: 'kept' }, ...kept.slice(-KEPT_IMAGES).map((/** @type {boolean[]} */ each, /** @type {number} */ i) => image(each, `Image ${Math.max(kept.length - KEPT_IMAGES, 0) + i + 1}`))),
    ...(kept.length < KEPT_IMAGES ? [] : [element('p', { class: 'now', text: 'The same two steps draw digits.' }),
      ...(data.leads ? [element('button', { class: 'play', type: 'button', text: 'Now 784 pixels →', onclick: () => setTriggerValue('onward', true) })] : [])])));
  if (focused) host.querySelector(`[data-unit="${focused}"]`)?.focus();
  else if (playing) play.focus();
  return () => clearTimeout(host.rbmvizNext);
};
