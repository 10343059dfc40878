// @ts-check
// The panel of the Coupling page: for each algorithm a pair of chains side by side, sweep by sweep.

/** @typedef {{ name: string, label: string, help: Prose, equation: string[], colour: string, dash: number[], readouts: ReadoutSpec[] }} PairColumnSpec */
/** @typedef {PageData & { pair_columns: PairColumnSpec[], highlight: string }} CouplingPageData */

/**
 * The displayed pair, as described by the server.
 * @typedef {object} PairColumnHead
 * @property {number} pair
 * @property {number} t number of sweeps of the first chain
 * @property {boolean} met
 * @property {boolean} truncated
 * @property {number} stride number of sweeps between two points of the path
 * @property {{ pair: number, tau: number, truncated: boolean, stride: number } | null} ended the pair that has just ended
 */

/** @typedef {{ points: number[], stride: number }} Path number of differing pixels: point j is at sweep 1 + j * stride */

/** @typedef {{ pair: number, t: number, met: boolean, truncated: boolean, v: Uint8Array, v2: Uint8Array, path: Path }} ShownPair */

const HOLD_MS = 900; // minimum time for which a meeting stays on the screen, however fast the sweeps are
const MAX_TRAILS = 12; // maximum number of earlier pairs' paths drawn behind the newest
const OFF_DIFFERS = 1, ON_DIFFERS = 254; // values of cells that differ, which have their own colours
const PATH_HEIGHT = 64;

/** The pair of chains of one algorithm. */
class PairColumn {
  /** @param {PairColumnSpec} spec @param {string} highlight colour of the pixels that differ */
  constructor(spec, highlight) {
    this.spec = spec;
    this.highlight = highlight;
    /** @type {ShownPair | null} */
    this.now = null;
    /** A pair that has ended, and the time until which it is shown. @type {ShownPair | null} */
    this.held = null;
    this.heldUntil = 0;
    this.endedPair = -1; // number of the last pair whose end was received
    /** @type {Path[]} */
    this.trails = [];
    const chains = ['ξ', 'η']; // ξ is one sweep ahead
    this.pictures = ['xi', 'eta'].map(name => new Mosaic(`${spec.name} ${name}`));
    this.pictures.forEach(({ canvas }, i) => {
      canvas.setAttribute('aria-label', `${chains[i]}, ${spec.label}`);
      canvas.title = `Orange: the chains differ; bright where ${chains[i]} is on.`;
    });
    this.strip = element('canvas', { class: 'strip', role: 'img', 'aria-label': `Pixels that differ, ${spec.label}` });
    this.strip.style.height = `${PATH_HEIGHT}px`; // also before it is drawn, so that nothing moves
    this.caption = element('span', { class: 'where' });
    this.badge = element('div', { class: 'badge', role: 'status', hidden: true });
    this.readouts = new ReadoutList();
    this.readouts.declare(spec.readouts);
    this.equation = new Equation();
    this.equation.declare(spec.equation, {});
    this.node = element('div', { class: 'pair-column', 'data-algorithm': spec.name },
      element('header', {}, element('span', { class: 'swatch' }), element('h4', { text: spec.label, 'aria-level': 3 }), this.caption),
      element('div', { class: 'pair' },
        ...this.pictures.map((picture, i) => element('figure', {}, picture.canvas, element('figcaption', { text: chains[i] }))), this.badge),
      this.strip, this.readouts.lead);
    // Shown in the panel's fold.
    this.more = element('div', {},
      element('header', {}, element('span', { class: 'swatch' }), element('h4', { text: spec.label, 'aria-level': 3 }), ...helpButton(spec.label, spec.help)),
      this.readouts.more, this.equation.node);
    for (const { style } of [this.node, this.more]) {
      style.setProperty('--accent', spec.colour);
      style.setProperty('--dash', dashed(spec.dash)); // otherwise the panel's dash and colour would apply
    }
  }

  clear() {
    this.now = this.held = null;
    this.heldUntil = 0;
    this.endedPair = -1;
    this.trails = [];
  }

  /**
   * @param {PairColumnHead} head
   * @param {PanelPart['blocks']} blocks
   * @param {boolean} running
   */
  receive(head, blocks, running) {
    const { pair, t, met, truncated } = head, { name } = this.spec;
    this.now = { pair, t, met, truncated, ...this.pairOf(name, head.stride, blocks) };
    if (head.ended && head.ended.pair !== this.endedPair) { // the server sends it again after a reconnect
      this.endedPair = head.ended.pair;
      const ended = this.pairOf(`${name} ended`, head.ended.stride, blocks);
      if (running && performance.now() > this.heldUntil) {
        this.heldUntil = performance.now() + HOLD_MS;
        this.held = { pair: head.ended.pair, t: head.ended.tau, met: !head.ended.truncated, truncated: head.ended.truncated, ...ended };
      }
      this.trails = [...this.trails, ended.path].slice(-MAX_TRAILS);
    }
    if (!running) this.heldUntil = 0;
  }

  /** @param {string} name @param {number} stride @param {PanelPart['blocks']} blocks */
  pairOf(name, stride, blocks) {
    const v = /** @type {Block} */ (blocks[`${name} v`]), v2 = /** @type {Block} */ (blocks[`${name} v2`]);
    const path = { points: Array.from(/** @type {Block} */ (blocks[`${name} path`]).data), stride };
    return { v: unpackBits(v), v2: unpackBits(v2), path };
  }

  /** @param {number} rows @param {number} columns */
  layout(rows, columns) {
    for (const picture of this.pictures) picture.layout(rows, columns, 1, 1, Math.max(1, Math.ceil(80 / Math.max(rows, columns))));
  }

  /** @param {Grid} grid @param {Record<string, ReadoutValue>} readouts @param {boolean} running */
  draw(grid, readouts, running) {
    this.readouts.draw(readouts, running);
    const { now, held } = this;
    if (!now) return;
    const shown = held && performance.now() < this.heldUntil ? held : now, { v, v2, met } = shown, over = met || shown.truncated;
    const ink = grid.ink.slice(), highlight = ramp(grid.back, grid.colour(this.highlight));
    ink[OFF_DIFFERS] = highlight[90];
    ink[ON_DIFFERS] = highlight[255];
    let differ = 0;
    v.forEach((on, i) => {
      const unequal = on !== v2[i];
      if (unequal) differ++;
      this.pictures[0].cells[i] = unequal ? (on ? ON_DIFFERS : OFF_DIFFERS) : 255 * on;
      this.pictures[1].cells[i] = unequal ? (v2[i] ? ON_DIFFERS : OFF_DIFFERS) : 255 * v2[i];
    });
    for (const picture of this.pictures) picture.draw(ink, grid.gap, null);
    this.node.classList.toggle('met', over && met);
    this.node.classList.toggle('cut', over && !met);
    this.node.dataset.pair = String(now.pair);
    this.node.dataset.t = String(now.t);
    this.node.dataset.met = String(now.met);
    this.badge.hidden = !over;
    put(this.badge, met ? `met: τ = ${whole.format(shown.t)}` : `not met in ${whole.format(shown.t)} sweeps: cut off`);
    this.caption.textContent = shown.t
      ? `sweep ${whole.format(shown.t)} · ${whole.format(differ)}/${whole.format(v.length)} differ` : '';
    this.drawPath(grid, shown);
  }

  // Draw the number of differing pixels against sweeps: this pair in colour, earlier pairs behind it.
  /** @param {Grid} grid @param {ShownPair} shown */
  drawPath(grid, shown) {
    const height = PATH_HEIGHT, ink = grid.text, accent = grid.colour(this.spec.colour), left = 2, base = height - 15, top = 14;
    const all = [...this.trails, shown.path], last = Math.max(12, ...all.map(({ points, stride }) => points.length * stride));
    const most = Math.max(1, ...all.map(({ points }) => Math.max(...points, 0)));
    paintOn(this.strip, height, (x, width) => {
      /** @param {number} t */
      const px = t => left + (width - 2 * left - 4) * Math.log(t) / Math.log(last);
      /** @param {number} d */
      const py = d => base - (base - top) * d / most;
      x.fillStyle = translucent(ink, 0.65);
      x.textBaseline = 'top';
      x.fillText(`Pixels that differ (0 to ${whole.format(most)})`, left, 0);
      x.textBaseline = 'bottom';
      for (const t of [1, 10, 100, 1000, 10000, 100000].filter(t => t <= last)) {
        x.textAlign = t === 1 ? 'left' : 'center';
        x.fillText(t === 1 ? 'sweep 1' : compact.format(t), px(t), height);
      }
      x.fillStyle = translucent(ink, 0.25);
      x.fillRect(left, base, width - 2 * left, 1);
      all.forEach(({ points, stride }, i) => {
        const newest = i === all.length - 1;
        x.strokeStyle = translucent(accent, newest ? 1 : 0.22);
        x.lineWidth = newest ? 2 : 1;
        x.beginPath();
        points.forEach((d, j) => x.lineTo(px(1 + j * stride), py(d)));
        x.stroke();
        if (!newest || !points.length) return;
        x.fillStyle = translucent(accent, 1);
        x.beginPath();
        x.arc(px(1 + (points.length - 1) * stride), py(points[points.length - 1]), shown.met ? 5 : 3, 0, 7);
        x.fill();
      });
    });
  }
}

class CouplingPanel extends Panel {
  static columns = 4;
  mostFront = 4;
  unit = 'sweeps of the pairs on show';
  counted = ' sweeps shown';
  began = -1;
  pairColumns = this.page.pair_columns.map(spec => new PairColumn(spec, this.page.highlight));

  get page() { return /** @type {CouplingPageData} */ (this.grid.data); }

  build() {
    super.build();
    this.more.append(element('div', { class: 'pair-folds' }, ...this.pairColumns.map(column => column.more)));
  }

  makePictures() { return this.pairColumns.map(column => column.node); }

  arrange() {
    this.node.classList.add('coupling', 'roomy');
    this.strip.hidden = true;
    for (const column of this.pairColumns) column.layout(...this.page.shape);
  }

  /** @param {PanelHead & { began: number, pair_columns: Record<string, PairColumnHead> }} head @param {PanelPart['blocks']} blocks @param {boolean} isNewRun */
  receive(head, blocks, isNewRun) {
    // Turning a knob starts new pairs, unrelated to the earlier ones.
    if (isNewRun || head.began !== this.began) for (const column of this.pairColumns) column.clear();
    this.began = head.began;
    for (const column of this.pairColumns) if (head.pair_columns[column.spec.name]) column.receive(head.pair_columns[column.spec.name], blocks, head.status === 'running');
  }

  describe() { return this.pairColumns.map(column => `${column.spec.label}: ${column.badge.hidden ? column.caption.textContent : column.badge.textContent}.`).join(' '); }

  drawPictures() { for (const column of this.pairColumns) column.draw(this.grid, this.readoutValues, this.head?.status === 'running'); }
}

/** @param {Component} component */
export default component => mount(CouplingPanel, component);
