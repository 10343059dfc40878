// @ts-check
// A page in which the samplers run: a worker makes each panel's samples (rbmviz/browser/worker.js), and the page class of
// replay files, whose script precedes this one, shows them.

const HELD_SAMPLES = 20_000, MOST_HELD = 25_000; // minimum number of samples that a panel keeps, and maximum number that it has room for
/** The smallest WebAssembly module with a vector instruction. */
const WITH_VECTORS = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]);

const NO_VECTORS = 'This browser has no WebAssembly with vectors (SIMD), which the samplers need:';
const runsHere = () => typeof WebAssembly === 'object' && WebAssembly.validate(WITH_VECTORS);

let started = () => {}; // called when the first samples are on the page, or when the page has failed
/** The interface for scripts, window.rbmviz: ``error`` is a sentence, or null. @type {{ ready: Promise<void>, panels: object[], error: string | null }} */
const SCRIPTS = { ready: new Promise(resolve => { started = resolve; }), panels: [], error: null };

/** A run computed by a worker, and stored as a replayed run that grows. */
class LiveRun extends PlayedRun {
  /** Values at which units are held, FREE for others. @type {number[] | null} */
  clamp = null;

  /** @param {any} head @param {number} n_classes @param {any} live @param {string} url of the worker's script */
  constructor(head, n_classes, live, url) {
    const { request, panels: [{ blocks }] } = live, { key } = head, chain = request.chains[key];
    const room = () => ({ dtype: 'uint16', shape: [0], data: new Uint16Array(MOST_HELD) });
    super({ ...head, first: 0 }, {
      v: { dtype: 'bits', shape: [0, chain.n_visible], data: new Uint8Array(MOST_HELD * Math.ceil(chain.n_visible / 8)) },
      classes: room(), blank: room(), spurious: room(),
    }, n_classes);
    this.sampler = head.spec.sampler;
    this.seeds = chain.starts.map((/** @type {{ seed: number }} */ { seed }) => seed);
    this.knobs = { ...request.values[key] };
    this.paused = false;
    /** Changes to send with the next order to the worker. @type {{ knobs?: Record<string, KnobValue>, start?: number, clamp?: number[] | null }} */
    this.orders = { knobs: this.knobs };
    /** @type {{ resolve: (made: Made) => void, reject: (error: Error) => void }[]} */
    this.waiting = [];
    this.busy = Promise.resolve();
    this.worker = new Worker(url);
    this.worker.onmessage = ({ data: { made, error } }) => {
      const { resolve, reject } = /** @type {any} */ (this.waiting.shift());
      if (error) reject(new Error(error));
      else resolve(made);
    };
    /** The error after which the worker cannot answer; it may precede the first order. @type {Error | null} */
    this.broken = null;
    this.worker.onerror = event => {
      this.broken = new Error(event.message || 'The worker of a panel has failed.');
      for (const { reject } of this.waiting.splice(0)) reject(this.broken);
    };
    const { wasm } = blocks, { signatures, scores, diagnosis, walk, curve_counts } = request;
    this.worker.postMessage({ wasm: wasm.module, signatures, chain, scores, diagnosis, land: walk, blocks: this.blocksOf(chain, scores !== null, blocks), curve_counts });
    /** Current numbers of the run, by name. @type {Record<string, any>} */
    this.numbers = {};
    /** The newest findings. @type {LookTaken | null} */
    this.look = null;
    /** Number of sweeps since the last turn of a knob. */
    this.sweeps = 0;
    /** Means of the newest sample, 0 to 255. @type {Uint8Array} */
    this.mean = new Uint8Array(0);
    const start = blocks[(chain.arrays.v ?? chain.arrays['ladder.visible.units'])[2]];
    /** The state before the first sample, as a picture. @type {Block} */
    this.start = { dtype: 'uint8', shape: [1, chain.n_visible], data: Uint8Array.from({ length: chain.n_visible }, (_, i) => 255 * (start ? Number(start.data[i]) : 0)) };
    this.restart(0);
    this.orders = { knobs: this.knobs }; // the worker's chain has begun at this start
  }

  /** Return the blocks that the worker needs. @param {any} chain @param {boolean} scored @param {Record<string, Block>} blocks */
  blocksOf(chain, scored, blocks) {
    const named = [...Object.values(chain.arrays).map((/** @type {any} */ [, , source]) => source), ...chain.starts.flatMap((/** @type {any} */ { changed }) => Object.values(changed))];
    const needed = new Set([...named, ...(scored ? ['points', 'examples', 'labels'] : [])]);
    return Object.fromEntries(Object.entries(blocks).filter(([name]) => needed.has(name)));
  }

  /** Restart the run before the next sample. @param {number} start index of the seed */
  restart(start) {
    this.orders = { ...this.orders, start, clamp: this.clamp };
    this.run++;
    this.seed = this.seeds[start];
    this.rows = { dtype: 'bits', shape: [0, this.rows.shape[1]], data: this.rows.data };
    Object.assign(this.head, { first: 0, segments: [{ begin: 0, curve: [] }], knobs_at: [[0, this.knobsText]] });
    this.shown = this.last = this.length = 0;
    this.sweeps = 0;
    this.look = null;
  }

  get knobsText() { return this.head.spec.knobs.map(({ name, label }) => `${label[0].toLowerCase()}${label.slice(1)} ${knobText(this.knobs[name])}`).join(', '); }

  /** Turn knobs before the next sample. @param {Record<string, KnobValue>} knobs */
  turn(knobs) {
    this.knobs = { ...this.knobs, ...knobs };
    this.orders = { ...this.orders, knobs: this.knobs };
  }

  /** Make samples, after all samples requested earlier. @param {number} samples @returns {Promise<void>} */
  make(samples) {
    const done = this.busy.then(async () => {
      const orders = this.orders;
      this.orders = {};
      if (orders.knobs) this.noteTurn();
      /** @type {Made} */
      const made = await new Promise((resolve, reject) => {
        if (this.broken) throw this.broken;
        this.waiting.push({ resolve, reject });
        this.worker.postMessage({ samples, ...orders });
      });
      if (this.orders.start === undefined) this.append(made); // otherwise the run has restarted in the meantime
    });
    this.busy = done.catch(() => {});
    return done;
  }

  /** The samples since the last turn of a knob. */
  get segment() { return /** @type {Segment} */ (this.head.segments.at(-1)); }

  noteTurn() {
    const { segments, knobs_at } = this.head, begin = this.last;
    if (this.segment.begin === begin) segments.pop();
    if (knobs_at.at(-1)?.[0] === begin) knobs_at.pop();
    segments.push({ begin, curve: [] });
    this.sweeps = 0;
    this.look = null;
    knobs_at.push([begin, this.knobsText]);
  }

  /** @param {Made} made */
  append({ n, rows, classes, blank, spurious, curve, look, sweeps, mean }) {
    this.sweeps += sweeps;
    this.look = look ?? this.look;
    this.mean = mean.length ? mean : this.mean;
    const bytes = Math.ceil(this.rows.shape[1] / 8), drop = this.length + n - HELD_SAMPLES;
    /** @type {[held: any, width: number, made: Uint8Array | number[]][]} */
    const arrays = [[this.rows.data, bytes, rows], [this.classes, 1, classes], [this.blank, 1, blank], [this.spurious, 1, spurious]];
    if (this.length + n > MOST_HELD) {
      for (const [held, width] of arrays) held.copyWithin(0, width * drop, width * this.length);
      this.length -= drop;
      this.head.first += drop;
      this.shown = Math.max(this.shown, this.head.first);
    }
    for (const [held, width, made] of arrays) held.set(made, width * this.length);
    this.segment.curve.push(...curve);
    this.length += n;
    this.last += n;
    this.rows.shape = [this.length, this.rows.shape[1]];
  }

  /** @param {number} _at @param {number} slots @param {boolean} playing @param {any} page */
  partAt(_at, slots, playing, page) {
    const part = super.partAt(this.last, slots, playing, page);
    part.head.status = playing && !this.paused ? 'running' : 'paused';
    const { clamp } = this;
    if (!this.last) part.blocks.start = clamp ? { ...this.start, data: Uint8Array.from(this.start.data, (ink, i) => (clamp[i] < 0 ? ink : 255 * clamp[i])) } : this.start;
    else if (page.view === 'single') part.blocks.mean = { dtype: 'uint8', shape: [1, this.mean.length], data: this.mean };
    Object.assign(part.blocks, this.look?.blocks);
    Object.assign(part.head, clamp ? page.pen : this.look?.said ?? { mark: 'unsure', verdict: 'too early' });
    if (clamp) Object.assign(part.head.readouts ?? {}, { isl: null, class_coverage: null });
    const since = this.last - this.segment.begin;
    this.numbers = { ...part.head.readouts, sweeps: since ? this.sweeps / since : null };
    return part;
  }
}

/** A walk over the landscape of a small model. */
class LiveWalk extends LiveRun {
  /** @type {LandView | null} */
  view = null;

  /** @param {Made} made */
  append(made) {
    super.append(made);
    this.view = made.land;
  }

  /** @param {number} start */
  restart(start) {
    super.restart(start);
    this.view = null;
  }

  /** The error of visits beside that of independent draws. @returns {string | null} */
  get visitsText() { return this.last ? `${this.numbers.visits.toFixed(3)} (noise ${this.numbers.floor.toFixed(3)})` : null; }

  /** @param {number} _at @param {number} _slots @param {boolean} playing @param {any} page @returns {any} */
  partAt(_at, _slots, playing, page) {
    const { view } = this, states = view ? view.ground.length : 0;
    this.numbers = view ? { ...view.numbers, rate: this.last } : {};
    return {
      head: { key: this.head.key, run: this.run, n: this.last, status: playing && !this.paused ? 'running' : 'paused', state: view ? view.state : page.start, readouts: { ...this.numbers, visits: this.visitsText } },
      blocks: view ? {
        ground: { dtype: 'float32', shape: [states], data: view.ground }, visits: { dtype: 'float32', shape: [states], data: view.visits },
        trail: { dtype: 'uint16', shape: [view.trail.length], data: Uint16Array.from(view.trail) },
      } : {},
    };
  }
}

/** Record the reason why nothing runs. @param {unknown} error @returns {string} */
function noteFailure(error) {
  SCRIPTS.error = sentenceOf(error);
  started();
  return SCRIPTS.error;
}

/** A page whose workers make what it shows, as it is asked for. */
class MadePage extends ReplayPage {
  /** @param {HTMLElement} root @param {ReturnType<typeof readFrame>} frame of the panels @param {ReturnType<typeof readFrame>} live @param {Document | HTMLElement} [keys] */
  constructor(root, frame, live, keys) {
    /** @type {any} */ (frame.request).live = live;
    super(root, frame, keys);
    this.last = Infinity;
    this.fetching = false;
    /** Whether the panels change without a further sample, such as the ground of a chain that begins or is heated. */
    this.stale = this.isStale;
    /** Number of samples requested. */
    this.made = 0;
    this.slider.hidden = true;
  }

  get isStale() { return this.isWalk; }

  /** The frame with the kernels and chains. @returns {any} */
  get live() { return /** @type {any} */ (this.data).live; }

  /** The address of the workers' script. @returns {string} */
  get workers() { return this.live.url ??= URL.createObjectURL(new Blob([this.live.request.worker], { type: 'text/javascript' })); }

  close() {
    super.close();
    for (const run of /** @type {any[]} */ (this.runs)) run.worker.terminate();
    URL.revokeObjectURL(this.live.url);
    this.live.url = null;
  }

  get commands() {
    const { p, ' ': space, s, arrowright } = super.commands; // there is no way back and no end, so the keys for those scroll
    return { p, ' ': space, s, arrowright, r: () => this.restart() };
  }

  /** Restart all runs. */
  restart() {
    this.time = 0;
    this.made = 0;
    this.stale = this.isStale;
    this.show(0);
  }

  drawStale() {
    this.stale = this.isStale;
    if (!this.playing) this.show(this.time);
  }

  /** Show the samples up to this number as soon as they exist. @param {number} time */
  show(time) {
    // A slow machine makes as many samples as it can, and never catches up on the rest.
    this.time = Math.max(this.playing ? Math.min(time, this.made + Math.max(this.speed * LONGEST_WAIT, 1)) : time, 0);
    const more = Math.floor(this.time) - this.made;
    if ((more > 0 || this.stale) && !this.fetching) this.fetch(Math.max(more, 0));
    else this.draw();
  }

  /** @param {number} more */
  async fetch(more) {
    this.fetching = true;
    this.stale = false;
    this.made += more;
    try {
      await this.make(more);
      this.draw();
      started();
    } catch (error) { this.fail(error); }
    this.fetching = false;
    if (!this.playing && !SCRIPTS.error && (this.stale || Math.floor(this.time) > this.made)) this.show(this.time); // for a step made in the meantime
  }

  /** @param {number} more @returns {Promise<unknown>} */
  make(more) { return Promise.all(/** @type {LiveRun[]} */ (this.runs).map(run => (run.paused ? null : run.make(more)))); }

  /** @param {unknown} error */
  fail(error) {
    this.playing = false;
    this.button.textContent = 'Play';
    if (SCRIPTS.error) return;
    noteFailure(error);
    this.host.before(alertOf(error));
  }

  get shown() { return this.made; }
}

class LivePage extends MadePage {
  /** @param {HTMLElement} root @param {ReturnType<typeof readFrame>} frame of the panels @param {ReturnType<typeof readFrame>} live @param {Document | HTMLElement} [keys] */
  constructor(root, frame, live, keys) {
    super(root, frame, live, keys);
    const model = new TileModel(this.live);
    this.grid.askForTile = (key, sample) => {
      const run = /** @type {LiveRun} */ (this.liveRuns.find(({ head }) => head.key === key)), row = sample - run.head.first;
      if (row >= 0 && row < run.length) this.grid.loupe.take(model.tileOf(key, sample, unpackBits(run.rows, row)));
    };
    this.grid.changeKnobs = (key, knobs) => this.turn(/** @type {LiveRun} */ (this.liveRuns.find(({ head }) => head.key === key)), knobs);
    this.seed = element('select', { 'aria-label': 'Seed', hidden: this.seeds.length < 2, onchange: () => this.restart() },
      ...this.seeds.map((seed, i) => element('option', { value: i, text: `seed ${seed}` })));
    this.transport.append(this.seed, element('button', { type: 'button', class: 'again', text: 'Begin again', onclick: () => this.restart() }));
    this.hint.textContent = 'Live: your browser computes these samples, with the kernels of rbmviz, and sends nothing. Keys: P or space plays and pauses, S makes one sample, R begins again.';
    this.scripts = SCRIPTS.panels = this.api();
    this.shares = this.data.data_shares;
    /** What is held in all panels: values of units, FREE for the others. */
    this.drawing = new Array(this.data.n_visible).fill(FREE);
    /** The pen of a page of its own, whose address keeps the drawing. @type {Pen | null} */
    this.pen = null;
    if (!this.data.pen || keys !== document) return;
    const surface = element('div'), { text } = hashParts(), units = text ? unitsOfText(text, this.data.n_visible) : null;
    this.host.before(element('details', { class: 'drawing', open: units !== null }, element('summary', { text: 'Draw a part, and the samplers complete it' }), surface));
    if (text && !units) this.host.before(alertOf(`Nothing is held: this drawing does not fit a model with ${whole.format(this.data.n_visible)} visible units.`));
    this.pen = new Pen(surface);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.pen?.draw(), { signal: this.closing.signal });
    this.hold(this.pen, units ?? this.drawing);
  }

  /** Hold units in all panels, which begin again. @param {Pen} pen @param {number[]} units */
  hold(pen, units) {
    if (units.includes(FREE)) this.drawing = [...units];
    const { drawing, data: { shape } } = this, held = drawing.some(unit => unit !== FREE) ? drawing : null, { names, model } = hashParts();
    const shown = model || held ? this.data.model : '', parts = [...names, ...shown ? [`model=${shown}`] : [], ...held ? [`clamp=${clampText(held)}`] : []]; // a drawing is of one model
    Object.assign(this.data, { held: held ?? [], data_shares: held ? [] : this.shares });
    for (const run of this.liveRuns) run.clamp = held;
    history.replaceState(null, '', location.href.split('#')[0] + (parts.length ? `#${parts}` : ''));
    this.grid.arrange();
    this.restart();
    if (isCalm() && !this.playing) this.show(this.grid.side ** 2); // as at the beginning
    pen.configure({ shape, units: drawing, taken: pen.sent, facts: null, energies: null }, (_, message) => this.drawn(pen, /** @type {any} */ (message)));
    if (!units.includes(FREE)) put(pen.said, 'All units are held; leave at least one free.');
  }

  /** Take a stroke, or a button of the pen. @param {Pen} pen @param {{ act: string, units: number[] }} message */
  drawn(pen, { act, units }) {
    const { data: { shape: [rows, columns], held = [] }, liveRuns: [{ length, rows: made, start }] } = this;
    const image = held.length ? held : length ? unpackBits(made, length - 1) : start.data;
    this.hold(pen, act === 'upper' ? units.map((_, i) => (i < (rows >> 1) * columns ? Number(image[i] > 0) : FREE)) : units);
  }

  changeTheme() { super.changeTheme(); this.pen?.draw(); }

  /** @returns {number[]} */
  get seeds() { return this.liveRuns[0].seeds; }

  get liveRuns() { return /** @type {LiveRun[]} */ (this.runs); }

  /** @param {ReplayHead} head */
  makeRun(head) {
    return new (this.isWalk ? LiveWalk : LiveRun)(head, this.data.classes.length, this.live, this.workers);
  }

  /** Turn knobs of a run. @param {LiveRun} run @param {Record<string, KnobValue>} knobs */
  turn(run, knobs) {
    run.turn(knobs);
    this.drawStale();
  }

  /** Restart all runs. @param {number} [start] index of the seed */
  restart(start = Number(this.seed.value)) {
    for (const run of this.liveRuns) run.restart(start);
    this.seed.value = String(start);
    super.restart();
  }

  get shownText() { return `${whole.format(this.made)} samples`; }

  /** Draw the curves of the samples since the last turn of each panel's knobs. @param {CurvesSpec} isl */
  drawCurves(isl) {
    this.curves.node.hidden = Boolean(this.data.held?.length);
    const lines = this.liveRuns.map(run => {
      const { begin, curve } = run.segment, { label, colour, dash } = run.head.spec;
      const points = curve.filter(([n]) => n >= this.live.request.fewest_curve).map(([n, score]) => /** @type {[number, number]} */ ([begin + n, score]));
      return { ...this.live.request.line, name: label, colour, dash, points };
    });
    if (!this.curves.spec && !lines.some(({ points }) => points.length > 1)) return; // an existing chart is redrawn even without lines, so that it loses earlier samples' curves
    this.curves.show({ ...isl, lines, marks: [], x: { ...isl.x, domain: null }, y: { ...isl.y, domain: null } });
    this.curves.draw(rgb(this.host, 'var(--st-text-color)'));
  }

  /** Return the panels' interface for scripts; its methods refuse a call with an Error of one sentence. */
  api() {
    const page = this;
    /** @param {string} sentence @returns {never} */
    const refuse = sentence => { throw new Error(sentence); };
    return this.liveRuns.map(run => ({
      sampler: run.sampler,
      get n() { return run.last; },
      pause() { run.paused = true; page.draw(); },
      resume() { run.paused = false; page.draw(); },
      /** @param {number} k */
      async step(k) {
        if (!Number.isInteger(k) || k < 0) refuse(`step(${k}): give a whole number of samples.`);
        for (let done = 0; done < k; done += 1000) await run.make(Math.min(1000, k - done));
        page.draw();
      },
      /** @param {string} name @param {KnobValue} value */
      set(name, value) {
        const knob = run.head.spec.knobs.find(each => each.name === name) ?? refuse(`${run.sampler} has no knob '${name}' that can be turned here.`);
        const number = knob.kind === 'int' || knob.kind === 'float';
        const fits = number ? typeof value === 'number' && ((value >= knob.lo && value <= knob.hi) || (knob.zero && value === 0)) && (knob.kind === 'float' || Number.isInteger(value))
          : knob.kind === 'bool' ? typeof value === 'boolean' : knob.choices.includes(String(value));
        if (!fits) refuse(`${name} = ${value}: the range is ${knob.range}.`);
        page.turn(run, { [name]: value });
        page.grid.panels.get(run.head.key)?.controls[name]?.set(value);
      },
      /** @param {number} seed */
      reset(seed) {
        const start = run.seeds.indexOf(seed);
        if (start < 0) refuse(`This page has the seeds ${run.seeds.join(', ')}, and not ${seed}.`);
        run.restart(start);
        page.drawStale();
      },
      /** @param {number} first @param {number} count @returns {Uint8Array} */
      samples(first, count) {
        if (first < run.head.first || first + count > run.last) refuse(`The page holds the samples ${run.head.first} to ${run.last}.`);
        const v = new Uint8Array(count * run.rows.shape[1]);
        for (let i = 0; i < count; i++) v.set(unpackBits(run.rows, first - run.head.first + i), i * run.rows.shape[1]);
        return v;
      },
    }));
  }
}

/** What the address has after #: names of samplers, the text of what is held and, on the site, the model. @returns {{ names: string[], text?: string, model?: string }} */
function hashParts() {
  const parts = location.hash.slice(1).split(',').filter(Boolean), { clamp, model } = Object.fromEntries(parts.map(part => part.split('=')));
  return { names: parts.filter(part => !part.includes('=')), text: clamp, model };
}

/** Return ``Clamp.text`` (rbmviz/rbm/clamp.py). @param {number[]} units @returns {string} */
function clampText(units) {
  const held = units.map(unit => Number(unit !== FREE)), values = units.filter(unit => unit !== FREE);
  const packed = [held, values].flatMap(bits => [...packRow(Uint8Array.from(bits), Math.ceil(bits.length / 8))]);
  return textOf(Uint8Array.from(packed)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** Return the units of ``Clamp.text``; null if no clamp of this size has this text. @param {string} text @param {number} n @returns {number[] | null} */
function unitsOfText(text, n) {
  try {
    const packed = bytesOf(text.replace(/-/g, '+').replace(/_/g, '/')), bits = unpackBits({ dtype: 'bits', shape: [1, 8 * packed.length], data: packed });
    let next = 8 * Math.ceil(n / 8);
    const units = Array.from({ length: n }, (_, i) => (bits[i] ? bits[next++] ?? 0 : FREE));
    return clampText(units) === text && units.includes(FREE) ? units : null;
  } catch { return null; } // other characters
}

/** Keep the panels of the samplers that the address names after #, or all of them. @param {ReturnType<typeof readFrame>} frame */
function choosePanels(frame) {
  addEventListener('hashchange', () => location.reload());
  const { names: wanted } = hashParts(), chosen = frame.panels.filter(({ head }) => wanted.includes(/** @type {any} */ (head).spec.sampler));
  if (!chosen.length) return;
  frame.panels = chosen;
  const { isl } = /** @type {ReplayData} */ (frame.request), labels = chosen.map(({ head }) => /** @type {any} */ (head).spec.label);
  if (isl) isl.lines = isl.lines.filter(({ name }) => labels.includes(name));
}

/** Compile a frame's kernels, once for all workers. @param {ReturnType<typeof readFrame>} frame */
async function withKernels(frame) {
  const wasm = /** @type {any} */ (frame.panels[0].blocks.wasm);
  wasm.module = await WebAssembly.compile(wasm.data);
  return frame;
}

/**
 * @param {HTMLElement} root
 * @param {ReturnType<typeof readFrame>} frame
 * @param {() => Promise<ArrayBuffer>} [live] returns the frame with the kernels and chains
 * @param {Document | HTMLElement} [keys] where keys are pressed
 */
async function livePage(root, frame, live = () => unpackedFrame('live'), keys = document) {
  if (keys === document) choosePanels(frame);
  try {
    if (!runsHere()) throw new Error(`${NO_VECTORS} open it in a newer one.`);
    return new LivePage(root, frame, await withKernels(readFrame(await live())), keys);
  } catch (error) {
    noteFailure(error);
    throw error;
  }
}
