// @ts-check
// Hidden units of a model, and buttons that hold the chosen one. Each choice, and each button, is one message to the page.

/**
 * Data from Python. units: numbers of those shown; filters: their weights, 128 is 0; held: value of each, -1 if it is free;
 * taken: number of the newest message that was taken; facts: share of training images that switch it on, and the n that do most.
 * @typedef {{ shape: [number, number], units: number[], filters: string, held: number[], chosen: number, taken: number, facts: { share: number, images: string, n: number } | null }} InsideData
 * @typedef {{ data: InsideData, parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} InsideMount
 */

const ACROSS = innerWidth > 640 ? 25 : 10; // filters side by side
const CHOOSE_MS = 250; // minimum time between choices: a held arrow key moves thirty times a second

/** @param {InsideMount} mounted @returns {{ take: (mounted: InsideMount) => void, close: () => void }} */
function inside({ data, parentElement, setTriggerValue }) {
  let sent = 0; // number of the newest message, which is a time
  const filters = new Mosaic('filters'), images = new Mosaic('responses'), { canvas } = filters, said = element('p', { role: 'status' }), probe = element('span', { hidden: true });
  /** @param {number} unit @param {number | null} value at which it is to be held */
  const tell = (unit, value) => setTriggerValue('act', { n: sent = Math.max(sent, data.taken, Date.now() - 1) + 1, unit, value });
  const look = paced(CHOOSE_MS, (/** @type {number} */ unit) => tell(unit, null));
  const buttons = ['Free', 'Hold off', 'Hold on'].map((text, i) => element('button', { class: 'button', type: 'button', text, onclick: () => tell(data.chosen, i - 1) }));
  const node = element('div', { class: 'inside' }, canvas, element('div', { class: 'chosen' }, ...buttons, said, images.canvas), probe);
  const draw = () => {
    const { units, held, chosen, facts } = data, text = rgb(probe, 'var(--st-text-color)'), paper = rgb(probe, 'var(--st-background-color)'), gap = ramp(paper, paper)[0];
    const at = units.indexOf(chosen), names = units.map((unit, i) => `unit ${unit + 1} is ${['free', 'held off', 'held on'][held[i] + 1]}`);
    const [faint, strong] = [0.05, 0.95].map(share => paper.map((from, c) => from + (text[c] - from) * share));
    filters.draw(diverging(rgb(probe, '#0072b2'), faint, rgb(probe, '#d55e00')), gap, null);
    for (const [name, value] of Object.entries({ valuemax: units.length, valuenow: filters.pointed + 1, valuetext: names[filters.pointed] })) canvas.setAttribute(`aria-${name}`, String(value));
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(held[at] === i - 1)));
    const responds = facts ? `. Training images switch it on with probability ${Math.round(100 * facts.share)} % on average; these do most` : '', others = names.filter((_, i) => held[i] >= 0 && i !== at);
    put(said, `${[`Hidden ${names[at]}${responds}`, ...others.map(name => name.replace('unit', 'Unit'))].join('. ')}.`);
    images.canvas.hidden = !facts;
    if (facts) images.draw(ramp(faint, strong), gap, null);
  };
  /** @param {number} slot */
  const choose = slot => {
    if (!(slot in data.units)) return;
    filters.pointed = slot;
    draw();
    look(data.units[slot]);
  };
  for (const [name, value] of Object.entries({ role: 'slider', tabindex: '0', 'aria-label': 'Hidden units', 'aria-valuemin': '1', 'aria-roledescription': 'pictures' })) canvas.setAttribute(name, value);
  images.canvas.setAttribute('aria-label', 'Training images that switch it on most');
  canvas.addEventListener('click', event => choose(filters.slotAt(event)));
  canvas.addEventListener('keydown', event => { // the page has these keys, too
    const { pointed, across } = filters, to = { arrowleft: pointed - 1, arrowright: pointed + 1, arrowup: pointed - across, arrowdown: pointed + across, home: 0, end: data.units.length - 1 }[plainKey(event)];
    if (to === undefined) return;
    choose(to);
    event.preventDefault();
    event.stopPropagation();
  });
  /** @param {InsideMount} mounted */
  const take = mounted => {
    ({ data, setTriggerValue } = mounted);
    const { shape: [rows, columns], units, facts } = data, across = Math.min(ACROSS, units.length);
    filters.layout(rows, columns, across, Math.ceil(units.length / across));
    filters.cells.fill(128).set(bytesOf(data.filters));
    if (data.taken >= sent) filters.pointed = units.indexOf(data.chosen); // an earlier answer would move the frame back
    if (facts) images.layout(rows, columns, facts.n, 1);
    for (let i = 0; facts && i < facts.n; i++) images.put(i, { dtype: 'bits', shape: [facts.n, rows * columns], data: bytesOf(facts.images) }, i);
    draw();
  };
  const resized = new ResizeObserver(draw);
  parentElement.append(node);
  resized.observe(node);
  return { take, close: () => { resized.disconnect(); node.remove(); } };
}

/** @param {InsideMount} mounted */
export default mounted => {
  (mounted.parentElement.rbmviz ??= inside(mounted)).take(mounted);
  return () => { mounted.parentElement.rbmviz?.close(); mounted.parentElement.rbmviz = null; };
};
