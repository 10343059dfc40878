// @ts-check
// A page that replays runs from one file: the samples are in the page (rbmviz/view/replay.py), and nothing is
// fetched. The page uses the panels of the Sample page, with frames made in the browser.

/**
 * One run of the file; blocks of dtype uint8 and uint16 have one number per sample.
 * @typedef {object} ReplayHead
 * @property {number} key
 * @property {number} first number of the first stored sample, from 0
 * @property {number} n_chains
 * @property {Segment[]} segments segments, each from one turn of a knob to the next
 * @property {[number, string][]} knobs_at number of a first sample, and the knobs from there on, in words
 * @property {PanelSpec} spec
 */

/**
 * Scores of the samples that follow the first ``begin`` samples, up to the next turn of a knob.
 * @typedef {{ begin: number, curve: [number, number | null, number | null][] }} Segment ``curve`` holds the samples since ``begin``, the ISL, and its standard error
 */

/** @typedef {PageData & { title: string, caption: string, contains?: string, speed: number, fewest_scored: number, visited_share: number, classes: string[], data_shares: number[], isl: CurvesSpec | null, pen?: object | null, held?: number[], model?: string }} ReplayData pen: what a panel says while a part is held, if there is a pen */

const STRIP_BINS = 120; // maximum number of parts of the class strip
const SPEEDS = [5, 20, 60, 200, 1000, 5000]; // samples per second
const DRAWS_PER_SECOND = 20;
const LONGEST_WAIT = 0.25; // maximum time between pictures, in seconds: longer gaps, such as on a hidden page, count as this long, so that no samples are skipped

/** A replayed run. */
class PlayedRun {
  /** @param {ReplayHead} head @param {PanelPart['blocks']} blocks @param {number} n_classes */
  constructor(head, blocks, n_classes) {
    this.head = head;
    this.n_classes = n_classes;
    this.rows = /** @type {Block} */ (blocks.v);
    this.length = rowCount(this.rows);
    this.last = head.first + this.length;
    this.classes = blocks.classes?.data ?? [];
    this.blank = blocks.blank?.data ?? [];
    this.spurious = blocks.spurious?.data ?? [];
    this.run = 0;
    /** Number of samples, counted from the run's first, whose pictures the panel has. */
    this.shown = head.first;
  }

  /**
   * Return the panel's part of a frame after this many samples of the run.
   * @param {number} at
   * @param {number} slots number of pictures that the panel shows
   * @param {boolean} playing
   * @param {ReplayData} page
   */
  partAt(at, slots, playing, { data_shares, fewest_scored, visited_share }) {
    const { first } = this.head, n = Math.min(Math.max(at, first), this.last);
    if (n < this.shown) { this.run++; this.shown = first; } // when looking back, begin with empty pictures
    const m = Math.min(n - this.shown, slots), from = n - m - first, bytes = Math.ceil(this.rows.shape[1] / 8);
    this.shown = n;
    /** @type {PanelPart['blocks']} */
    const blocks = {};
    if (m) blocks.v = { dtype: 'bits', shape: [m, this.rows.shape[1]], data: /** @type {Uint8Array} */ (this.rows.data).subarray(bytes * from, bytes * (from + m)) };
    // All numbers count samples since the last turn of a knob; with few samples there are no numbers.
    const { begin, curve } = this.head.segments.filter(segment => segment.begin < Math.max(n, 1)).at(-1) ?? { begin: 0, curve: [] };
    const enough = !begin || n - begin >= fewest_scored, counted = Math.max(begin, first);
    const score = enough ? curve.filter(([count]) => count <= n - begin).at(-1) : undefined;
    const standing = enough ? this.standingAt(begin, score) : `Too few yet: ${whole.format(n - begin)} of ${fewest_scored} samples since the change.`;
    let bins_before = 0;
    if (this.n_classes) {
      const width = this.binWidthAt(n - first);
      blocks.class_shares = this.sharesAt(n - first, width);
      bins_before = Math.ceil((counted - first) / width);
    }
    const knobs = this.head.knobs_at.filter(([count]) => count <= Math.max(n - 1, first)).at(-1);
    return { head: {
      key: this.head.key, run: this.run, n, status: playing && n < this.last ? 'running' : 'paused', readouts: enough ? this.readoutsAt(counted - first, n - first, score, data_shares, visited_share) : {},
      standing, since: knobs ? knobs[1] : '', bins_before,
    }, blocks };
  }

  /** @param {number} from @param {number} to ends of the file's range of counted samples @param {[number, number | null, number | null] | undefined} score @param {number[]} data_shares @param {number} visited_share @returns {Record<string, ReadoutValue>} */
  readoutsAt(from, to, score, data_shares, visited_share) {
    let blank = 0, spurious = 0, switches = 0;
    const counts = new Float64Array(this.n_classes), recognised = new Float64Array(this.n_classes), chains = this.head.n_chains, m = to - from;
    for (let i = from; i < to; i++) {
      blank += this.blank[i] ?? 0;
      spurious += this.spurious[i] ?? 0;
      if (i >= from + chains && this.classes[i] !== this.classes[i - chains]) switches++;
      if (!this.n_classes || this.blank[i]) continue;
      counts[this.classes[i]]++;
      if (!this.spurious[i]) recognised[this.classes[i]]++;
    }
    const covered = recognised.reduce((sum, count, c) => sum + Math.min(count / m, data_shares[c]), 0);
    return {
      largest_class: m && this.n_classes ? 100 * Math.max(...counts) / m : null,
      visited: [recognised.filter(count => count > visited_share * m).length, this.n_classes], switches,
      class_coverage: m ? 100 * covered : null, blank: m ? 100 * blank / m : null, spurious: m ? 100 * spurious / m : null,
      isl: score && score[1] !== null ? /** @type {any} */ ([score[1], score[2]]) : null,
    };
  }

  /** @param {number} begin number of samples before the first scored sample @param {[number, number | null, number | null] | undefined} score */
  standingAt(begin, score) {
    const { first } = this.head;
    const counted = first > begin ? `Counted from sample ${whole.format(first + 1)} on. ` : '';
    return counted + (score ? `ISL of the first ${whole.format(score[0])} samples${begin ? ' since the change' : ''}` : '');
  }

  /** @param {number} m number of the file's samples @returns {number} number of samples in a part of the strip */
  binWidthAt(m) {
    let width = 1;
    while (m > STRIP_BINS * width) width *= 2;
    return width;
  }

  /** @param {number} m number of the file's samples @param {number} width @returns {Block} */
  sharesAt(m, width) {
    const bins = Math.ceil(m / width), counts = new Float64Array(bins * this.n_classes), data = new Uint8Array(counts.length);
    for (let i = 0; i < m; i++) if (!this.blank[i]) counts[Math.floor(i / width) * this.n_classes + this.classes[i]]++;
    for (let bin = 0; bin < bins; bin++) for (let c = 0; c < this.n_classes; c++) {
      data[bin * this.n_classes + c] = Math.round(255 * counts[bin * this.n_classes + c] / Math.min(width, m - bin * width));
    }
    return { dtype: 'uint8', shape: [bins, this.n_classes], data };
  }
}

// @ts-expect-error The table of pages' panels precedes this script (rbmviz/view/replay.py).
/** @type {Record<string, PanelClass>} */ const panelClasses = PANEL_CLASSES;

/** The page: its panels, and its clock. */
class ReplayPage {
  /** @param {HTMLElement} root @param {ReturnType<typeof readFrame>} frame @param {Document | HTMLElement} [keys] where keys are pressed */
  constructor(root, frame, keys = document) {
    const page = /** @type {any} */ (frame.request), heads = /** @type {ReplayHead[]} */ (/** @type {unknown} */ (frame.panels.map(({ head }) => head)));
    /** @type {ReplayData} */
    this.data = { ...WITHOUT_SERVER, ...page, panels: heads.map(({ spec }) => spec) };
    this.runs = frame.panels.map(({ blocks }, i) => this.makeRun(heads[i], blocks));
    this.first = Math.min(...this.runs.map(({ head }) => head.first));
    this.last = Math.max(...this.runs.map(({ last }) => last));
    this.speed = this.data.speed;
    this.playing = false;
    /** Number of samples made so far, plus a fraction of the next sample. */
    this.time = this.first;
    this.drawnAt = 0;
    this.movedAt = 0;
    this.nextMove = 0;
    if (keys === document) document.title = this.data.title;
    root.append(element('h1', { text: this.data.title }), element('p', { class: 'caption', text: this.data.caption, hidden: !this.data.caption }));
    this.host = element('div');
    root.append(this.host);
    this.grid = new ShownGrid(this.host, this.data, panelClasses[this.panelClass]);
    this.curves = new Curves();
    if (this.data.isl) root.append(this.curves.node);
    this.hint = element('p', { class: 'small', text: 'Keys: P or space plays and pauses, the arrows and S go one sample on or back, '
      + 'Home and End to the beginning and the end. A sample is drawn from the one before it; the newest is framed, and the strip says which class each had.' });
    this.button = element('button', { class: 'play', type: 'button', onclick: () => this.play(!this.playing) });
    this.slider = element('input', { class: 'time', type: 'range', min: this.first, max: this.last, step: 1, 'aria-label': 'Time',
      oninput: () => { this.playing = false; this.show(Number(this.slider.value)); } });
    this.at = element('output', { class: 'at' });
    const speeds = [...new Set([...SPEEDS, this.speed])].sort((a, b) => a - b);
    const choice = element('select', { onchange: () => { this.speed = Number(choice.value); } },
      ...speeds.map(speed => element('option', { value: speed, text: `${whole.format(speed)} a second` })));
    choice.value = String(this.speed);
    this.transport = element('div', { class: 'transport', role: 'group', 'aria-label': 'Play' },
      this.button, element('button', { type: 'button', class: 'step', text: 'Step', title: 'One sample more', onclick: () => this.step(1) }),
      this.slider, this.at, element('label', {}, element('span', { text: 'Speed' }), choice));
    root.append(this.transport, element('button', { class: 'theme', type: 'button', text: 'Light or dark', onclick: () => this.changeTheme() }), this.hint,
      element('p', { class: 'small contains', text: this.data.contains ?? '', hidden: !this.data.contains }));
    this.closing = new AbortController();
    const { signal } = this.closing;
    keys.addEventListener('keydown', event => this.onKey(/** @type {KeyboardEvent} */ (event)), { signal });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.show(this.time), { signal });
  }

  close() {
    this.playing = false;
    this.closing.abort();
    this.grid.close();
  }

  /** @param {ReplayHead} head @param {PanelPart['blocks']} blocks @returns {PlayedRun} */
  makeRun(head, blocks) { return new PlayedRun(head, blocks, this.data.classes.length); }

  /** Whether the panels show walks over a landscape. */
  get isWalk() { return this.data.view === 'landscape'; }

  /** The page whose panels these are. @returns {string} */
  get panelClass() { return this.isWalk ? 'chain' : 'sample'; }

  /** Number of samples shown, and the words for this number. */
  get shown() { return Math.floor(this.time); }

  get shownText() { return `${whole.format(this.shown)} of ${whole.format(this.last)}`; }

  changeTheme() {
    const root = document.documentElement, dark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
    root.dataset.theme = dark ? 'light' : 'dark';
    this.show(this.time);
  }

  /** Actions of the keys. @returns {Record<string, () => void>} */
  get commands() {
    const play = () => this.play(!this.playing), more = () => this.step(1);
    return { p: play, ' ': play, s: more, arrowright: more, arrowleft: () => this.step(-1), home: () => this.step(-Infinity), end: () => this.step(Infinity) };
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const target = event.target instanceof Element ? event.target : document.body, key = plainKey(event), act = this.commands[key];
    if (!act || target.matches('select, input:not(.time)') || (key === ' ' && target.matches('button, summary'))) return;
    if (target === this.slider && (key.startsWith('arrow') || key === 'home' || key === 'end')) return; // the slider has its own keys
    event.preventDefault();
    if (!event.repeat || (key !== 'p' && key !== ' ')) act(); // a held key repeats steps, but not Play
  }

  /** Play or, if the user prefers less motion, wait with the first full pictures. @param {boolean} [playing] whether to play at all */
  begin(playing = true) {
    if (isCalm()) this.show(Math.min(this.first + this.grid.side ** 2, this.last));
    else this.play(playing);
  }

  /** @param {boolean} playing */
  play(playing) {
    if (playing && this.time >= this.last) this.time = this.first;
    cancelAnimationFrame(this.nextMove); // Play may be pressed twice within a frame
    if (playing) this.nextMove = requestAnimationFrame(now => { this.movedAt = now; this.move(now); });
    this.playing = playing;
    this.show(this.time);
  }

  /** @param {number} samples */
  step(samples) {
    this.playing = false;
    this.show(Math.floor(this.time) + samples);
  }

  /** @param {number} now in milliseconds */
  move(now) {
    if (!this.playing) return;
    this.time = Math.min(this.time + this.speed * Math.min((now - this.movedAt) / 1000, LONGEST_WAIT), this.last);
    this.movedAt = now;
    if (this.time >= this.last) this.playing = false;
    if (!this.playing || now - this.drawnAt >= 1000 / DRAWS_PER_SECOND - 1) {
      this.drawnAt = now;
      this.show(this.time);
    }
    this.nextMove = requestAnimationFrame(later => this.move(later));
  }

  /** Draw the ISL curves of the samples shown, on the axes of the whole runs. @param {CurvesSpec} isl */
  drawCurves(isl) {
    const at = this.shown;
    const points = isl.lines.flatMap(line => line.points), ys = points.map(([, y]) => y), [low, high] = [Math.min(...ys), Math.max(...ys)], rest = (high - low) / 12 || 0.5;
    const x = { ...isl.x, domain: /** @type {[number, number]} */ ([points.reduce((least, [n]) => Math.min(least, n), this.last), this.last]) };
    this.curves.show({ ...isl, x, y: { ...isl.y, domain: [low - rest, high + rest] }, marks: isl.marks.filter(mark => mark.x <= at),
      lines: isl.lines.map(line => ({ ...line, points: line.points.filter(([n]) => n <= at) })) });
    this.curves.draw(rgb(this.host, 'var(--st-text-color)'));
  }

  /** Show the samples up to this number. @param {number} time */
  show(time) {
    this.time = Math.min(Math.max(time, this.first), this.last);
    this.draw();
  }

  draw() {
    const { shown, shownText } = this;
    this.grid.show(this.runs.map(run => run.partAt(shown, this.grid.side ** 2, this.playing, this.data)));
    if (this.data.isl) this.drawCurves(this.data.isl);
    this.button.textContent = this.playing ? 'Pause' : 'Play';
    this.slider.value = String(shown);
    this.slider.setAttribute('aria-valuetext', `sample ${shownText}`);
    this.at.textContent = shownText;
    this.host.dataset.at = String(shown);
  }
}

/** @param {string} id @returns {Promise<ArrayBuffer>} a frame contained in this page */
async function unpackedFrame(id) {
  const script = /** @type {HTMLElement} */ (document.getElementById(id)), content = script.textContent ?? '';
  script.remove(); // free the memory of one copy
  if (!('DecompressionStream' in window)) throw new Error('This browser cannot unpack the samples: it is too old. Browsers from 2023 on can.');
  try {
    const text = atob(content), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return await inflated(bytes);
  } catch {
    throw new Error('The data in this file are damaged: copy or download it again.');
  }
}

/** @param {unknown} error @returns {HTMLElement} the error's sentence, read aloud */
const alertOf = error => element('p', { role: 'alert', text: sentenceOf(error) });

/** Show a page of runs. @param {(root: HTMLElement, frame: ReturnType<typeof readFrame>) => ReplayPage | Promise<ReplayPage>} make */
async function showRuns(make) {
  const root = /** @type {HTMLElement} */ (document.getElementById('replay'));
  try {
    const frame = readFrame(await unpackedFrame('run'));
    root.replaceChildren();
    (await make(root, frame)).begin();
  } catch (error) {
    root.replaceChildren(alertOf(error));
  }
}
