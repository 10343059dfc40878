// @ts-check
// The common part of the pages: the frame of a panel, and the grid of all panels with its socket. The server sends only
// new data. This script keeps all displayed data and redraws everything, so that a new theme or size needs no new data.

/**
 * @typedef {object} PanelSpec
 * @property {number} key
 * @property {string} label
 * @property {[string, string]} [head] the name, and the knobs in which it differs from others, as short as heads are; by default, the label
 * @property {Prose} about
 * @property {string[]} equation the formulas that define the algorithm, as MathML
 * @property {string} colour
 * @property {number[]} dash dash pattern of its curve in the charts: pixels of line and gap
 * @property {KnobSpec[]} knobs
 * @property {Record<string, KnobValue>} values
 * @property {MultipleSpec[]} multiples
 * @property {ReadoutSpec[]} readouts
 */

/**
 * A menu entry of a panel: add panels with other values of a knob, or replace all others by them.
 * @typedef {{ text: string, knob: string, values: number[], instead: boolean }} MultipleSpec
 */

/**
 * Data from Python for a page's canvas (Canvas.mount); each page adds entries for its own panel.js.
 * @typedef {object} PageData
 * @property {string} url
 * @property {number} fps
 * @property {string} view
 * @property {string} pixels
 * @property {number} side rows and columns of the square of pictures in a panel
 * @property {number} n_visible
 * @property {[number, number]} shape
 * @property {boolean} present
 * @property {number} [usual_side] the default side, which is smaller on a phone and with many panels
 * @property {string[]} present_knobs names of the knobs to keep while presenting or embedded; if no panel has any of them while presenting, the first knob of each panel stays
 * @property {boolean} embedded whether the page is embedded in another one, with few controls
 * @property {boolean} reduced_motion whether the server knows that this browser prefers less motion
 * @property {number} taken number of the newest event that the page has taken; see Grid.tell
 * @property {PanelSpec[]} panels
 * @property {boolean} [knobs_follow] whether knobs of a panel can also be turned by something other than their controls
 * @property {string} [recorded] address of an animation of these panels
 * @property {[string, number][]} [vocabulary] words and their pixels, rarest first
 */

/** @typedef {(name: string, value: unknown) => void} Trigger */
/** @typedef {{ data: any, parentElement: any, setTriggerValue: Trigger }} Component the argument with which Streamlit calls a script */

const UNKNOWN_TOKEN = 4403; // close code: this page's session has ended
const RETRY_MS = 500;
const FRAMES_ASKED = 4; // number of frames per request; the next request is sent when half of them have arrived
const TURN_MS = 16; // minimum time between sent values during a drag: a pointer may move more often than pictures arrive
const EDIT_MS = 200; // minimum time between reports of turned knobs: a held key turns a knob thirty times a second
const RESEND_MS = 3000; // after this time, events that the page has not taken are sent again
const WORDS_MS = 1000; // minimum time between changes of words: faster changes would be unreadable
const ANNOUNCE_MS = 2000; // minimum time between changes of the text read aloud
const PAUSED_MS = 500; // a pause that lasts at least this long is deliberate
const SHORT_FROM = 10000; // counts from here on are written as 42.6k
const NARROW = 640; // pixels: windows up to this width show one panel, with few large pictures
const FEW_PANELS = 4, MOST_COLUMNS = 6; // up to FEW_PANELS panels share a row; with more, a row has MOST_COLUMNS columns; see style.css

/** Words for the compilation of kernels. @param {[number, number]} jobs done, and of how many @returns {string} */
function compiling([done, all]) { return `Compiles once, about 20 s${all ? `: ${done} of ${all} done` : ''}`; }

/** @param {number[]} dash pixels of line and gap @returns {string} the line as a CSS background */
function dashed(dash) {
  let end = 0;
  const stops = dash.map((length, i) => `${i % 2 ? 'transparent' : 'var(--accent)'} ${end}px ${end += length}px`);
  return stops.length ? `repeating-linear-gradient(90deg, ${stops.join(', ')})` : 'var(--accent)';
}

/**
 * Return a function that passes on the newest value of each knob, at most once per interval.
 * @param {number} ms
 * @param {(panel: number, knobs: Record<string, KnobValue>) => void} hand
 * @returns {((panel: number, knobs: Record<string, KnobValue>) => void) & { waiting: Map<number, Record<string, KnobValue>> }} the function, with the values not passed on yet
 */
function spaced(ms, hand) {
  /** @type {Map<number, Record<string, KnobValue>>} */
  const waiting = new Map();
  const next = paced(ms, () => {
    for (const [panel, knobs] of waiting) {
      waiting.delete(panel);
      hand(panel, knobs);
    }
  });
  return Object.assign((/** @type {number} */ panel, /** @type {Record<string, KnobValue>} */ knobs) => {
    waiting.set(panel, { ...waiting.get(panel), ...knobs });
    next();
  }, { waiting });
}

/**
 * The common parts of all panels: header, pictures, a strip below them, readouts, knobs, and a fold with everything else.
 * A page's own panel fills them.
 * The constructor creates the common parts. build creates pictures and knobs later, when the fields of a page's own
 * panel are set.
 * @abstract
 */
class Panel {
  /** Width of the panel, in columns of pictures. */
  static columns = 1;
  /** Name of the steps of a run. @type {string} */
  unit = '';
  /** After the number of steps; others have it in the tip only. */
  counted = '';
  /** Names of head entries that are sentences for the fold, such as the point of the scores or the last turn of a knob. @type {string[]} */
  sentences = [];
  /** Whether the pictures show the start of the run. */
  showsStart = false;
  /** Number of knobs that are always visible. */
  mostFront = innerWidth > NARROW ? 2 : 1;

  /** @param {PanelSpec} spec @param {Grid} grid */
  constructor(spec, grid) {
    this.spec = spec;
    this.grid = grid;
    this.key = spec.key;
    /** Whether the panel shows a run, which can be paused and repeated. */
    this.isRun = true;
    /** This panel's head in the newest frame. @type {PanelHead | null} */
    this.head = null;
    /** @type {Record<string, ReadoutValue>} */
    this.readoutValues = {};
    /** @type {Record<string, ReturnType<typeof knobControl>>} */
    this.controls = {};
    /** Time at which preparation of the run began, by performance.now(). @type {number | null} */
    this.startingSince = null;
    this.redrawTimer = 0;
    this.writeWords = paced(WORDS_MS, (/** @type {Mosaic} */ mosaic, /** @type {number} */ slot) => {
      const on = this.vocabulary.filter(([, i]) => mosaic.cells[slot * mosaic.size + i] > 127).map(([word]) => word);
      this.words.textContent = on.length ? on.join(' ') : 'no word';
    });
    this.announce = paced(ANNOUNCE_MS, () => this.speak());
    // An invisible description of the pictures for screen readers.
    this.spoken = element('p', { class: 'spoken', id: `said-${spec.key}`, 'aria-live': 'off' });
    // A low canvas below the pictures, for changes over time.
    this.strip = element('canvas', { class: 'strip', role: 'img' });
    // A note over the pictures: why there are none yet, or the failure.
    this.note = element('div', { class: 'note', hidden: true });
    this.count = element('span', { class: 'count' });
    this.title = element('h3', { 'aria-level': 2 }); // a level-2 heading below the page's h1, in the size of an h3
    this.readouts = new ReadoutList();
    this.knobs = element('div', { class: 'knobs' });
    this.moreKnobs = element('div', { class: 'knobs' });
    this.equation = new Equation();
    // For models of texts, the words of the newest sample.
    this.words = element('p', { class: 'words', hidden: true });
    this.warningText = element('span');
    this.warning = element('p', { class: 'warning', role: 'status' }, this.warningText);
    // In a corner of the chains' starts: the kernels are being compiled.
    this.mark = element('p', { class: 'mark', hidden: true });
    // The container of the pictures.
    this.stage = element('div', { class: 'stage' });
    this.removeButton = element('button', { class: 'remove', type: 'button', 'aria-label': `Remove ${spec.label}`,
      text: 'Remove', onclick: () => grid.tell('remove', { key: this.key }) });
    this.menuButton = element('button', { class: 'menu', type: 'button', text: 'More like this' });
    this.menu = explain(this.menuButton, 'More like this');
    this.tools = element('div', { class: 'tools' }, ...helpButton(spec.label, spec.about), this.menuButton, this.menu, this.removeButton);
    // Everything that is not needed at first sight; opening this fold moves no knob.
    this.more = element('details', { class: 'more', ontoggle: () => grid.openAll(this.more.open) },
      element('summary', { text: 'More', 'aria-label': `More: ${spec.label}` }), this.tools, this.readouts.more);
    this.node = element('section', { class: 'panel', 'data-key': spec.key },
      element('header', {}, element('span', { class: 'swatch' }), this.title, this.count),
      element('div', { class: 'body' }, this.stage, this.spoken, this.words, this.strip, this.readouts.lead, this.knobs, this.more));
  }

  /** Create the pictures and the knobs. */
  build() {
    this.stage.append(...this.makePictures(), this.note, this.mark, this.warning);
    for (const canvas of this.node.querySelectorAll('canvas')) canvas.setAttribute('aria-describedby', this.spoken.id);
    this.grid.loupe.watch(this);
    for (const knob of this.spec.knobs) {
      const control = knobControl(knob, this.spec.values[knob.name], `knob-${this.key}-${knob.name}`,
        (value, done) => this.grid.changeKnobs(this.key, { [knob.name]: value }, knob.live, done));
      this.controls[knob.name] = control;
      markTerms(control.node, knob.name, this.equation.formulas);
    }
    this.tools.after(...this.sentences.map(name => element('p', { class: `standing ${name}` })));
    this.more.append(this.moreKnobs, this.equation.node);
    this.configure(this.spec);
  }

  /** @param {PanelSpec} spec with the page's current values */
  configure(spec) {
    this.spec = spec;
    const [name, differs] = spec.head ?? [spec.label, ''];
    this.title.replaceChildren(element('span', { text: name }), element('span', { class: 'differs', text: differs && ` ${differs}` }));
    this.title.title = spec.label;
    this.node.style.setProperty('--accent', spec.colour);
    this.node.style.setProperty('--dash', dashed(spec.dash));
    this.readouts.declare(spec.readouts);
    this.equation.declare(spec.equation, this.controls);
    this.configureMenu();
    for (const [name, value] of Object.entries(spec.values)) this.setKnob(name, value);
    for (const { name, label } of spec.knobs) this.controls[name].relabel(label);
    const { present_knobs } = this.grid.data;
    const stay = spec.knobs.filter(({ name }) => present_knobs.includes(name)).map(({ name }) => name);
    const chosenHere = this.grid.data.panels.some(panel => panel.knobs.some(({ name }) => present_knobs.includes(name)));
    if (!chosenHere && spec.knobs.length) stay.push((spec.knobs.find(({ front }) => front) ?? spec.knobs[0]).name);
    const front = spec.knobs.filter(knob => knob.front).slice(0, this.mostFront).map(({ name }) => name);
    for (const { name } of spec.knobs) {
      const { node } = this.controls[name], place = front.includes(name) || present_knobs.includes(name) ? this.knobs : this.moreKnobs;
      node.classList.toggle('stays', stay.includes(name));
      if (node.parentElement !== place) place.append(node);
    }
    this.arrange();
  }

  /** Set a control to the server's value, unless the visitor's value is newer. @param {string} name @param {KnobValue} value */
  setKnob(name, value) { if (!this.grid.isTurning(this.key, name)) this.controls[name]?.set(value); }

  configureMenu() {
    const { label, multiples } = this.spec;
    this.menuButton.hidden = !multiples.length;
    this.menuButton.setAttribute('aria-label', `More like this: ${label}`);
    this.menu.replaceChildren(element('h4', { text: 'Panels like this one' }), ...multiples.map(({ text, knob, values, instead }) =>
      element('button', { class: 'choice', type: 'button', text, onclick: () => {
        this.menu.hidePopover();
        this.grid.tell('multiply', { key: this.key, knob, values, instead });
      } })));
  }

  // Methods that a page's panel may override

  /** Create the elements of the stage. @returns {HTMLElement[]} */
  makePictures() { return []; }

  /** Lay out pictures and strip for the page's data and this.spec. */
  arrange() {}

  /**
   * Store the new data of a frame; drawPictures draws it. An entry missing from a frame keeps its previous value until
   * a frame has readouts, so one-time events belong in a block, or must be null in all other frames. The same data may
   * arrive again with isNewRun false, such as after a reconnect, so replace stored data instead of appending.
   * @param {any} head the common entries of PanelHead, and this page's own
   * @param {PanelPart['blocks']} blocks
   * @param {boolean} isNewRun whether the earlier data belong to another run
   */
  receive(head, blocks, isNewRun) {}

  /** Draw all data received so far. */
  drawPictures() {}

  /**
   * Show the words of one picture, rarest first.
   * @param {Mosaic} mosaic
   * @param {number} slot
   */
  showWords(mosaic, slot) {
    this.words.hidden = !this.vocabulary.length;
    if (this.vocabulary.length) this.writeWords(mosaic, slot);
  }

  get vocabulary() { return this.grid.data.vocabulary ?? []; }

  /** The mosaics whose pictures can be shown large. @returns {Mosaic[]} */
  get tiles() { return []; }

  /** The cell of the first mosaic that has the newest sample; -1: none. */
  get newestSlot() { return -1; }

  /** @param {Mosaic} mosaic @param {number} slot @returns {number} number of the sample in a cell; -1 if it has none */
  sampleAt(mosaic, slot) { return -1; }

  /** @param {Mosaic} mosaic @param {number} slot @param {number} sample @param {Tile | null} tile @returns {{ title: string, line: string }} what there is to say about a picture */
  tileText(mosaic, slot, sample, tile) { return { title: mosaic.canvas.ariaLabel ?? '', line: '' }; }

  /** Whether a lesson hides what would answer its question. */
  get isBlind() { return 'asks' in this.node.dataset || 'blind' in this.node.dataset; }

  /** The progress of the run, in words. @param {PanelHead} head @returns {string} */
  progressOf(head) { return `${whole.format(head.n)} ${this.unit}, ${head.status}`; }

  /** Description of the pictures, without the numbers, for readers who cannot see them. @returns {string} */
  describe() { return ''; }

  // Write the description of the pictures for screen readers. It is spoken only if the focus is in this panel or the run
  // makes no steps: four panels speaking every two seconds would drown out everything else.
  speak() {
    const { head } = this;
    if (!head) return;
    const numbers = this.readouts.shown.filter(({ spec, text }) => spec.lead && text !== '–').map(({ spec, text }) => `${spec.label} ${text}.`);
    const text = [`${this.spec.label}, ${this.progressOf(head)}.`, this.describe(), ...numbers].filter(part => part).join(' ');
    if (text === this.spoken.textContent) return;
    const focused = /** @type {Document | ShadowRoot} */ (this.node.getRootNode()).activeElement;
    this.spoken.setAttribute('aria-live', head.status !== 'running' || this.node.contains(focused) ? 'polite' : 'off');
    this.spoken.textContent = text;
  }

  /** Store the new data of a frame; draw draws it. @param {PanelPart} part this panel's part of the frame */
  readPart({ head, blocks }) {
    if (!head.readouts && this.head) head = { ...this.head, ...head };
    const isNewRun = head.run !== this.head?.run;
    if (isNewRun) this.readoutValues = {};
    Object.assign(this.readoutValues, head.readouts);
    this.receive(head, blocks, isNewRun);
    // If something else turned a knob, such as the pointer on a map, the control follows.
    const before = this.grid.data.knobs_follow ? this.head?.knobs : undefined;
    if (before) for (const [name, value] of Object.entries(head.knobs ?? {})) if (before[name] !== value) this.setKnob(name, value);
    this.head = head;
  }

  /** @param {string} text */
  setWarning(text) {
    if (this.warningText.textContent === text) return;
    this.warningText.textContent = text;
    // Text too long for its space opens over the part below.
    if (text) this.warning.tabIndex = 0;
    else this.warning.removeAttribute('tabindex');
  }

  /** @param {PanelHead} head @returns {string} the reason why there is nothing to see yet, or '' */
  reasonToWait({ status, rebuilt = 0, compiling: jobs }) {
    if (status === 'rebuilding') return `Rebuilding after a lost connection: ${Math.floor(100 * rebuilt)} %. All steps are repeated exactly.`;
    if (status !== 'starting') {
      this.startingSince = null;
      return status === 'waiting' ? 'Ready: begins together with the others.' : '';
    }
    // Before the first step, only compiling takes a long time.
    this.startingSince ??= performance.now();
    const seconds = Math.floor((performance.now() - this.startingSince) / 1000);
    clearTimeout(this.redrawTimer);
    this.redrawTimer = setTimeout(() => this.grid.draw(), 1000);
    if (jobs) return this.showsStart ? '' : compiling(jobs);
    return seconds < 2 ? 'Preparing.' : `Preparing: ${seconds} s so far.`;
  }

  draw() {
    const head = this.head;
    this.drawPictures(); // even before the first frame, so that the strip has its height when the frame arrives
    if (!head) return;
    for (const name of this.sentences) {
      const line = /** @type {HTMLElement} */ (this.more.querySelector(`.${name}`));
      put(line, /** @type {any} */ (head)[name] ?? '');
      line.title = line.textContent; // the text may need more lines than there are
    }
    this.node.dataset.n = String(head.n);
    this.node.dataset.status = head.status;
    this.count.textContent = `${head.n < SHORT_FROM ? whole.format(head.n) : short.format(head.n).toLowerCase()}${this.counted}`;
    this.count.title = `${whole.format(head.n)} ${this.unit}`;
    this.readouts.draw(this.readoutValues, head.status === 'running');
    const failed = head.status === 'failed', note = failed ? head.error ?? '' : this.reasonToWait(head);
    const mark = head.status === 'starting' && head.compiling && this.showsStart ? compiling(head.compiling) : '';
    this.mark.hidden = !mark;
    put(this.mark, mark);
    this.note.hidden = !note;
    put(this.note, note);
    this.setWarning(head.warning ?? '');
    this.announce();
    this.note.classList.toggle('failed', failed);
  }
}

/** @typedef {(new (spec: any, grid: Grid) => Panel) & { columns: number }} PanelClass */

/** All panels of a page, and the socket that delivers their frames. */
class Grid {
  /** @param {HTMLElement} root @param {PageData} data @param {Trigger} trigger @param {PanelClass} PanelOfPage */
  constructor(root, data, trigger, PanelOfPage) {
    this.trigger = trigger;
    /** Events that the page has not taken yet, oldest first: number, name and value. @type {[number, string, unknown][]} */
    this.events = [];
    this.resendTimer = 0;
    this.PanelOfPage = PanelOfPage;
    this.data = data;
    this.alive = true;
    /** Number of frames shown; tests read this number. */
    this.frames = 0;
    /** Whether a frame was due while the page was hidden. */
    this.askWhenShown = false;
    /** The newest request sent, and the number of its frames that have not arrived. */
    this.asked = '';
    this.toCome = 0;
    this.pauseTimer = 0;
    this.turnKnobs = spaced(TURN_MS, (panel, knobs) => this.send({ panel, knobs }));
    this.tellPage = spaced(EDIT_MS, (key, knobs) => { if (this.alive) this.tell('edit', { key, knobs }); });
    /** Whether the page was just opened, and may repeat the steps in its address. */
    this.repeats = true;
    /** The panels by key. @type {Map<number, Panel>} */
    this.panels = new Map();
    // The style of this invisible element gives the theme's colours.
    this.probe = element('span', { class: 'probe', 'aria-hidden': 'true' });
    this.banner = element('div', { class: 'banner', role: 'status', hidden: true });
    this.host = element('div', { class: 'comparison' });
    this.caption = element('figcaption');
    // On a new machine, cover the panels with a recording until the first panel is live.
    this.recorded = element('figure', { class: 'recorded', hidden: true }, this.caption);
    root.append(this.banner, this.recorded, this.host, this.probe);
    /** @type {Record<string, number[]>} */
    this.colours = {};
    /** Colours of the theme: text and background, and colours derived from them. @type {number[]} */
    this.text = [];
    /** @type {number[]} */
    this.back = [];
    /** Colour of each value of a picture. @type {Uint32Array} */
    this.ink = new Uint32Array(256);
    /** Colour of each value, for pictures of signed values. @type {Uint32Array} */
    this.signed = new Uint32Array(256);
    this.gap = 0;
    /** Asks about a sample; null: nobody would answer. @type {((panel: number, sample: number) => void) | null} */
    this.askForTile = (panel, sample) => this.send({ panel, sample });
    this.loupe = new Loupe(this);
    this.onShow = () => { if (!document.hidden && this.askWhenShown) this.askForFrames(); };
    document.addEventListener('visibilitychange', this.onShow);
    this.resized = new ResizeObserver(() => { this.arrange(); this.draw(); });
    this.resized.observe(this.host);
    /** @type {WebSocket | null} */
    this.socket = null;
    this.presses = Presses.of(data.url);
    this.configure(data);
    // A phone shows one panel: begin with the panel whose knob is off, because the caption asks to turn that knob.
    requestAnimationFrame(() => {
      const asking = /** @type {HTMLElement | null | undefined} */ (this.host.querySelector('.off')?.closest('.panel'));
      if (asking) this.host.scrollLeft = asking.offsetLeft - /** @type {HTMLElement} */ (this.host.firstElementChild).offsetLeft;
    });
  }

  /** @param {PageData} data */
  configure(data) {
    const otherSession = data.url !== this.data.url;
    this.data = data;
    this.events = this.events.filter(([number]) => number > data.taken);
    this.host.classList.toggle('present', data.present);
    this.host.classList.toggle('embedded', data.embedded);
    this.host.classList.toggle('chosen', data.present_knobs.length > 0);
    for (const [key, panel] of this.panels) if (!data.panels.some(spec => spec.key === key)) { panel.node.remove(); this.panels.delete(key); }
    for (const [place, spec] of data.panels.entries()) {
      let panel = this.panels.get(spec.key);
      if (panel) panel.configure(spec);
      else {
        panel = new this.PanelOfPage(spec, this);
        this.panels.set(spec.key, panel);
        panel.build();
      }
      // Moving an element in the document would take the focus from a slider that arrow keys are turning.
      const there = this.host.children[place];
      if (there !== panel.node) this.host.insertBefore(panel.node, there ?? null);
    }
    if (otherSession) {
      this.presses.closed();
      this.socket?.close();
      this.socket = null;
    }
    this.presses = Presses.of(data.url);
    this.arrange();
    if (!this.socket) this.connect();
    this.draw();
  }

  // Show as many pictures as can be large enough; the page's style sheet computes their size from the number of panels
  // in a row.
  arrange() {
    const n = Math.ceil(this.panels.size * this.PanelOfPage.columns);
    const root = document.documentElement, columns = String(n > FEW_PANELS ? MOST_COLUMNS : Math.max(n, 1));
    root.style.setProperty('--columns', columns);
    root.dataset.columns = columns;
    for (const panel of this.panels.values()) panel.arrange();
    this.loupe.setStop();
    if (this.socket && JSON.stringify(this.request) !== this.asked) this.askForFrames(); // a page at rest would otherwise get no answer
  }

  /** Rows and columns of the square of pictures in a panel. */
  get side() {
    const { side, usual_side } = this.data;
    if (side !== usual_side) return side;
    return innerWidth <= NARROW ? side - 2 : this.panels.size > FEW_PANELS ? side - 1 : side;
  }

  // The folds of all panels open and close together, for comparison.
  /** @param {boolean} open */
  openAll(open) { for (const { more } of this.panels.values()) more.open = open; }

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
    Parts.of(this.data.url).redraw();
  }

  draw() {
    if (!this.alive || !this.host.isConnected) return;
    this.readTheme();
    for (const panel of this.panels.values()) panel.draw();
    this.loupe.draw();
    this.drawRecorded();
  }

  drawRecorded() {
    const { recorded } = this.data, jobs = [...this.panels.values()].map(({ head }) => head?.status === 'starting' ? head.compiling : null);
    this.recorded.hidden = !recorded || !jobs[0] || !jobs.every(Boolean);
    if (!recorded || !jobs[0] || this.recorded.hidden) return;
    if (this.recorded.lastChild === this.caption) {
      this.recorded.append(element('img', { alt: 'Four samplers on one model, recorded', src: recorded }));
    }
    this.caption.textContent = `Recorded: what you will see. ${compiling(jobs[0])}.`;
  }

  connect() {
    // Nothing moves until the server knows that this browser prefers less motion.
    if (!this.alive || isCalm() && !this.data.reduced_motion) return;
    const socket = this.socket = new WebSocket(location.origin.replace(/^http/, 'ws') + this.data.url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.banner.hidden = true;
      this.presses.opened(press => this.send(press));
      this.askForFrames();
    };
    /** Messages since the last drawing, in order. @type {(string | ArrayBuffer)[]} */
    let arrived = [];
    socket.onmessage = event => {
      arrived.push(event.data);
      if (arrived.length > 1) return; // a slow browser draws several frames at once
      requestAnimationFrame(() => {
        const messages = arrived;
        arrived = [];
        if (socket !== this.socket) return; // the old socket's answers belong to the previous session
        const readable = messages.map(message => this.take(message));
        this.draw();
        if (readable.every(Boolean) && this.toCome <= FRAMES_ASKED / 2) this.askForFrames();
      });
    };
    socket.onclose = event => {
      if (!this.alive || socket !== this.socket) return;
      this.presses.closed();
      if (event.code === UNKNOWN_TOKEN) return this.showBanner('This page belongs to a session that has ended: reload it.');
      this.showBanner('Connection lost: trying again.');
      setTimeout(() => { if (socket === this.socket) this.connect(); }, RETRY_MS);
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

  // The request for everything that this page can show now. When the request changes, the server starts over; frames that
  // answer an older request are dropped.
  get request() {
    const { fps, view, pixels, n_visible } = this.data;
    return { fps, view, pixels, cells: this.side ** 2, n_visible, panels: [...this.panels.keys()], frames: FRAMES_ASKED };
  }

  askForFrames() {
    this.askWhenShown = document.hidden;
    if (this.askWhenShown) return;
    this.asked = JSON.stringify(this.request);
    this.toCome = FRAMES_ASKED;
    this.send(this.request);
  }

  /** Read these panels' parts of a frame. @param {PanelPart[]} parts */
  read(parts) {
    for (const part of parts) this.panels.get(part.head.key)?.readPart(part);
    this.frames++;
    this.host.dataset.frames = String(this.frames);
  }

  /** Show these panels' parts of a frame. @param {PanelPart[]} parts */
  show(parts) {
    this.read(parts);
    this.draw();
  }

  /** Take a frame, or the answer to a press or about a tile. @param {string | ArrayBuffer} message @returns {boolean} whether to request more */
  take(message) {
    if (typeof message === 'string') {
      const { done, running, tile } = JSON.parse(message);
      if (tile) {
        this.loupe.take(tile);
        return true;
      }
      this.presses.follow(running);
      this.presses.done(done);
      return true;
    }
    this.toCome--;
    try {
      const frame = readFrame(message);
      if (JSON.stringify(frame.request) !== JSON.stringify(this.request)) return true;
      this.presses.follow(frame.running);
      Parts.of(this.data.url).take(frame.charts);
      this.read(frame.panels);
    } catch (error) {
      console.error(error);
      this.showBanner('The server sends pictures that this page cannot read: reload it.');
      return false;
    }
    this.notePause();
    return true;
  }

  // A paused page stays paused after a reload: rbmviz_app/address.js writes the panels' step, or their steps if they differ.
  notePause() {
    const panels = this.data.panels.map(({ key }) => this.panels.get(key)), heads = panels.map(panel => panel?.head);
    if (!panels.every(panel => panel?.isRun)) return;
    const address = /** @type {any} */ (window).rbmvizAddress;
    clearTimeout(this.pauseTimer);
    if (!address || !heads.length) return;
    if (!heads.every(head => head?.status === 'paused')) {
      const asked = new URL(location.href).searchParams.getAll('paused_at').map(Number);
      this.repeats &&= heads.some((head, i) => (head?.n ?? 0) < (asked[i] ?? asked[0] ?? 0));
      if (!this.repeats) address.values.paused_at = [];
    } else this.pauseTimer = setTimeout(() => { // runs are also briefly paused before a common start
      const now = /** @type {any} */ (window).rbmvizAddress;
      const steps = heads.map(head => String(head?.n ?? 0));
      this.repeats = false;
      if (now && this.alive) now.values.paused_at = new Set(steps).size === 1 ? steps.slice(0, 1) : steps;
    }, PAUSED_MS);
  }

  /**
   * Send an event to the page, with all events that the page has not taken: if a component's messages wait for the page's
   * script, Streamlit keeps only the newest. Event numbers are times, so that they grow from one mount to the next.
   * @param {string} name
   * @param {unknown} value
   */
  tell(name, value) {
    this.events.push([Math.max(this.events.at(-1)?.[0] ?? 0, this.data.taken, Date.now() - 1) + 1, name, value]);
    this.sendEvents();
  }

  sendEvents() {
    clearTimeout(this.resendTimer);
    if (!this.alive || !this.events.length) return;
    this.trigger('events', this.events);
    this.resendTimer = setTimeout(() => this.sendEvents(), RESEND_MS);
  }

  /**
   * Change knobs of a panel. A knob that is not live restarts the run once, when it is released.
   * @param {number} key
   * @param {Record<string, KnobValue>} knobs
   * @param {boolean} live
   * @param {boolean} done
   */
  changeKnobs(key, knobs, live, done) {
    if (live) this.turnKnobs(key, knobs);
    if (done) this.tellPage(key, knobs);
  }

  /** Whether the page still has to take a turn of this knob. @param {number} key @param {string} name */
  isTurning(key, name) {
    const untaken = this.events.map(([, kind, value]) => kind === 'edit' ? /** @type {any} */ (value) : {});
    return [{ key, knobs: this.tellPage.waiting.get(key) }, ...untaken].some(edit => edit.key === key && name in (edit.knobs ?? {}));
  }

  close() {
    this.alive = false;
    this.loupe.close();
    document.removeEventListener('visibilitychange', this.onShow);
    this.resized.disconnect();
    this.presses.closed();
    this.socket?.close();
  }
}

/** Page data for panels that no server feeds; scripts pass frames to them. */
const WITHOUT_SERVER = {
  url: '', fps: 0, view: 'sequence', pixels: 'binary', present: false, present_knobs: [], embedded: false, reduced_motion: true, taken: 0,
};

/** The panels of a page without a server, or of a page that only watches: they cannot be removed or multiplied. */
class ShownGrid extends Grid {
  /** @param {HTMLElement} root @param {PageData} data @param {PanelClass} PanelOfPage */
  constructor(root, data, PanelOfPage) {
    super(root, data, () => {}, PanelOfPage);
    this.host.classList.add('shown');
    /** @type {Grid['askForTile']} */
    this.askForTile = null;
  }

  connect() {}

  /** @param {number} _key @param {Record<string, KnobValue>} _knobs */
  changeKnobs(_key, _knobs) {}
}

/**
 * Draw a page's panels. Streamlit calls a component on its first mount and on each change of data.
 * @param {PanelClass} PanelOfPage
 * @param {Component} component
 * @returns {() => void} called when the component is removed
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
