// @ts-check
// A small RBM as circles and lines: hidden units above, pixels below. A click or Enter on a unit draws it, except on
// the watchers' page.

const WIDTH = 560, HEIGHT = 350, TOP = 86, BOTTOM = 262, RADIUS = 27;

/** Half the width of a touch target, which is 44 pixels wide on the narrowest phones. */
const AROUND = 40;

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
  const focused = root instanceof ShadowRoot || root instanceof Document ? root.activeElement?.getAttribute('data-unit') : null;
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': `The units of the model${data.watched ? '' : ': click one to draw it'}` });
  svg.append(...lines(data));
  for (const layer of ['hidden', 'visible']) {
    data[layer].forEach((/** @type {any} */ unit, /** @type {number} */ i) => {
      svg.append(circle(unit, layer, i, data[layer].length, data, () => setTriggerValue('draw', { layer, unit: i, at: data.draws })));
    });
  }
  host.replaceChildren(svg, element('p', { role: 'status', text: data.said }));
  if (focused) host.querySelector(`[data-unit="${focused}"]`)?.focus();
  return () => {};
};
