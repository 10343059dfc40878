// @ts-check
// The frame of a panel, and the grid of all panels with its socket: what the pages have in common.
// The server sends only what is new. Everything shown is kept here and drawn whole, so that a new theme or size
// needs no new data.

/**
 * @typedef {object} PanelSpec
 * @property {number} key
 * @property {string} label
 * @property {Prose} about
 * @property {string[]} equation the formulas that define it, as MathML
 * @property {string} colour
 * @property {number[]} dash of its curve in the charts: pixels of line and gap
 * @property {KnobSpec[]} knobs
 * @property {Record<string, KnobValue>} values
 * @property {MultipleSpec[]} multiples
 * @property {ReadoutSpec[]} readouts
 * @property {Record<string, string>} [locked] why knobs cannot be turned now, by name
 */

/**
 * An entry of a panel's menu: panels with other values of a knob beside it, or with it instead of all others.
 * @typedef {{ text: string, knob: string, values: number[], instead: boolean }} MultipleSpec
 */

/**
 * What Python gives the canvas of a page (Canvas.mount); each page adds entries that its own panel.js reads.
 * @typedef {object} PageData
 * @property {string} url
 * @property {number} fps
 * @property {string} view
 * @property {string} pixels
 * @property {number} side rows and columns of the square of pictures in a panel
 * @property {number} n_visible
 * @property {[number, number]} shape
 * @property {boolean} present
 * @property {string[]} present_knobs names of the knobs that stay while presenting, or embedded; if no panel has any of them while presenting, the first knob of each panel stays
 * @property {boolean} embedded whether the page stands inside of another one, with few controls
 * @property {boolean} reduced_motion whether the server knows that this browser asks for less motion
 * @property {boolean} timers_stopped whether the server has stopped the timers of a page that was hidden
 * @property {PanelSpec[]} panels
 * @property {boolean} [looks_back] whether a slider goes back through the newest steps of paused panels
 * @property {string} [stays] what that slider leaves as it is now, and its verb
 * @property {boolean} [knobs_follow] whether something else than its controls turns the knobs of a panel
 * @property {string} [recorded] address of a moving picture of these panels
 * @property {[string, number][]} [vocabulary] words and their pixels, the rarest first
 */

/** @typedef {(name: string, value: unknown) => void} Trigger */
/** @typedef {{ data: any, parentElement: any, setTriggerValue: Trigger }} Component what Streamlit calls a script with */

const UNKNOWN_TOKEN = 4403; // close code: this page's session has ended
const RETRY_MS = 500;
// Shorter than the 5 s (HIDDEN_SECONDS in rbmviz_app/timer.py) after which the server stops the page's timers, so that no stop
// is missed.
const UNASKED_MS = 4000;
const TURN_MS = 16; // what is dragged is sent this often at most: a pointer may move more often than pictures come
const EDIT_MS = 200; // the page is told of turned knobs this often at most: a held key turns one thirty times a second
const WORDS_MS = 1000; // words change this often at most: more could not be read
const ANNOUNCE_MS = 2000; // what is read aloud changes this often at most
const LEAST_STAGE = 120; // pixels: pictures are no smaller in a low window, which then scrolls
const PAUSED_MS = 500; // a pause that lasts so long is one that somebody wants
const NARROW = 640; // pixels: in a window that is no wider, equations are folded
const BAR_GAP = 8; // pixels below the bar that looks back, while presenting
const FIT_MS = 500; // while presenting, panels are fitted to the window this often

/** @param {number} time by performance.now() @returns {number} whole seconds until then; 0: it has passed */
function secondsTo(time) { return Math.max(Math.ceil((time - performance.now()) / 1000), 0); }

/** @param {number[]} dash pixels of line and gap @returns {string} the line as a background in CSS */
function dashed(dash) {
  let end = 0;
  const stops = dash.map((length, i) => `${i % 2 ? 'transparent' : 'var(--accent)'} ${end}px ${end += length}px`);
  return stops.length ? `repeating-linear-gradient(90deg, ${stops.join(', ')})` : 'var(--accent)';
}

/**
 * Return a function that takes values of knobs and hands them on: at once, or when the last time is long enough ago, and then the newest of each knob.
 * @param {number} ms
 * @param {(panel: number, knobs: Record<string, KnobValue>) => void} hand
 * @returns {(panel: number, knobs: Record<string, KnobValue>) => void}
 */
function spaced(ms, hand) {
  /** @type {Map<number, Record<string, KnobValue>>} */
  const waiting = new Map();
  let timer = 0;
  const next = () => {
    timer = 0;
    for (const [panel, knobs] of waiting) {
      waiting.delete(panel);
      timer = setTimeout(next, ms);
      return hand(panel, knobs);
    }
  };
  return (panel, knobs) => {
    waiting.set(panel, { ...waiting.get(panel), ...knobs });
    if (!timer) next();
  };
}

/**
 * What every panel has: header, pictures, a strip below them, readouts, knobs. A page's own panel fills them.
 * The constructor makes what all panels have; build, which is called later, makes pictures and knobs, so that
 * the fields of a page's own panel are set by then.
 * @abstract
 */
class Panel {
  /** What the steps of a run are called. @type {string} */
  unit = '';
  /** Whether its pictures show what the run begins with. */
  showsStart = false;
  /** Whether its runs may warn: then a place is kept, so that no knob moves under the hand that turns it. */
  warns = false;

  /** @param {PanelSpec} spec @param {Grid} grid */
  constructor(spec, grid) {
    this.spec = spec;
    this.grid = grid;
    this.key = spec.key;
    /** Whether it shows a run, which can be paused and repeated. */
    this.isRun = true;
    /** The newest head of this panel in a frame. @type {PanelHead | null} */
    this.head = null;
    /** @type {Record<string, ReadoutValue>} */
    this.readoutValues = {};
    /** @type {Record<string, ReturnType<typeof knobControl>>} */
    this.controls = {};
    /** Since when the run is prepared, by performance.now(). @type {number | null} */
    this.startingSince = null;
    /** When the run can begin, by performance.now(); 0: later than expected. @type {number | null} */
    this.readyAt = null;
    this.redrawTimer = 0;
    /** When words and the spoken text were last changed, by performance.now(). */
    this.wordsShownAt = 0;
    this.announcedAt = -ANNOUNCE_MS;
    this.announceTimer = 0;
    // What screen readers say of the pictures; it is not seen.
    this.spoken = element('p', { class: 'spoken', id: `said-${spec.key}`, 'aria-live': 'off' });
    // A low canvas below the pictures, for what changes over time.
    this.strip = element('canvas', { class: 'strip', role: 'img' });
    // Over the pictures: why there are none yet, or what has failed.
    this.note = element('div', { class: 'note', hidden: true });
    this.count = element('span', { class: 'count' });
    this.title = element('h3', { 'aria-level': 2 }); // in size a third, and next to the page's h1
    this.readouts = new ReadoutList();
    this.knobs = element('div', { class: 'knobs' });
    this.equation = new Equation(spec.label, grid);
    // The words of the newest sample, of models of texts.
    this.words = element('p', { class: 'words', hidden: true });
    this.warningText = element('span');
    this.warning = element('p', { class: 'warning', role: 'status' }, this.warningText);
    // In a corner of the starts of the chains: how long the kernels are still compiled.
    this.mark = element('p', { class: 'mark', hidden: true });
    // The place of the pictures.
    this.stage = element('div', { class: 'stage' });
    this.removeButton = element('button', { class: 'remove', type: 'button', title: 'Remove this panel', 'aria-label': `Remove ${spec.label}`,
      text: '×', onclick: () => grid.trigger('remove', { key: this.key }) });
    this.menuButton = element('button', { class: 'menu', type: 'button', text: 'More like this' });
    this.menu = explain(this.menuButton, 'More like this');
    this.readouts.fold.before(this.menuButton, this.menu);
    this.node = element('section', { class: 'panel', 'data-key': spec.key },
      element('header', {}, element('span', { class: 'swatch' }), this.title, ...helpButton(spec.label, spec.about), this.count, this.removeButton),
      element('div', { class: 'body' }, this.stage, this.spoken, this.words, this.strip, this.readouts.node, this.warning, this.knobs));
  }

  /** Make the pictures and the knobs. */
  build() {
    this.stage.append(...this.makePictures(), this.note, this.mark);
    for (const canvas of this.node.querySelectorAll('canvas')) canvas.setAttribute('aria-describedby', this.spoken.id);
    this.node.classList.toggle('warns', this.warns);
    /** @type {HTMLElement[]} */
    const front = [];
    /** @type {HTMLElement[]} */
    const more = [];
    for (const knob of this.spec.knobs) {
      const control = knobControl(knob, this.spec.values[knob.name], `knob-${this.key}-${knob.name}`,
        (value, done) => this.grid.changeKnobs(this.key, { [knob.name]: value }, knob.live, done));
      this.controls[knob.name] = control;
      markTerms(control.node, knob.name, this.equation.formulas);
      (knob.front ? front : more).push(control.node);
    }
    this.knobs.replaceChildren(...front, this.equation.node);
    if (more.length) this.knobs.append(element('details', { class: 'more' }, element('summary', { text: 'More knobs' }), ...more));
    this.configure(this.spec);
  }

  /** @param {PanelSpec} spec as the page knows it now */
  configure(spec) {
    this.spec = spec;
    const [, name, differs] = spec.label.match(/^(.*?)( \(.*)?$/) ?? [];
    this.title.replaceChildren(name ?? spec.label, element('span', { class: 'differs', text: differs ?? '' }));
    this.node.style.setProperty('--accent', spec.colour);
    this.node.style.setProperty('--dash', dashed(spec.dash));
    this.readouts.declare(spec.readouts);
    this.equation.declare(spec.equation, this.controls);
    this.configureMenu();
    for (const [name, value] of Object.entries(spec.values)) this.controls[name].set(value);
    for (const { name, label } of spec.knobs) {
      this.controls[name].relabel(label);
      this.controls[name].lock(spec.locked?.[name] ?? '');
    }
    const { present, embedded, present_knobs } = this.grid.data, details = /** @type {HTMLDetailsElement | null} */ (this.knobs.querySelector('details.more'));
    const stay = spec.knobs.filter(({ name }) => present_knobs.includes(name)).map(({ name }) => name);
    const chosenHere = this.grid.data.panels.some(panel => panel.knobs.some(({ name }) => present_knobs.includes(name)));
    if (!chosenHere && spec.knobs.length) stay.push((spec.knobs.find(({ front }) => front) ?? spec.knobs[0]).name);
    for (const { name } of spec.knobs) this.controls[name].node.classList.toggle('stays', stay.includes(name));
    if ((present || embedded && present_knobs.length) && details) details.open = true;
    this.equation.stay(stay, present);
    this.arrange();
  }

  configureMenu() {
    const { label, multiples } = this.spec;
    this.menuButton.hidden = !multiples.length;
    this.menuButton.setAttribute('aria-label', `More like this: ${label}`);
    this.menu.replaceChildren(element('h4', { text: 'Panels like this one' }), ...multiples.map(({ text, knob, values, instead }) =>
      element('button', { class: 'choice', type: 'button', text, onclick: () => {
        this.menu.hidePopover();
        this.grid.trigger('multiply', { key: this.key, knob, values, instead });
      } })));
  }

  // What the panel of a page may override

  /** Make the elements of the stage. @returns {HTMLElement[]} */
  makePictures() { return []; }

  /** What becomes higher with the width of the stage, when panels are fitted to a window. @returns {HTMLElement | null} */
  get scaled() { return this.stage.querySelector('canvas.picture'); }

  /** Make pictures of a fixed height as high as a window lets them be. @param {number} room pixels */
  fitHeight(room) {}

  /** Lay out pictures and strip for the page's data and this.spec. */
  arrange() {}

  /**
   * Keep what is new in a frame; drawPictures draws it. An entry that a frame leaves out comes again as it was in the
   * frame before, until one has readouts: what happens once belongs in a block, or is null in all other frames.
   * What was sent may come again, as after a reconnect, with isNewRun false: replace what is there, do not append.
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

  /** How far the run is, in words. @param {PanelHead} head @returns {string} */
  progressOf(head) { return `${whole.format(head.n)} ${this.unit}, ${head.status}`; }

  /** What is on the pictures, besides the numbers: a sentence for those who do not see them. @returns {string} */
  describe() { return ''; }

  // Write the text that screen readers say of the pictures. It is spoken where the focus is in this panel, or the run
  // makes no steps: four panels that speak every two seconds would let nobody hear anything else.
  announce() {
    const { head } = this, wait = this.announcedAt + ANNOUNCE_MS - performance.now();
    clearTimeout(this.announceTimer);
    if (!head) return;
    if (wait > 0) { this.announceTimer = setTimeout(() => this.announce(), wait); return; }
    const numbers = this.readouts.shown.filter(({ spec, text }) => spec.lead && text !== '–').map(({ spec, text }) => `${spec.label} ${text}.`);
    const text = [`${this.spec.label}, ${this.progressOf(head)}.`, this.describe(), ...numbers].filter(part => part).join(' ');
    if (text === this.spoken.textContent) return;
    this.announcedAt = performance.now();
    const focused = /** @type {Document | ShadowRoot} */ (this.node.getRootNode()).activeElement;
    this.spoken.setAttribute('aria-live', head.status !== 'running' || this.node.contains(focused) ? 'polite' : 'off');
    this.spoken.textContent = text;
  }

  /** Keep what is new in a frame; draw draws it. @param {PanelPart} part this panel's part of the frame */
  readPart({ head, blocks }) {
    if (!head.readouts && this.head) head = { ...this.head, ...head };
    const isNewRun = head.run !== this.head?.run;
    if (isNewRun) this.readoutValues = {};
    Object.assign(this.readoutValues, head.readouts);
    this.receive(head, blocks, isNewRun);
    // A knob that something else has turned, as the pointer on a map: the control follows it.
    const before = this.grid.data.knobs_follow ? this.head?.knobs : undefined;
    if (before) for (const [name, value] of Object.entries(head.knobs ?? {})) if (before[name] !== value) this.controls[name]?.set(value);
    // Compiled kernels are loaded before the run begins: until then the time that was expected last counts.
    if (head.status !== 'starting' || isNewRun) this.readyAt = null;
    if (typeof head.ready_in === 'number') this.readyAt = head.ready_in && performance.now() + 1000 * head.ready_in;
    this.head = head;
  }

  /** @param {string} text */
  setWarning(text) {
    if (this.warningText.textContent === text) return;
    this.warningText.textContent = text;
    // What does not fit into its place opens over what is below.
    if (text) this.warning.tabIndex = 0;
    else this.warning.removeAttribute('tabindex');
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
    if (this.readyAt !== null) return this.showsStart ? '' : this.compiling(this.readyAt);
    return seconds < 2 ? 'Preparing.' : `Preparing: on a new machine the kernels are compiled once. ${seconds} s so far.`;
  }

  /** @param {number} readyAt @returns {string} how long the kernels of the run are still compiled */
  compiling(readyAt) {
    const left = secondsTo(readyAt);
    return left ? `Compiling, about ${left} s` : 'Compiling, longer than expected';
  }

  draw() {
    const head = this.head;
    if (!head) return;
    this.drawPictures();
    this.node.dataset.n = String(head.n);
    this.node.dataset.status = head.status;
    this.count.textContent = whole.format(head.at ?? head.n);
    this.count.title = `${whole.format(head.at ?? head.n)} ${this.unit}`;
    this.readouts.draw(this.readoutValues, head.status === 'running');
    const failed = head.status === 'failed', note = failed ? head.error ?? '' : this.reasonToWait(head);
    const mark = this.readyAt !== null && this.showsStart ? this.compiling(this.readyAt) : '';
    this.mark.hidden = !mark;
    if (this.mark.textContent !== mark) this.mark.textContent = mark;
    this.note.hidden = !note;
    if (this.note.textContent !== note) this.note.textContent = note;
    this.setWarning(head.warning ?? '');
    this.announce();
    this.note.classList.toggle('failed', failed);
  }
}

/** @typedef {new (spec: any, grid: Grid) => Panel} PanelClass */

/** All panels of a page, and the socket that their frames come from. */
class Grid {
  /** @param {HTMLElement} root @param {PageData} data @param {Trigger} trigger @param {PanelClass} PanelOfPage */
  constructor(root, data, trigger, PanelOfPage) {
    this.trigger = trigger;
    this.PanelOfPage = PanelOfPage;
    this.data = data;
    this.alive = true;
    /** Whether equations are unfolded: at first where there is room. */
    this.equationsOpen = innerWidth > NARROW && !data.embedded;
    /** How many frames have been shown; tests read it. */
    this.frames = 0;
    /** Whether a frame was due while the page was hidden. */
    this.askWhenShown = false;
    /** The newest request that was sent. */
    this.asked = '';
    this.fittedAt = 0;
    this.pauseTimer = 0;
    this.turnKnobs = spaced(TURN_MS, (panel, knobs) => this.send({ panel, knobs }));
    this.tellPage = spaced(EDIT_MS, (key, knobs) => { if (this.alive) this.trigger('edit', { key, knobs }); });
    this.askSoon = spaced(TURN_MS, () => this.askForFrame());
    /** Whether the page has been opened just now, and may make the steps of its address again. */
    this.repeats = true;
    /** Since when the server has not been asked for a frame, ms; long since if it has stopped timers of a page that was hidden. */
    this.unaskedSince = data.timers_stopped ? -Infinity : performance.now();
    /** Whether the server is to be told that the page is shown again. */
    this.reportShown = false;
    /** By key. @type {Map<number, Panel>} */
    this.panels = new Map();
    // By the style of this invisible element the colours of the theme are read.
    this.probe = element('span', { class: 'probe', 'aria-hidden': 'true' });
    this.banner = element('div', { class: 'banner', role: 'status', hidden: true });
    this.host = element('div', { class: 'comparison' });
    this.past = new LookBack(at => this.lookBack(at));
    this.caption = element('figcaption');
    // Over the panels of a new machine: what they will show, until the first of them is live.
    this.recorded = element('figure', { class: 'recorded', hidden: true }, this.caption);
    root.append(this.banner, this.recorded, this.host, this.past.node, this.probe);
    /** Paused panels show their pictures after so many steps; null: those of now. @type {number | null} */
    this.at = null;
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
    this.resized = new ResizeObserver(() => { this.fitToWindow(); this.draw(); });
    this.resized.observe(this.host);
    /** @type {WebSocket | null} */
    this.socket = null;
    this.configure(data);
  }

  /** @param {PageData} data */
  configure(data) {
    const otherSession = data.url !== this.data.url;
    this.data = data;
    this.host.classList.toggle('present', data.present);
    this.host.classList.toggle('embedded', data.embedded);
    this.host.classList.toggle('chosen', data.present_knobs.length > 0);
    this.past.configure(data.looks_back === true, data.present, data.pixels === 'mean' || data.view === 'single', data.stays);
    for (const [key, panel] of this.panels) if (!data.panels.some(spec => spec.key === key)) { panel.node.remove(); this.panels.delete(key); }
    for (const [place, spec] of data.panels.entries()) {
      let panel = this.panels.get(spec.key);
      if (panel) panel.configure(spec);
      else {
        panel = new this.PanelOfPage(spec, this);
        this.panels.set(spec.key, panel);
        panel.build();
      }
      // What is moved in the document loses the focus, and with it the slider that the arrow keys turn.
      const there = this.host.children[place];
      if (there !== panel.node) this.host.insertBefore(panel.node, there ?? null);
    }
    if (otherSession) {
      this.socket?.close();
      this.socket = null;
    }
    if (!this.socket) this.connect();
    else if (JSON.stringify(this.request) !== this.asked) this.askForFrame(); // a page at rest is not answered otherwise
    this.fitToWindow();
    this.draw();
  }

  // While presenting, the first chart of the page stands beside the panels; presenting.css says how.
  placeChart() {
    const root = this.host.getRootNode();
    for (let node = root instanceof ShadowRoot ? root.host : this.host; this.data.present && node.parentElement; node = node.parentElement) {
      for (let next = node.nextElementSibling; next; next = next.nextElementSibling) {
        if (!next.querySelector('[data-testid=stVegaLiteChart], [class*=st-key-no-chart]')) continue;
        node.parentElement.dataset.presented = 'both';
        node.setAttribute('data-presented', 'panels');
        next.setAttribute('data-presented', 'chart');
        return;
      }
    }
  }

  // While presenting, all panels are within the window: as many side by side as make the pictures largest.
  fitToWindow() {
    const { host } = this, panels = [...this.panels.values()], n = panels.length;
    this.fittedAt = performance.now();
    this.placeChart();
    if (!this.data.present || !n || innerWidth < 1000) {
      host.style.removeProperty('grid-template-columns');
      host.style.removeProperty('--stage');
      return;
    }
    const bar = this.past.node; // over the page, at the bottom of the window, while one may look back
    const covered = bar.classList.contains('open') ? bar.offsetHeight + BAR_GAP : 0;
    const gap = 16, wide = host.clientWidth, left = innerHeight - host.getBoundingClientRect().top - gap - covered;
    const [first] = panels, { scaled } = first;
    if (!scaled?.offsetHeight) return;
    const ratio = first.stage.offsetWidth / scaled.offsetHeight;
    const rest = Math.max(...panels.map(({ node, scaled }) => node.offsetHeight - (scaled?.clientHeight ?? 0)));
    let best = [0, n];
    for (let columns = 1; columns <= n; columns++) {
      const across = (wide - gap * (columns - 1)) / columns, down = left / Math.ceil(n / columns) - gap - rest;
      const size = Math.min(across, down * ratio);
      if (size > best[0]) best = [size, columns];
    }
    host.style.gridTemplateColumns = `repeat(${best[1]}, minmax(0, 1fr))`;
    const column = (wide - gap * (best[1] - 1)) / best[1];
    host.style.setProperty('--stage', `${Math.floor(Math.max(best[0], Math.min(column, LEAST_STAGE)))}px`);
    for (const panel of panels) panel.fitHeight(left / Math.ceil(n / best[1]) - gap - rest);
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
    this.drawRecorded();
  }

  drawRecorded() {
    const { recorded } = this.data, ready = [...this.panels.values()].map(({ readyAt }) => readyAt);
    this.recorded.hidden = !recorded || !ready.length || ready.includes(null);
    if (!recorded || this.recorded.hidden) return;
    if (this.recorded.lastChild === this.caption) {
      this.recorded.append(element('img', { alt: 'Four samplers on one model, recorded', src: recorded }));
    }
    const left = secondsTo(Math.min(...ready.map(Number)));
    this.caption.textContent = left ? `Recorded: what you will see in about ${left} s` : 'Recorded: what you will see, later than expected';
  }

  /** Show what paused panels showed after so many steps; null: what they show now. @param {number | null} at */
  lookBack(at) {
    if (at === this.at) return;
    this.at = at;
    this.askSoon(0, {});
  }

  connect() {
    // Nothing begins to move before the server knows that this browser asks for less motion.
    const mustWait = matchMedia('(prefers-reduced-motion: reduce)').matches && !this.data.reduced_motion;
    if (!this.alive || mustWait) return;
    const socket = this.socket = new WebSocket(location.origin.replace(/^http/, 'ws') + this.data.url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => { this.banner.hidden = true; this.askForFrame(); };
    socket.onmessage = event => {
      this.unaskedSince = performance.now();
      requestAnimationFrame(() => { if (socket === this.socket && this.showFrame(event.data)) this.askForFrame(); });
    };
    socket.onclose = event => {
      if (!this.alive || socket !== this.socket) return;
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

  // What this page can show now. The server starts over when it changes; a frame that answers an older request
  // says so and is dropped.
  get request() {
    const { fps, view, pixels, side, n_visible } = this.data;
    const now = { fps, view, pixels, cells: side * side, n_visible, panels: [...this.panels.keys()] };
    return this.at === null ? now : { ...now, at: this.at };
  }

  askForFrame() {
    this.askWhenShown = document.hidden;
    if (this.askWhenShown) return;
    this.asked = JSON.stringify(this.request);
    this.send(this.request);
    this.reportShown ||= performance.now() - this.unaskedSince > UNASKED_MS;
  }

  /** Show a frame as it came. @param {ArrayBuffer} buffer @returns {boolean} whether to ask for more */
  showFrame(buffer) {
    let frame;
    try {
      frame = readFrame(buffer);
    } catch (error) {
      console.error(error);
      this.showBanner('The server sends pictures that this page cannot read: reload it.');
      return false;
    }
    // While a slider is dragged through time, the frame that comes may be of where it was a moment ago.
    if (JSON.stringify({ ...frame.request, at: 0 }) !== JSON.stringify({ ...this.request, at: 0 })) return true;
    for (const part of frame.panels) this.panels.get(part.head.key)?.readPart(part);
    this.frames++;
    this.host.dataset.frames = String(this.frames);
    this.draw();
    if (this.data.present && performance.now() > this.fittedAt + FIT_MS) this.fitToWindow();
    this.notePause();
    const wasOpen = this.past.node.classList.contains('open');
    if (!this.past.follow([...this.panels.values()].map(({ head }) => head))) this.at = null;
    if (this.data.present && wasOpen !== this.past.node.classList.contains('open')) this.fitToWindow();
    if (this.reportShown) this.trigger('redraw', true); // the server was asked for a frame, and now starts the timers that it has stopped
    this.reportShown = false;
    return true;
  }

  // A page that is paused stays so after a reload: the address says at which step, or the steps of all panels. rbmviz_app/address.js writes it.
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
    } else this.pauseTimer = setTimeout(() => { // before a common start runs are paused for a moment, too
      const now = /** @type {any} */ (window).rbmvizAddress;
      const steps = heads.map(head => String(head?.n ?? 0));
      this.repeats = false;
      if (now && this.alive) now.values.paused_at = new Set(steps).size === 1 ? steps.slice(0, 1) : steps;
    }, PAUSED_MS);
  }

  /**
   * Change knobs of a panel. A knob that is not live begins the run anew: once, when it is let go.
   * @param {number} key
   * @param {Record<string, KnobValue>} knobs
   * @param {boolean} live
   * @param {boolean} done
   */
  changeKnobs(key, knobs, live, done) {
    if (live) this.turnKnobs(key, knobs);
    if (done) this.tellPage(key, knobs);
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
