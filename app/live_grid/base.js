// What the live panels of all pages have in common: knobs, mosaics, the frame of a panel, the socket.
// The server sends only what is new; everything shown is kept here and drawn whole, so that a new theme
// or size needs no new data. Layout of a frame: see live.py and wire.py.

const UNKNOWN = 4403; // close code: this page's session is over
const RETRY_MS = 500;
const GAP = 2; // pixels of the picture between two cells

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

const round3 = x => (x === 0 ? '0' : String(Number(x.toPrecision(3))));
const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

// Colours

function rgb(node, colour) {
  node.style.color = colour;
  return getComputedStyle(node).color.match(/[\d.]+/g).slice(0, 3).map(Number);
}

function ramp(from, to) {
  const table = new Uint32Array(256), bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < 256; i++) {
    for (let c = 0; c < 3; c++) bytes[4 * i + c] = from[c] + (to[c] - from[c]) * i / 255;
    bytes[4 * i + 3] = 255;
  }
  return table;
}

function diverging(low, middle, high) {
  const table = new Uint32Array(256);
  const down = ramp(low, middle), up = ramp(middle, high);
  for (let i = 0; i < 256; i++) table[i] = i < 128 ? down[2 * i] : up[Math.min(2 * (i - 128), 255)];
  return table;
}

// Knobs

// A range input has 1000 steps; a log knob spends them on decades, and step 0 on 0 where 0 is allowed.
const STEPS = 1000;

function position(knob, value) {
  if (knob.scale !== 'log') return STEPS * (value - knob.lo) / (knob.hi - knob.lo);
  if (value === 0) return 0;
  const first = knob.zero ? 20 : 0;
  return first + (STEPS - first) * Math.log(value / knob.lo) / Math.log(knob.hi / knob.lo);
}

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

function helpButton(text) {
  return element('button', { class: 'help', type: 'button', 'aria-label': `Help: ${text}`, text: '?' },
    element('span', { class: 'tip', 'aria-hidden': 'true', text }));
}

function knobControl(knob, value, id, change) {
  // change(value, done): while dragging done is false.
  const help = helpButton(`${knob.help} Range: ${knob.range}.`);
  const label = element('label', { for: id, text: knob.label });
  if (knob.kind === 'str') {
    const select = element('select', { id, onchange: () => change(select.value, true) },
      ...knob.choices.map(choice => element('option', { value: choice, text: choice })));
    select.value = value;
    return { node: element('div', { class: 'knob' }, element('div', { class: 'row' }, label, help, select)),
             set: v => { select.value = v; } };
  }
  if (knob.kind === 'bool') {
    const box = element('input', { id, type: 'checkbox', onchange: () => change(box.checked, true) });
    box.checked = value;
    return { node: element('div', { class: 'knob' }, element('div', { class: 'row' }, label, help, box)), set: v => { box.checked = v; } };
  }
  const box = element('input', { class: 'value', type: 'text', inputmode: 'decimal', 'aria-label': `${knob.label}, value` });
  const range = element('input', { id, type: 'range', min: 0, max: STEPS, step: 1 });
  const show = v => {
    box.value = round3(v);
    range.setAttribute('aria-valuetext', round3(v));
    range.style.setProperty('--fill', `${100 * range.value / STEPS}%`);
  };
  const set = v => { range.value = position(knob, v); show(v); };
  const drag = done => { const v = valueAt(knob, Number(range.value)); show(v); change(v, done); };
  range.addEventListener('input', () => drag(false));
  range.addEventListener('change', () => drag(true));
  let last = value;
  box.addEventListener('change', () => {
    let v = Number(box.value);
    if (!Number.isFinite(v) || box.value.trim() === '') return show(last);
    if (!(knob.zero && v === 0)) v = Math.min(Math.max(v, knob.lo), knob.hi);
    if (knob.kind === 'int') v = Math.round(v);
    set(v); change(v, true);
  });
  set(value);
  return { node: element('div', { class: 'knob' }, element('div', { class: 'row' }, label, help, box), range),
           // A knob under the hand is not moved by what the server last heard.
           set: v => { last = v; if (box.getRootNode().activeElement !== range) set(v); } };
}

// Pictures side by side on one canvas, cells of 0 to 255.

class Mosaic {
  constructor(name) {
    this.canvas = element('canvas', { class: 'picture', role: 'img', 'data-picture': name });
    this.native = document.createElement('canvas');
  }

  layout(rows, columns, across, down) {
    const layout = [rows, columns, across, down].join();
    if (layout === this.key) return;
    this.key = layout;
    Object.assign(this, { rows, columns, across, down, size: rows * columns });
    this.cells = new Uint8Array(across * down * this.size);
    this.native.width = across * (columns + GAP) + GAP;
    this.native.height = down * (rows + GAP) + GAP;
    this.image = new ImageData(this.native.width, this.native.height);
    this.canvas.style.aspectRatio = `${this.native.width} / ${this.native.height}`;
  }

  get slots() { return this.across * this.down; }

  clear(value = 0) { this.cells.fill(value); }

  // A picture of D pixels, one bit each or one byte each.
  putBits(slot, bytes, from, D) { for (let i = 0; i < D; i++) this.cells[slot * this.size + i] = 255 * ((bytes[from + (i >> 3)] >> (7 - (i & 7))) & 1); }
  putBytes(slot, bytes, from, D) { this.cells.set(bytes.subarray(from, from + D), slot * this.size); }

  // ink: colour of each value; ring: {slot, colour} to frame, or null.
  draw(ink, gap, ring) {
    const { rows, columns, across, down, cells } = this;
    const px = new Uint32Array(this.image.data.buffer), W = this.native.width;
    px.fill(gap);
    for (let slot = 0, k = 0; slot < across * down; slot++) {
      const corner = (Math.floor(slot / across) * (rows + GAP) + GAP) * W + (slot % across) * (columns + GAP) + GAP;
      for (let i = 0; i < rows; i++) for (let j = 0, o = corner + i * W; j < columns; j++, k++, o++) px[o] = ink[cells[k]];
    }
    this.native.getContext('2d').putImageData(this.image, 0, 0);
    const width = this.canvas.clientWidth, x = fit(this.canvas, width * this.native.height / this.native.width);
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

function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, w = Math.round(canvas.clientWidth * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  return canvas.getContext('2d');
}

// The frame of a panel: header, pictures, a strip, numbers, knobs. A page's own panel says what is in them:
// pictures (Mosaics), numbers(spec) -> [[name, label, help]], arrange(), takeNews(head, bytes, at) -> offset,
// drawNews(), number(name) -> text, preparing.

class Panel {
  constructor(spec, grid) {
    this.grid = grid;
    this.key = spec.key;
    this.run = -1;
    this.state = null;
    this.strip = element('canvas', { class: 'strip', role: 'img' });
    this.note = element('div', { class: 'note', hidden: true });
    this.count = element('span', { class: 'count' });
    this.title = element('h3');
    this.numbers = element('dl', { class: 'numbers' });
    this.knobs = element('div', { class: 'knobs' });
    this.words = element('p', { class: 'words', hidden: true });
    this.warning = element('p', { class: 'warning', role: 'status' });
    this.pictures = this.makePictures();
    this.node = element('section', { class: 'panel', 'data-key': spec.key },
      element('header', {}, element('span', { class: 'swatch' }), this.title, helpButton(spec.about), this.count,
        element('button', { class: 'remove', type: 'button', title: 'Remove this panel', 'aria-label': `Remove ${spec.label}`,
          text: '×', onclick: () => grid.trigger('remove', { key: this.key }) })),
      element('div', { class: 'body' }, element('div', { class: 'stage' }, ...this.pictures.map(picture => picture.frame ?? picture.canvas), this.note),
        this.words, this.strip, this.numbers, this.warning, this.knobs));
    this.configure(spec, true);
  }

  configure(spec, fresh) {
    this.spec = spec;
    const [, name, differs] = spec.label.match(/^(.*?)( \(.*)?$/);
    this.title.replaceChildren(name, element('span', { class: 'differs', text: differs ?? '' }));
    this.node.style.setProperty('--accent', spec.colour);
    if (fresh) {
      this.values = {};
      for (const [name, label, help] of this.listNumbers()) {
        this.values[name] = element('dd', { 'data-number': name, text: '–' });
        this.numbers.append(element('div', { title: help }, element('dt', { text: label }), this.values[name]));
      }
      this.controls = {};
      const nodes = { true: [], false: [] };
      for (const knob of spec.knobs) {
        const control = knobControl(knob, spec.values[knob.name], `knob-${this.key}-${knob.name}`,
          (value, done) => this.grid.tune(this.key, { [knob.name]: value }, knob.live, done));
        this.controls[knob.name] = control;
        nodes[knob.front].push(control.node);
      }
      this.knobs.replaceChildren(...nodes.true);
      if (nodes.false.length) this.knobs.append(element('details', {}, element('summary', { text: 'More knobs' }), ...nodes.false));
    } else for (const [name, value] of Object.entries(spec.values)) this.controls[name].set(value);
    this.arrange();
  }

  // The words of one picture, the rarest first; at most once a second, for more could not be read.
  tellWords(mosaic, slot) {
    const words = this.grid.cfg.vocabulary, now = performance.now();
    this.words.hidden = !words.length;
    if (!words.length || now - (this.told || 0) < 1000) return;
    this.told = now;
    const on = words.filter(([, i]) => mosaic.cells[slot * mosaic.size + i] > 127).map(([word]) => word);
    this.words.textContent = on.length ? on.join(' ') : 'no word';
  }

  // Take one panel's part of a frame; returns the offset behind it.
  take(head, bytes, at) {
    const anew = head.run !== this.run;
    this.run = head.run;
    at = this.takeNews(head, bytes, at, anew);
    this.state = head;
    return at;
  }

  // Only compiling takes more than a moment before the first step.
  waitingFor(status) {
    if (status === 'rebuilding') return `Rebuilding after a lost connection: ${Math.floor(100 * this.state.rebuilt)} %. All steps are made again, and come out the same.`;
    if (status !== 'starting') {
      this.since = null;
      return status === 'waiting' ? 'Ready: begins together with the others.' : '';
    }
    this.since ??= performance.now();
    const seconds = Math.floor((performance.now() - this.since) / 1000);
    clearTimeout(this.tick);
    this.tick = setTimeout(() => this.grid.draw(), 1000);
    return seconds < 2 ? 'Preparing.' : `Preparing: on a new machine the kernels are compiled once, in 20 seconds, or in a minute where it is busy. ${seconds} s so far.`;
  }

  draw() {
    const p = this.state;
    if (!p) return;
    this.drawNews();
    this.node.dataset.n = p.n;
    this.node.dataset.status = p.status;
    this.count.textContent = whole.format(p.n);
    this.count.title = `${whole.format(p.n)} ${this.unit}`;
    for (const name of Object.keys(this.values)) this.values[name].textContent = this.number(name, p);
    const note = p.status === 'failed' ? p.error : this.waitingFor(p.status);
    this.note.hidden = !note;
    if (this.note.textContent !== note) this.note.textContent = note;
    this.warning.textContent = p.warning || '';
    this.note.classList.toggle('failed', p.status === 'failed');
  }
}

// All panels, and the socket

class Grid {
  constructor(root, cfg, trigger, PanelOfPage) {
    this.trigger = trigger;
    this.PanelOfPage = PanelOfPage;
    this.cfg = cfg;
    this.alive = true;
    this.panels = new Map();
    this.probe = element('span', { class: 'probe', 'aria-hidden': 'true' });
    this.banner = element('div', { class: 'banner', role: 'status', hidden: true });
    this.host = element('div', { class: 'comparison' });
    root.append(this.banner, this.host, this.probe);
    this.colours = {};
    this.onShow = () => { if (!document.hidden && this.owed) this.ask(); };
    document.addEventListener('visibilitychange', this.onShow);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.host);
    this.configure(cfg);
    this.connect();
  }

  configure(cfg) {
    const elsewhere = cfg.url !== this.cfg.url;
    this.cfg = cfg;
    this.host.classList.toggle('present', cfg.present);
    for (const [key, panel] of this.panels) if (!cfg.panels.some(spec => spec.key === key)) { panel.node.remove(); this.panels.delete(key); }
    for (const spec of cfg.panels) {
      const panel = this.panels.get(spec.key);
      if (panel) panel.configure(spec, false);
      else this.panels.set(spec.key, new this.PanelOfPage(spec, this));
      this.host.append(this.panels.get(spec.key).node);
    }
    if (elsewhere) this.socket.close();
    this.draw();
  }

  colour(name) {
    if (!(name in this.colours)) this.colours[name] = rgb(this.probe, name);
    return this.colours[name];
  }

  theme() {
    const text = rgb(this.probe, 'var(--st-text-color)'), paper = rgb(this.probe, 'var(--st-background-color)');
    if (this.text && text.join() === this.text.join() && paper.join() === this.back.join()) return;
    this.text = text;
    this.back = paper;
    const mix = share => paper.map((from, c) => from + (text[c] - from) * share);
    this.ink = ramp(mix(0.05), mix(0.95));
    this.signed = diverging(rgb(this.probe, '#0072b2'), mix(0.05), rgb(this.probe, '#d55e00'));
    this.gap = ramp(paper, paper)[0];
  }

  draw() {
    if (!this.alive || !this.host.isConnected) return;
    this.theme();
    for (const panel of this.panels.values()) panel.draw();
  }

  connect() {
    if (!this.alive) return;
    const socket = this.socket = new WebSocket(location.origin.replace(/^http/, 'ws') + this.cfg.url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => { this.banner.hidden = true; this.ask(); };
    socket.onmessage = event => requestAnimationFrame(() => { if (socket === this.socket) { this.take(event.data); this.ask(); } });
    socket.onclose = event => {
      if (!this.alive) return;
      if (event.code === UNKNOWN) return this.say('This page belongs to a session that has ended: reload it.');
      this.say('Connection lost: trying again.');
      setTimeout(() => this.connect(), RETRY_MS);
    };
  }

  say(text) {
    this.banner.textContent = text;
    this.banner.hidden = false;
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  // What this page can show now. The server starts over when it changes; a frame made for an older wish
  // says so and is dropped.
  get wish() {
    const { fps, view, pixels, cells, n_visible } = this.cfg;
    return { fps, view, pixels, cells: cells * cells, n_visible, panels: [...this.panels.keys()] };
  }

  ask() {
    this.owed = document.hidden;
    if (!this.owed) this.send(this.wish);
  }

  take(buffer) {
    const bytes = new Uint8Array(buffer), length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    if (JSON.stringify(header.wish) !== JSON.stringify(this.wish)) return;
    let at = 4 + length;
    for (const head of header.panels) at = this.panels.get(head.key).take(head, bytes, at);
    this.frames = (this.frames || 0) + 1;
    this.host.dataset.frames = this.frames;
    this.draw();
  }

  // A knob that is not live begins the run anew: once, where the hand lets go of it.
  tune(key, knobs, live, done) {
    if (live) this.send({ tune: key, knobs });
    if (done) this.trigger('edit', { key, knobs });
  }

  close() {
    this.alive = false;
    document.removeEventListener('visibilitychange', this.onShow);
    this.resized.disconnect();
    this.socket.close();
  }
}

// Streamlit calls this at the first mount and on each change of data.
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
