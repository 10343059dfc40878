// @ts-check
// Controls of knobs: sliders, lists, checkboxes.

/**
 * @typedef {object} KnobSpec
 * @property {string} name
 * @property {'int' | 'float' | 'bool' | 'str'} kind
 * @property {string} label
 * @property {string} symbol the knob's letter in the equation as MathML, or empty
 * @property {string} help
 * @property {string} range the allowed values, in words
 * @property {'linear' | 'log'} scale
 * @property {boolean} zero whether 0 is allowed although lo is above 0
 * @property {string[]} choices
 * @property {boolean} live whether the knob may change during the run
 * @property {boolean} front whether the knob is always visible
 * @property {number} lo
 * @property {number} hi
 */

/** @typedef {number | string | boolean} KnobValue */
/** @typedef {(value: KnobValue, done: boolean) => void} OnChange done is false while the knob is dragged */

// A range input has 1000 steps; a log knob spreads them over decades, and its step 0 stands for 0 if 0 is allowed.
const STEPS = 1000;

/** @type {Record<string, number>} The direction in which an arrow key turns a slider. */
const TURNS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/** @param {KnobSpec} knob @param {number} value @returns {number} the value's step on the range input */
function sliderStep(knob, value) {
  if (knob.scale !== 'log') return STEPS * (value - knob.lo) / (knob.hi - knob.lo);
  if (value === 0) return 0;
  const first = knob.zero ? 20 : 0;
  return first + (STEPS - first) * Math.log(value / knob.lo) / Math.log(knob.hi / knob.lo);
}

/** @param {KnobSpec} knob @param {number} step @returns {number} the value at a step of the range input */
function valueAt(knob, step) {
  let value;
  if (knob.scale !== 'log') value = knob.lo + (knob.hi - knob.lo) * step / STEPS;
  else {
    const first = knob.zero ? 20 : 0;
    if (step < first / 2 && knob.zero) return 0;
    value = knob.lo * (knob.hi / knob.lo) ** (Math.max(step - first, 0) / (STEPS - first));
  }
  return knob.kind === 'int' ? Math.round(value) : Number(value.toPrecision(3));
}

/**
 * Parse a typed number, with a decimal point or comma; NaN if invalid.
 * @param {string} text
 */
const typedNumber = text => (text.trim() === '' ? NaN : Number(text.trim().replace(/^([^.,]*),([^.,]*)$/, '$1.$2')));

/** Format a knob's value like value_text (rbmviz/knobs.py). @param {KnobValue} value */
const knobText = value => (typeof value === 'boolean' ? (value ? 'on' : 'off') : typeof value === 'number' ? round3(value).replace('-', '−') : value);

/**
 * Return the control of a knob, with functions to set it to the server's value and to relabel it.
 * @param {KnobSpec} knob
 * @param {KnobValue} value
 * @param {string} id
 * @param {OnChange} change
 * @returns {{ node: HTMLElement, set: (value: any) => void, relabel: (text: string) => void }}
 */
function knobControl(knob, value, id, change) {
  const help = helpButton(knob.label, [`${knob.help} Range: ${knob.range}.`]);
  const words = element('span', { text: knob.label }), label = element('label', { for: id }, words);
  if (knob.symbol) label.append('\u00a0', element('span', { class: 'symbol' }, formula(knob.symbol)));
  /** @param {HTMLElement} input @param {...HTMLElement} below */
  const control = (input, ...below) => element('div', { class: 'knob' }, element('div', { class: 'row' }, label, ...help, input), ...below);
  /** @param {string} text */
  const relabel = text => { words.textContent = text; };
  if (knob.kind === 'str') {
    const select = element('select', { id, onchange: () => change(select.value, true) },
      ...knob.choices.map(choice => element('option', { value: choice, text: choice })));
    select.value = String(value);
    return { node: control(select), set: v => { select.value = v; }, relabel };
  }
  if (knob.kind === 'bool') {
    const box = element('input', { id, type: 'checkbox', onchange: () => change(box.checked, true) });
    box.checked = Boolean(value);
    return { node: control(box), set: v => { box.checked = v; }, relabel };
  }
  const box = element('input', { class: 'value', type: 'text', inputmode: 'decimal', 'aria-label': `${knob.label}, value` });
  const range = element('input', { id, type: 'range', min: 0, max: STEPS, step: 1 });
  const said = element('span', { class: 'said', role: 'status' });
  let last = Number(value), held = false, typing = false; // the newest value; whether the slider is being dragged; whether a number is being typed
  /** @param {number} v */
  const show = v => {
    if (!typing) box.value = round3(v);
    range.setAttribute('aria-valuetext', round3(v));
    range.classList.toggle('off', knob.zero && v === 0);
    range.style.setProperty('--fill', `${100 * Number(range.value) / STEPS}%`);
  };
  /** @param {number} v */
  const set = v => { range.value = String(sliderStep(knob, v)); show(v); };
  /** @param {boolean} done */
  const drag = done => { range.classList.add('moved'); held = !done; last = valueAt(knob, Number(range.value)); show(last); change(last, done); };
  range.addEventListener('input', () => { said.textContent = ''; drag(false); });
  range.addEventListener('change', () => drag(true));
  for (const end of ['pointerup', 'pointercancel', 'blur']) range.addEventListener(end, () => { held = false; }); // without a change if the slider is back where it was
  // An arrow key always turns the knob, even if a whole number, or the gap above 0, spans many steps.
  range.addEventListener('keydown', event => {
    const by = TURNS[event.key], now = valueAt(knob, Number(range.value));
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    let step = Number(range.value);
    while (valueAt(knob, step) === now && step + by >= 0 && step + by <= STEPS) step += by;
    if (valueAt(knob, step) === now) return;
    range.value = String(step);
    said.textContent = '';
    drag(true);
  });
  box.addEventListener('input', () => { typing = true; });
  box.addEventListener('blur', () => { typing = false; show(last); });
  box.addEventListener('change', () => {
    typing = false;
    const typed = typedNumber(box.value);
    if (!Number.isFinite(typed)) {
      said.textContent = 'Not a number: the value is unchanged.';
      return show(last);
    }
    let v = knob.kind === 'int' ? Math.round(typed) : typed;
    if (!(knob.zero && v === 0)) v = Math.min(Math.max(v, knob.lo), knob.hi);
    said.textContent = v === typed ? '' : `${round3(typed)} became ${round3(v)}: the range is ${knob.range}.`;
    set(last = v); change(v, true);
  });
  set(last);
  return {
    node: control(box, range, said),
    set: v => { if (!held) set(last = v); },
    relabel: text => { relabel(text); box.setAttribute('aria-label', `${text}, value`); },
  };
}
