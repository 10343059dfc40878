// @ts-check
// Numbers under the pictures, as app/panel/readouts.py declares them.

/**
 * A number under the pictures; declared in Python (app/panel/readouts.py).
 * @typedef {{ name: string, label: string, help: string, format: string, unit: string }} ReadoutSpec
 */

// How numbers are written

/** @param {number} x */
const round3 = x => (x === 0 ? '0' : String(Number(x.toPrecision(3))));
const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

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
 * How a readout's numbers are written; app/panel/readouts.py declares these names.
 * @type {Record<string, (x: any) => string>}
 */
const FORMATS = {
  fixed1: x => x.toFixed(1),
  fixed2: x => x.toFixed(2),
  fixed3: x => x.toFixed(3),
  signed2: x => (x < 0 ? '−' : '+') + Math.abs(x).toFixed(2),
  digits3: round3,
  precision2: x => x.toPrecision(2),
  precision3: x => x.toPrecision(3),
  compact: x => compact.format(x),
  share: percent,
  plus_minus: x => `± ${Number(x.toPrecision(1))}`,
  of: ([part, total]) => `${round3(part)} of ${whole.format(total)}`,
  pair: ([first, second]) => `${first.toFixed(2)} | ${second.toFixed(2)}`,
};

/** @param {ReadoutSpec} spec @param {ReadoutValue | undefined} value @returns {string} */
function readoutText({ format, unit }, value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  return FORMATS[format](value) + (unit ? ` ${unit}` : '');
}

/** The readouts of a panel, as a list of labels and values. */
class ReadoutList {
  constructor() {
    this.node = element('dl', { class: 'readouts' });
    this.key = '';
    /** @type {[ReadoutSpec, HTMLElement][]} */
    this.shown = [];
  }

  /** @param {ReadoutSpec[]} specs */
  declare(specs) {
    const key = JSON.stringify(specs);
    if (key === this.key) return;
    this.key = key;
    this.shown = specs.map(spec => [spec, element('dd', { 'data-readout': spec.name, text: '–' })]);
    this.node.replaceChildren(...this.shown.map(([{ label, help }, text]) => element('div', { title: help }, element('dt', { text: label }), text)));
  }

  /** @param {Record<string, ReadoutValue>} values */
  draw(values) {
    for (const [spec, text] of this.shown) text.textContent = readoutText(spec, values[spec.name]);
  }
}
