// @ts-check
// What the live panels of all pages share: formats of numbers, knobs, pictures, the frame of a panel, the socket.
// The server sends only what is new. Everything shown is kept here and drawn whole, so that a new theme or size
// needs no new data. A page's own panel.js stands behind this file in one script.

/**
 * A number under the pictures; declared in Python (app/panel/readouts.py).
 * @typedef {{ name: string, label: string, help: string, format: string, unit: string }} ReadoutSpec
 */

/**
 * @typedef {object} KnobSpec
 * @property {string} name
 * @property {'int' | 'float' | 'bool' | 'str'} kind
 * @property {string} label
 * @property {string} help
 * @property {string} range the allowed values, in words
 * @property {'linear' | 'log'} scale
 * @property {boolean} zero whether 0 is allowed although lo is above it
 * @property {string[]} choices
 * @property {boolean} live whether it may change while the run goes on
 * @property {boolean} front whether it is in sight
 * @property {number} lo
 * @property {number} hi
 */

/**
 * @typedef {object} PanelSpec
 * @property {number} key
 * @property {string} label
 * @property {string} about
 * @property {string} colour
 * @property {KnobSpec[]} knobs
 * @property {Record<string, KnobValue>} values
 * @property {ReadoutSpec[]} readouts
 */

/**
 * What Python gives the canvas of a page (Canvas.mount); each page adds entries that its own panel.js reads.
 * @typedef {object} PageData
 * @property {string} url
 * @property {number} fps
 * @property {string} view
 * @property {string} pixels
 * @property {number} cells
 * @property {number} n_visible
 * @property {[number, number]} shape
 * @property {boolean} present
 * @property {PanelSpec[]} panels
 * @property {[string, number][]} [vocabulary] words and their pixels, the rarest first
 */

/** @typedef {number | string | boolean} KnobValue */
/** @typedef {(value: KnobValue, done: boolean) => void} OnChange done is false while the knob is dragged */
/** @typedef {(name: string, value: unknown) => void} Trigger */
/** @typedef {{ data: any, parentElement: any, setTriggerValue: Trigger }} Component what Streamlit calls a script with */

const UNKNOWN_TOKEN = 4403; // close code: this page's session has ended
const RETRY_MS = 500;
const WORDS_MS = 1000; // words change this often: more could not be read
const GAP = 2; // pixels of the picture between two cells

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes] 'text' is the text; 'onclick' and the like are listeners
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children);
  return node;
};

// Numbers

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

// Colours

/** @param {HTMLElement} node @param {string} colour @returns {number[]} red, green and blue, 0 to 255 */
function rgb(node, colour) {
  node.style.color = colour;
  return (getComputedStyle(node).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/** @param {number[]} from @param {number[]} to @returns {Uint32Array} the colours of the values 0 to 255 */
function ramp(from, to) {
  const table = new Uint32Array(256), bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < 256; i++) {
    for (let c = 0; c < 3; c++) bytes[4 * i + c] = from[c] + (to[c] - from[c]) * i / 255;
    bytes[4 * i + 3] = 255;
  }
  return table;
}

/** @param {number[]} low @param {number[]} middle @param {number[]} high @returns {Uint32Array} */
function diverging(low, middle, high) {
  const table = new Uint32Array(256);
  const down = ramp(low, middle), up = ramp(middle, high);
  for (let i = 0; i < 256; i++) table[i] = i < 128 ? down[2 * i] : up[Math.min(2 * (i - 128), 255)];
  return table;
}

// Knobs

// A range input has 1000 steps; a log knob spends them on decades, and step 0 on 0 where 0 is allowed.
const STEPS = 1000;

/** @param {KnobSpec} knob @param {number} value @returns {number} its step on the range input */
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

/** @param {string} text */
function helpButton(text) {
  return element('button', { class: 'help', type: 'button', 'aria-label': `Help: ${text}`, text: '?' },
    element('span', { class: 'tip', 'aria-hidden': 'true', text }));
}

/**
 * Return the control of a knob, and how to set it to a value that the server knows.
 * @param {KnobSpec} knob
 * @param {KnobValue} value
 * @param {string} id
 * @param {OnChange} change
 * @returns {{ node: HTMLElement, set: (value: any) => void }}
 */
function knobControl(knob, value, id, change) {
  const help = helpButton(`${knob.help} Range: ${knob.range}.`);
  const label = element('label', { for: id, text: knob.label });
  /** @param {HTMLElement} input @param {...HTMLElement} below */
  const control = (input, ...below) => element('div', { class: 'knob' }, element('div', { class: 'row' }, label, help, input), ...below);
  if (knob.kind === 'str') {
    const select = element('select', { id, onchange: () => change(select.value, true) },
      ...knob.choices.map(choice => element('option', { value: choice, text: choice })));
    select.value = String(value);
    return { node: control(select), set: v => { select.value = v; } };
  }
  if (knob.kind === 'bool') {
    const box = element('input', { id, type: 'checkbox', onchange: () => change(box.checked, true) });
    box.checked = Boolean(value);
    return { node: control(box), set: v => { box.checked = v; } };
  }
  const box = element('input', { class: 'value', type: 'text', inputmode: 'decimal', 'aria-label': `${knob.label}, value` });
  const range = element('input', { id, type: 'range', min: 0, max: STEPS, step: 1 });
  let last = Number(value); // as the server knows it
  /** @param {number} v */
  const show = v => {
    box.value = round3(v);
    range.setAttribute('aria-valuetext', round3(v));
    range.style.setProperty('--fill', `${100 * Number(range.value) / STEPS}%`);
  };
  /** @param {number} v */
  const set = v => { range.value = String(sliderStep(knob, v)); show(v); };
  /** @param {boolean} done */
  const drag = done => { const v = valueAt(knob, Number(range.value)); show(v); change(v, done); };
  range.addEventListener('input', () => drag(false));
  range.addEventListener('change', () => drag(true));
  box.addEventListener('change', () => {
    let v = Number(box.value);
    if (!Number.isFinite(v) || box.value.trim() === '') return show(last);
    if (!(knob.zero && v === 0)) v = Math.min(Math.max(v, knob.lo), knob.hi);
    if (knob.kind === 'int') v = Math.round(v);
    set(v); change(v, true);
  });
  set(last);
  return {
    node: control(box, range),
    set: v => {
      last = v;
      const root = /** @type {Document | ShadowRoot} */ (box.getRootNode());
      if (root.activeElement !== range) set(v); // a slider that is being dragged is not moved
    },
  };
}

// Pictures side by side on one canvas, cells of 0 to 255.

class Mosaic {
  /** @param {string} name */
  constructor(name) {
    this.canvas = element('canvas', { class: 'picture', role: 'img', 'data-picture': name });
    this.native = document.createElement('canvas');
    this.key = '';
    this.rows = this.columns = this.across = this.down = this.size = 0;
    this.cells = new Uint8Array(0);
    this.image = new ImageData(1, 1);
  }

  /** The element that stands on the page. @returns {HTMLElement} */
  get frame() { return this.canvas; }

  /** @param {number} rows @param {number} columns @param {number} across @param {number} down */
  layout(rows, columns, across, down) {
    const key = [rows, columns, across, down].join();
    if (key === this.key) return;
    Object.assign(this, { key, rows, columns, across, down, size: rows * columns });
    this.cells = new Uint8Array(across * down * this.size);
    this.native.width = across * (columns + GAP) + GAP;
    this.native.height = down * (rows + GAP) + GAP;
    this.image = new ImageData(this.native.width, this.native.height);
    this.canvas.style.aspectRatio = `${this.native.width} / ${this.native.height}`;
  }

  get slots() { return this.across * this.down; }

  clear(value = 0) { this.cells.fill(value); }

  /**
   * Take a picture from a row of a block: one bit, or one byte, a pixel.
   * @param {number} slot
   * @param {Block} block
   * @param {number} row
   */
  put(slot, block, row) {
    const n = block.shape[1], at = slot * this.size;
    if (block.dtype === 'bits') unpackBits(block, row).forEach((bit, i) => { this.cells[at + i] = 255 * bit; });
    else this.cells.set(/** @type {Uint8Array} */ (block.data).subarray(row * n, (row + 1) * n), at);
  }

  /**
   * @param {Uint32Array} ink colour of each value
   * @param {number} gap colour between the cells
   * @param {{ slot: number, colour: string } | null} ring a cell that is framed
   */
  draw(ink, gap, ring) {
    const { rows, columns, across, down, cells } = this;
    const px = new Uint32Array(this.image.data.buffer), W = this.native.width;
    px.fill(gap);
    for (let slot = 0, k = 0; slot < across * down; slot++) {
      const corner = (Math.floor(slot / across) * (rows + GAP) + GAP) * W + (slot % across) * (columns + GAP) + GAP;
      for (let i = 0; i < rows; i++) for (let j = 0, o = corner + i * W; j < columns; j++, k++, o++) px[o] = ink[cells[k]];
    }
    context2d(this.native).putImageData(this.image, 0, 0);
    const x = fit(this.canvas, this.canvas.clientWidth * this.native.height / this.native.width);
    const scale = this.canvas.width / this.native.width;
    x.imageSmoothingEnabled = scale < 2;
    x.imageSmoothingQuality = 'high';
    x.drawImage(this.native, 0, 0, this.canvas.width, this.canvas.height);
    if (!ring) return;
    x.strokeStyle = ring.colour;
    x.lineWidth = Math.max(2, 1.5 * scale);
    x.strokeRect(((ring.slot % across) * (columns + GAP) + GAP / 2) * scale, (Math.floor(ring.slot / across) * (rows + GAP) + GAP / 2) * scale,
      (columns + GAP) * scale, (rows + GAP) * scale);
  }
}

/** @param {HTMLCanvasElement} canvas */
function context2d(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
}

/**
 * Give a canvas as many pixels as it covers on the screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height in CSS pixels
 */
function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, w = Math.round(canvas.clientWidth * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  return context2d(canvas);
}

/**
 * Draw on an empty canvas of this height in CSS pixels, with the font of the page.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height
 * @param {(x: CanvasRenderingContext2D, width: number) => void} paint
 */
function paintOn(canvas, height, paint) {
  const x = fit(canvas, height), width = canvas.clientWidth, ratio = canvas.width / Math.max(width, 1);
  x.setTransform(ratio, 0, 0, ratio, 0, 0);
  x.clearRect(0, 0, width, height);
  x.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  x.textAlign = 'left';
  paint(x, width);
  x.setTransform(1, 0, 0, 1, 0, 0);
}

/** @param {number[]} rgb @param {number} opacity from 0 to 1 */
const translucent = ([r, g, b], opacity) => `rgba(${r},${g},${b},${opacity})`;

/**
 * The frame of a panel: header, pictures, a strip, readouts, knobs. A page's own panel says what is in them.
 * The constructor only sets fields; build makes the elements, so that fields of a page's panel are set by then.
 * @abstract
 */
class Panel {
  /** What the steps of a run are called. @type {string} */
  unit = '';

  /** @param {PanelSpec} spec @param {Grid} grid */
  constructor(spec, grid) {
    this.spec = spec;
    this.grid = grid;
    this.key = spec.key;
    /** The newest head of this panel in a frame. @type {PanelHead | null} */
    this.head = null;
    /** @type {Record<string, ReadoutValue>} */
    this.readoutValues = {};
    /** @type {Record<string, { node: HTMLElement, set: (value: any) => void }>} */
    this.controls = {};
    /** @type {number | null} */
    this.startingSince = null;
    this.redrawTimer = 0;
    this.wordsShownAt = 0;
    this.strip = element('canvas', { class: 'strip', role: 'img' });
    this.note = element('div', { class: 'note', hidden: true });
    this.count = element('span', { class: 'count' });
    this.title = element('h3');
    this.readouts = new ReadoutList();
    this.knobs = element('div', { class: 'knobs' });
    this.words = element('p', { class: 'words', hidden: true });
    this.warning = element('p', { class: 'warning', role: 'status' });
    this.stage = element('div', { class: 'stage' });
    this.removeButton = element('button', { class: 'remove', type: 'button', title: 'Remove this panel', 'aria-label': `Remove ${spec.label}`,
      text: '×', onclick: () => grid.trigger('remove', { key: this.key }) });
    this.node = element('section', { class: 'panel', 'data-key': spec.key },
      element('header', {}, element('span', { class: 'swatch' }), this.title, helpButton(spec.about), this.count, this.removeButton),
      element('div', { class: 'body' }, this.stage, this.words, this.strip, this.readouts.node, this.warning, this.knobs));
  }

  /** Make the pictures and the knobs. */
  build() {
    this.stage.append(...this.makePictures(), this.note);
    /** @type {HTMLElement[]} */
    const front = [];
    /** @type {HTMLElement[]} */
    const more = [];
    for (const knob of this.spec.knobs) {
      const control = knobControl(knob, this.spec.values[knob.name], `knob-${this.key}-${knob.name}`,
        (value, done) => this.grid.tune(this.key, { [knob.name]: value }, knob.live, done));
      this.controls[knob.name] = control;
      (knob.front ? front : more).push(control.node);
    }
    this.knobs.replaceChildren(...front);
    if (more.length) this.knobs.append(element('details', {}, element('summary', { text: 'More knobs' }), ...more));
    this.configure(this.spec);
  }

  /** @param {PanelSpec} spec as the page knows it now */
  configure(spec) {
    this.spec = spec;
    const [, name, differs] = spec.label.match(/^(.*?)( \(.*)?$/) ?? [];
    this.title.replaceChildren(name ?? spec.label, element('span', { class: 'differs', text: differs ?? '' }));
    this.node.style.setProperty('--accent', spec.colour);
    this.readouts.declare(spec.readouts);
    for (const [name, value] of Object.entries(spec.values)) this.controls[name].set(value);
    this.arrange();
  }

  // What a page's own panel says

  /** Make the elements of the stage. @returns {HTMLElement[]} */
  makePictures() { return []; }

  /** Lay out pictures and strip for the page's data and this.spec. */
  arrange() {}

  /**
   * Take what is new.
   * @param {any} head the common entries of PanelHead, and those of this page
   * @param {PanelPart['blocks']} blocks
   * @param {boolean} isNewRun whether what was there belongs to another run
   */
  receive(head, blocks, isNewRun) {}

  /** Draw everything that is known. */
  drawPictures() {}

  /**
   * Show the words of one picture, the rarest first.
   * @param {Mosaic} mosaic
   * @param {number} slot
   */
  showWords(mosaic, slot) {
    const vocabulary = this.grid.data.vocabulary ?? [], now = performance.now();
    this.words.hidden = !vocabulary.length;
    if (!vocabulary.length || now - this.wordsShownAt < WORDS_MS) return;
    this.wordsShownAt = now;
    const on = vocabulary.filter(([, i]) => mosaic.cells[slot * mosaic.size + i] > 127).map(([word]) => word);
    this.words.textContent = on.length ? on.join(' ') : 'no word';
  }

  /** @param {PanelPart} part this panel's part of a frame */
  take({ head, blocks }) {
    const isNewRun = head.run !== this.head?.run;
    if (isNewRun) this.readoutValues = {};
    Object.assign(this.readoutValues, head.readouts);
    this.receive(head, blocks, isNewRun);
    this.head = head;
  }

  /** @param {PanelHead} head @returns {string} why there is nothing to see yet, or an empty text */
  reasonToWait({ status, rebuilt = 0 }) {
    if (status === 'rebuilding') return `Rebuilding after a lost connection: ${Math.floor(100 * rebuilt)} %. All steps are made again, and come out the same.`;
    if (status !== 'starting') {
      this.startingSince = null;
      return status === 'waiting' ? 'Ready: begins together with the others.' : '';
    }
    // Only compiling takes more than a moment before the first step.
    this.startingSince ??= performance.now();
    const seconds = Math.floor((performance.now() - this.startingSince) / 1000);
    clearTimeout(this.redrawTimer);
    this.redrawTimer = setTimeout(() => this.grid.draw(), 1000);
    return seconds < 2 ? 'Preparing.' : `Preparing: on a new machine the kernels are compiled once, in 20 seconds, or in a minute where it is busy. ${seconds} s so far.`;
  }

  draw() {
    const head = this.head;
    if (!head) return;
    this.drawPictures();
    this.node.dataset.n = String(head.n);
    this.node.dataset.status = head.status;
    this.count.textContent = whole.format(head.n);
    this.count.title = `${whole.format(head.n)} ${this.unit}`;
    this.readouts.draw(this.readoutValues);
    const failed = head.status === 'failed', note = failed ? head.error ?? '' : this.reasonToWait(head);
    this.note.hidden = !note;
    if (this.note.textContent !== note) this.note.textContent = note;
    this.warning.textContent = head.warning ?? '';
    this.note.classList.toggle('failed', failed);
  }
}

/** @typedef {new (spec: any, grid: Grid) => Panel} PanelClass */

/** All panels of a page, and the socket. */
class Grid {
  /** @param {HTMLElement} root @param {PageData} data @param {Trigger} trigger @param {PanelClass} PanelOfPage */
  constructor(root, data, trigger, PanelOfPage) {
    this.trigger = trigger;
    this.PanelOfPage = PanelOfPage;
    this.data = data;
    this.alive = true;
    this.frames = 0;
    this.askWhenShown = false;
    /** @type {Map<number, Panel>} */
    this.panels = new Map();
    this.probe = element('span', { class: 'probe', 'aria-hidden': 'true' });
    this.banner = element('div', { class: 'banner', role: 'status', hidden: true });
    this.host = element('div', { class: 'comparison' });
    root.append(this.banner, this.host, this.probe);
    /** @type {Record<string, number[]>} */
    this.colours = {};
    /** Of the theme: text and background, and the colours made of them. @type {number[]} */
    this.text = [];
    /** @type {number[]} */
    this.back = [];
    /** Colour of each value of a picture. @type {Uint32Array} */
    this.ink = new Uint32Array(256);
    /** The same for pictures of signed values. @type {Uint32Array} */
    this.signed = new Uint32Array(256);
    this.gap = 0;
    this.onShow = () => { if (!document.hidden && this.askWhenShown) this.askForFrame(); };
    document.addEventListener('visibilitychange', this.onShow);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.host);
    /** @type {WebSocket | null} */
    this.socket = null;
    this.configure(data);
    this.connect();
  }

  /** @param {PageData} data */
  configure(data) {
    const otherSession = data.url !== this.data.url;
    this.data = data;
    this.host.classList.toggle('present', data.present);
    for (const [key, panel] of this.panels) if (!data.panels.some(spec => spec.key === key)) { panel.node.remove(); this.panels.delete(key); }
    for (const spec of data.panels) {
      let panel = this.panels.get(spec.key);
      if (panel) panel.configure(spec);
      else {
        panel = new this.PanelOfPage(spec, this);
        this.panels.set(spec.key, panel);
        panel.build();
      }
      this.host.append(panel.node);
    }
    if (otherSession) this.socket?.close();
    this.draw();
  }

  /** @param {string} name @returns {number[]} red, green and blue */
  colour(name) {
    if (!(name in this.colours)) this.colours[name] = rgb(this.probe, name);
    return this.colours[name];
  }

  readTheme() {
    const text = rgb(this.probe, 'var(--st-text-color)'), paper = rgb(this.probe, 'var(--st-background-color)');
    if (text.join() === this.text.join() && paper.join() === this.back.join()) return;
    this.text = text;
    this.back = paper;
    /** @param {number} share */
    const mix = share => paper.map((from, c) => from + (text[c] - from) * share);
    this.ink = ramp(mix(0.05), mix(0.95));
    this.signed = diverging(rgb(this.probe, '#0072b2'), mix(0.05), rgb(this.probe, '#d55e00'));
    this.gap = ramp(paper, paper)[0];
  }

  draw() {
    if (!this.alive || !this.host.isConnected) return;
    this.readTheme();
    for (const panel of this.panels.values()) panel.draw();
  }

  connect() {
    if (!this.alive) return;
    const socket = this.socket = new WebSocket(location.origin.replace(/^http/, 'ws') + this.data.url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => { this.banner.hidden = true; this.askForFrame(); };
    socket.onmessage = event => requestAnimationFrame(() => { if (socket === this.socket && this.take(event.data)) this.askForFrame(); });
    socket.onclose = event => {
      if (!this.alive) return;
      if (event.code === UNKNOWN_TOKEN) return this.showBanner('This page belongs to a session that has ended: reload it.');
      this.showBanner('Connection lost: trying again.');
      setTimeout(() => this.connect(), RETRY_MS);
    };
  }

  /** @param {string} text */
  showBanner(text) {
    this.banner.textContent = text;
    this.banner.hidden = false;
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  // What this page can show now. The server starts over when it changes; a frame that answers an older request
  // says so and is dropped.
  get request() {
    const { fps, view, pixels, cells, n_visible } = this.data;
    return { fps, view, pixels, cells: cells * cells, n_visible, panels: [...this.panels.keys()] };
  }

  askForFrame() {
    this.askWhenShown = document.hidden;
    if (!this.askWhenShown) this.send(this.request);
  }

  /** @param {ArrayBuffer} buffer @returns {boolean} whether to ask for more */
  take(buffer) {
    let frame;
    try {
      frame = readFrame(buffer);
    } catch (error) {
      console.error(error);
      this.showBanner('The server sends pictures that this page cannot read: reload it.');
      return false;
    }
    if (JSON.stringify(frame.request) !== JSON.stringify(this.request)) return true;
    for (const part of frame.panels) this.panels.get(part.head.key)?.take(part);
    this.frames++;
    this.host.dataset.frames = String(this.frames);
    this.draw();
    return true;
  }

  /**
   * Change knobs of a panel. A knob that is not live begins the run anew: once, when it is let go.
   * @param {number} key
   * @param {Record<string, KnobValue>} knobs
   * @param {boolean} live
   * @param {boolean} done
   */
  tune(key, knobs, live, done) {
    if (live) this.send({ tune: key, knobs });
    if (done) this.trigger('edit', { key, knobs });
  }

  close() {
    this.alive = false;
    document.removeEventListener('visibilitychange', this.onShow);
    this.resized.disconnect();
    this.socket?.close();
  }
}

/**
 * Draw a page's panels. Streamlit calls a component at its first mount and on each change of data.
 * @param {PanelClass} PanelOfPage
 * @param {Component} component
 * @returns {() => void} what to do when the component goes
 */
function mount(PanelOfPage, { data, parentElement, setTriggerValue }) {
  const grid = parentElement.rbmviz;
  if (grid) {
    grid.trigger = setTriggerValue;
    grid.configure(data);
  } else {
    parentElement.rbmviz = new Grid(parentElement, data, setTriggerValue, PanelOfPage);
  }
  return () => {
    parentElement.rbmviz?.close();
    parentElement.rbmviz = null;
    parentElement.replaceChildren();
  };
}
