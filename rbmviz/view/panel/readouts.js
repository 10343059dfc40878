// @ts-check
// Numbers under the pictures, declared in rbmviz/view/specs.py: two large numbers, and the others in the panel's fold.

/**
 * A number under the pictures; declared in rbmviz/view/specs.py.
 * @typedef {object} ReadoutSpec
 * @property {string} name
 * @property {string} label
 * @property {Prose} help its meaning, in words
 * @property {string} formula its definition as MathML, or empty
 * @property {string} source its source, or the method of computation
 * @property {string} format
 * @property {string} unit
 * @property {boolean} lead whether it is large
 */

// Number formats

/** @param {number} x */
const round3 = x => (x === 0 ? '0' : String(Number(x.toPrecision(3))));
const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
/** @param {number} digits */
const compactTo = digits => new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: digits });
const compact = compactTo(3);

/** @type {Record<string, string>} */
const SUPERSCRIPTS = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

/** @param {number} share */
function percent(share) {
  if (share >= 0.0995) return `${(100 * share).toFixed(0)} %`;
  if (share >= 0.00095) return `${(100 * share).toFixed(1)} %`;
  if (share === 0) return '0';
  return '10' + [...String(Math.round(Math.log10(share)))].map(c => SUPERSCRIPTS[c]).join('');
}

/**
 * Formats of readouts; rbmviz/metrics/live.py declares these names.
 * @type {Record<string, (x: any) => string>}
 */
const FORMATS = {
  fixed1: x => x.toFixed(1),
  fixed2: x => x.toFixed(2),
  fixed3: x => x.toFixed(3),
  signed2: x => (x < 0 ? '−' : '+') + Math.abs(x).toFixed(2),
  digits3: round3,
  precision2: x => (x < 99.5 ? x.toPrecision(2) : x.toFixed(0)), // for larger numbers, toPrecision writes 1.0e+2
  precision3: x => (x < 999.5 ? x.toPrecision(3) : x.toFixed(0)),
  compact: x => compact.format(x),
  share: percent,
  rate: x => (x < 10 ? String(Number(x.toPrecision(2))) : compact.format(x)),
  plus_minus: x => `± ${Number(x.toPrecision(1))}`,
  with_error: x => (!Array.isArray(x) ? x.toFixed(2) : x[0].toFixed(1) + (x[1] === null ? '' : ` ± ${Number(x[1].toPrecision(2))}`)),
  of: ([part, total]) => `${round3(part)}/${whole.format(total)}`,
  pair: ([first, second]) => `${first.toFixed(2)} | ${second.toFixed(2)}`,
};

/** @param {Pick<ReadoutSpec, 'format' | 'unit'>} spec @param {ReadoutValue | undefined} value @returns {string} */
function readoutText({ format, unit }, value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value[0] === null) return '–';
  return FORMATS[format](value) + (unit ? ` ${unit}` : '');
}

const RATE_MS = 3000; // time over which a rate is measured

/** The rate of a counter, measured from its observed growth. */
class Rate {
  /** Time and count of each growth. @type {[number, number][]} */
  growths = [];

  /**
   * @param {number} count
   * @param {number} now in milliseconds
   * @returns {number | null} growth per second; null while unknown
   */
  rateAt(count, now) {
    const last = this.growths.at(-1);
    if (last && count < last[1]) this.growths = []; // restarted
    if (!last || count !== last[1]) this.growths.push([now, count]);
    while (this.growths.length > 2 && this.growths[0][0] < now - RATE_MS) this.growths.shift();
    const [from, count0] = this.growths[0], [to, count1] = this.growths[this.growths.length - 1];
    if (now - to > RATE_MS) return 0;
    return to > from ? 1000 * (count1 - count0) / (to - from) : null;
  }
}

/** @param {ReadoutSpec} spec */
function readoutName({ label, help, formula: mathml, source, lead }) {
  // The help button of a large number appears only while the fold is open, as for the first knobs.
  const button = lead ? helpMark(label) : element('button', { class: 'name', type: 'button', text: label });
  /** @type {Node[]} */
  const parts = [element('h4', { text: label }), element('p', {}, ...written(help))];
  if (mathml) parts.push(element('div', { class: 'formula' }, formula(mathml)));
  if (source) parts.push(element('p', { class: 'source', text: source }));
  return element('dt', {}, lead ? `${label} ` : '', button, explain(button, label, ...parts));
}

/** A number with its name; large numbers use two font sizes, one for the number and one for the text after it. */
class ShownReadout {
  /** @param {ReadoutSpec} spec */
  constructor(spec) {
    this.spec = spec;
    this.text = '–';
    this.number = element('dd', { 'data-readout': spec.name, text: this.text });
    this.node = element('div', {}, readoutName(spec), this.number);
    this.rate = spec.format === 'rate' ? new Rate() : null;
  }

  /** @param {ReadoutValue | undefined} value @param {boolean} running */
  draw(value, running) {
    if (this.rate && !running) this.rate = new Rate(); // a pause does not count as time without growth
    if (this.rate) value = !running ? 0 : typeof value === 'number' ? this.rate.rateAt(value, performance.now()) : null;
    const text = readoutText(this.spec, value);
    if (text === this.text) return;
    this.text = text;
    const end = text.indexOf(' ');
    if (!this.spec.lead || end < 0) this.number.textContent = text;
    else this.number.replaceChildren(text.slice(0, end), element('small', { text: text.slice(end) }));
  }
}

/** The readouts of a panel. */
class ReadoutList {
  constructor() {
    this.lead = element('dl', { class: 'readouts lead' });
    this.more = element('dl', { class: 'readouts' });
    this.key = '';
    /** @type {ShownReadout[]} */
    this.shown = [];
  }

  /** @param {ReadoutSpec[]} specs */
  declare(specs) {
    const key = JSON.stringify(specs);
    if (key === this.key) return;
    this.key = key;
    this.shown = specs.map(spec => new ShownReadout(spec));
    for (const [list, lead] of /** @type {[HTMLElement, boolean][]} */ ([[this.lead, true], [this.more, false]])) {
      list.replaceChildren(...this.shown.filter(({ spec }) => spec.lead === lead).map(({ node }) => node));
    }
  }

  /** @param {Record<string, ReadoutValue>} values @param {boolean} running whether the run is running; if not, rates are 0 */
  draw(values, running) {
    for (const readout of this.shown) readout.draw(values[readout.spec.name], running);
  }
}
