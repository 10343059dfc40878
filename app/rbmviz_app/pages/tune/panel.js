// @ts-check
// The map of a sweep: a cell for each setting, coloured by its score at one point of all curves.

/**
 * @typedef {object} MapAxis
 * @property {string} label
 * @property {string[]} values formatted
 * @property {boolean} apart whether a gap separates the last value, 1, from those that approach it
 */

/**
 * Description of a sweep from Python (map_spec in panel.py).
 * @typedef {object} MapSpec
 * @property {MapAxis} x
 * @property {MapAxis | null} y null: a sweep along one axis
 * @property {{ title: string, columns: number[], rows: number[] }[]} facets indices of each facet's values along x and y
 * @property {[number, number, number][]} positions of the cell of each setting: facet, column, row
 * @property {{ name: string, label: string, short: string, help: string, better: string, digits: number }[]} measures
 * @property {string} blank
 * @property {string[]} cost_units
 * @property {number} seeds
 * @property {number} runs of the whole sweep: one for each setting and seed
 * @property {(number | null)[]} open_settings open on the right; null: a setting without a cell
 * @property {{ cell: number, at: [number, number], score: string, n: number }[]} tried on the Sample page: nearest setting, place between columns and rows, ISL
 */

/** @typedef {PageData & { map: MapSpec }} TunePageData */

/**
 * @typedef {object} MapHead
 * @property {string} sweep_status
 * @property {number} n runs that are complete
 * @property {number} progress
 * @property {number | null} seconds_left
 * @property {string} cost_unit
 * @property {string} by
 * @property {number} point
 * @property {[number, number] | null} ends
 * @property {number | null} telling
 * @property {boolean} moved
 * @property {number[]} seeds how many are compared, for each model that has scores
 * @property {string[]} border
 * @property {string | null} [error]
 */

// Bits of the state of a setting, as in rbmviz/session/sweep_view.py.
const IS_KNOWN = 1, IS_IN_REGION = 2, IS_BEST = 4, IS_MOSTLY_BLANK = 8, IS_RUNNING = 16;
const POINT_STEPS = 400; // steps of the slider of samples, sweeps or seconds
const CELL_MOST = 74; // pixels: larger cells show no more; the map is as high as the first screen leaves room for
const CELL_LEAST = 15;
const SCALE_WIDTH = 104; // pixels to the right of the map, for its colour scale
const LABEL_GAP = 8;
const APART = 6; // pixels between the cells of 1 and those that approach it
const LOOK_MS = 400; // delay after the last change of point or cell, before the part below the map is redrawn

// Viridis (van der Walt and Smith, 2015): even steps of lightness, safe for colour blindness.
const VIRIDIS = ['#440154', '#481467', '#482677', '#453781', '#404788', '#39568c', '#33638d', '#2d708e', '#287d8e', '#238a8d', '#1f968b',
  '#20a387', '#29af7f', '#3cbb75', '#55c667', '#73d055', '#95d840', '#b8de29', '#dce319', '#fde725']
  .map(text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16)));

/** @param {number} share from 0 to 1 @returns {number[]} red, green and blue */
function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1), low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((from, c) => from + (VIRIDIS[low + 1][c] - from) * (at - low));
}

/** @param {number} x @param {number} digits after the point @returns {string} */
const decimal = (x, digits) => (Number.isFinite(x) ? x.toFixed(digits).replace('-', '−') : '–');

/** @param {number} seconds @returns {string} */
function duration(seconds) {
  if (seconds < 99.5) return `${Math.max(Math.round(seconds), 1)} s`;
  if (seconds < 5970) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** @param {string} costUnit @param {number} point @returns {string} */
const amount = (costUnit, point) => (costUnit === 'seconds' ? `${Number(point.toPrecision(3))} s` : `${whole.format(Math.round(point))} ${unitName(costUnit)}`);

/** "Gibbs", because the page also has sweeps of settings. @param {string} costUnit @returns {string} */
const unitName = costUnit => (costUnit === 'sweeps' ? 'Gibbs sweeps' : costUnit);

class MapPanel extends Panel {
  isRun = false;
  /** Address of the view of the displayed sweep. */
  url = '';
  lookTimer = 0;
  canvas = element('canvas', { class: 'map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map' });
  /** The setting under the pointer, or chosen by the arrow keys. @type {number | null} */
  at = null;
  /** @type {Record<string, Float32Array>} */
  numbers = {};
  /** The bits of each setting. @type {Uint8Array} */
  state = new Uint8Array(0);
  /** Positions of cells on the canvas, in CSS pixels. @type {{ x: number, y: number, w: number, h: number }[]} */
  boxes = [];
  /** Ends of the colour scale, and whether its lower end is cut off. */
  low = 0;
  high = 1;
  cut = false;
  progress = element('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the sweep', 'aria-valuemin': 0, 'aria-valuemax': 100 },
    element('div'));
  stateLine = element('p', { class: 'state', role: 'status' });
  pointName = element('label', { for: 'map-point' });
  slider = element('input', { id: 'map-point', type: 'range', min: 0, max: POINT_STEPS, step: 1, value: 0 });
  pointNote = element('p', { class: 'note-of-point' });
  telling = element('button', { type: 'button', class: 'telling', hidden: true, onclick: () => this.ask({ point: 0 }) });
  costUnit = element('select', { 'aria-label': 'What is equal', onchange: () => this.ask({ cost_unit: this.costUnit.value }) });
  by = element('select', { 'aria-label': 'What is coloured', onchange: () => this.ask({ by: this.by.value }) });
  cell = element('dl', { class: 'cell' });
  cellName = element('p', { class: 'cell-name' });
  verdict = element('p', { class: 'verdict' });
  extend = element('button', { type: 'button', class: 'telling', hidden: true, text: 'Extend the grid', onclick: () => this.grid.trigger('edit', { extend: true }),
    title: 'Add two values beyond the border, and compute them. Nobody else’s results change: a recorded map, or one of another visitor, is computed again with them.' });

  get map() { return /** @type {TunePageData} */ (this.grid.data).map; }
  get shown() { return /** @type {MapHead | null} */ (/** @type {unknown} */ (this.head)); }
  get measure() { return this.map.measures.find(({ name }) => name === this.shown?.by) ?? this.map.measures[0]; }

  /** @param {Record<string, KnobValue>} knobs */
  ask(knobs) {
    this.grid.turnKnobs(this.key, knobs);
    // The part below the map is redrawn every second while the sweep computes, otherwise on request.
    clearTimeout(this.lookTimer);
    if (!this.grid.data.present && !['planned', 'queued', 'running', undefined].includes(this.shown?.sweep_status)) {
      this.lookTimer = setTimeout(() => this.grid.trigger('redraw', true), LOOK_MS);
    }
  }

  build() {
    super.build();
    this.strip.remove();
    this.readouts.lead.remove();
    this.more.remove();
    this.warning.remove();
    const rows = element('div', { class: 'row-of-point' }, this.pointName, this.slider, this.telling);
    const choices = element('div', { class: 'choices' }, element('label', {}, element('span', { text: 'Colour' }), this.by),
      element('label', {}, element('span', { text: 'At equal' }), this.costUnit));
    this.knobs.replaceChildren(rows);
    this.knobs.before(element('div', { class: 'answer' }, this.verdict, this.extend));
    this.stage.after(this.progress, this.stateLine, this.pointNote, this.cellName, this.cell, choices);
    this.canvas.addEventListener('pointermove', event => { if (event.pointerType === 'mouse' || event.buttons) this.chooseCellAt(event); });
    this.canvas.addEventListener('pointerdown', event => this.chooseCellAt(event));
    this.canvas.addEventListener('click', event => { if (this.chooseCellAt(event)) this.toggle(); });
    this.canvas.addEventListener('keydown', event => this.onKey(event));
    this.slider.addEventListener('input', () => this.ask({ point: this.amountAt(Number(this.slider.value)) }));
  }

  makePictures() { return [this.canvas]; }

  progressOf() { return (this.stateLine.textContent ?? '').replace(/[.] *$/, ''); }

  arrange() {
    const { measures, cost_units, y, x } = this.map, { url } = this.grid.data;
    if (url !== this.url) { // another sweep: the previous sweep's data do not fit its cells
      this.url = url;
      this.head = this.at = null;
      this.state = new Uint8Array(0);
      this.numbers = {};
      this.boxes = [];
    }
    const fill = (/** @type {HTMLSelectElement} */ select, /** @type {[string, string][]} */ options) => {
      if ([...select.options].map(({ value }) => value).join() !== options.map(([value]) => value).join()) {
        select.replaceChildren(...options.map(([value, text]) => element('option', { value, text })));
      }
    };
    fill(this.by, measures.map(({ name, label }) => [name, label]));
    fill(this.costUnit, cost_units.map(name => [name, unitName(name)]));
    this.canvas.setAttribute('aria-label', `Map of ${this.spec.label}: ${x.label}${y ? ` by ${y.label}` : ''}. Arrow keys choose a cell, Enter opens it.`);
  }

  /** @param {number} step @returns {number} the point at a step of the slider */
  amountAt(step) {
    const [low, high] = this.shown?.ends ?? [10, 10];
    return low > 0 ? low * (high / low) ** (step / POINT_STEPS) : high * step / POINT_STEPS;
  }

  /** @param {number} point @returns {number} */
  stepAt(point) {
    const [low, high] = this.shown?.ends ?? [10, 10];
    return high > low && low > 0 ? Math.round(POINT_STEPS * Math.log(point / low) / Math.log(high / low)) : POINT_STEPS;
  }

  /** @param {MapHead & PanelHead} head @param {PanelPart['blocks']} blocks */
  receive(head, blocks) {
    for (const [name, block] of Object.entries(blocks)) {
      if (name === 'state') this.state = /** @type {Uint8Array} */ (block?.data);
      else this.numbers[name] = /** @type {Float32Array} */ (block?.data);
    }
    const { mean } = this.numbers, known = [...this.state.keys()].filter(i => this.state[i] & IS_KNOWN && Number.isFinite(mean[i])).map(i => mean[i]);
    const sign = this.map.measures.find(({ name }) => name === head.by)?.better === 'low' ? -1 : 1;
    const good = known.map(value => sign * value).sort((a, b) => a - b);
    if (!good.length) return;
    // Most of a map may be far below its best cells: the scale covers the better half.
    const high = good[good.length - 1], middle = good[Math.floor((good.length - 1) / 2)], low = Math.max(good[0], high - 3 * (high - middle));
    this.cut = low > good[0];
    [this.low, this.high] = [low, high === low ? low + 1e-9 : high];
  }

  /** @param {number} value @returns {number} from 0, bad, to 1, good */
  share(value) {
    const sign = this.measure.better === 'low' ? -1 : 1;
    return (sign * value - this.low) / (this.high - this.low);
  }

  // The pointer and the keys

  /** @param {PointerEvent | MouseEvent} event @returns {boolean} whether there is a cell */
  chooseCellAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    const found = this.boxes.findIndex(box => x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h);
    if (found >= 0) this.choose(found);
    return found >= 0;
  }

  /** @param {number} setting */
  choose(setting) {
    if (setting === this.at) return;
    this.at = setting;
    this.ask({ setting });
    this.drawPictures();
    this.announce();
  }

  toggle() {
    if (this.at !== null) this.grid.trigger('edit', { setting: this.at });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
    const step = steps[event.key], { positions } = this.map;
    if (event.key === 'Enter' || event.key === ' ') this.toggle();
    else if (event.key === 'Home') this.choose(Math.max([...this.state].findIndex(bits => bits & IS_BEST), 0));
    else if (step) {
      const from = positions[this.at ?? 0], to = [from[0], from[1] + step[0], from[2] + step[1]];
      let next = positions.findIndex(position => position.every((value, i) => value === to[i]));
      // Beyond the end of a facet comes the next one.
      if (next < 0 && step[0]) next = this.entryOf(from[0] + step[0], step[0] > 0 ? 0 : -1, from[2]);
      if (this.at === null) this.choose(0);
      else if (next >= 0) this.choose(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The cell in a facet's first (0) or last (-1) column nearest to a row, which the facet may lack; -1: no such facet.
   * @param {number} facet @param {0 | -1} end @param {number} row @returns {number}
   */
  entryOf(facet, end, row) {
    const { positions, facets } = this.map, column = facets[facet]?.columns.at(end);
    const away = (/** @type {number} */ i) => Math.abs(positions[i][2] - row);
    const cells = [...positions.keys()].filter(i => positions[i][0] === facet && positions[i][1] === column);
    return cells.reduce((best, i) => (best < 0 || away(i) < away(best) ? i : best), -1);
  }

  // Drawing

  drawPictures() {
    const head = this.shown;
    if (!head) return;
    this.drawWords(head);
    this.drawMap();
    this.drawCell();
  }

  /** @param {MapHead} head */
  drawWords(head) {
    const { seeds, runs } = this.map, percent = Math.floor(100 * head.progress);
    /** @type {HTMLElement} */ (this.progress.firstElementChild).style.width = `${100 * head.progress}%`;
    this.progress.setAttribute('aria-valuenow', String(percent));
    const left = head.seconds_left ? `, about ${duration(head.seconds_left)} left` : '';
    const words = /** @type {Record<string, string>} */ ({
      planned: 'press Start', queued: 'waits for the sweeps before it', running: `running${left}`, paused: 'paused', finished: 'complete', failed: 'failed', stopped: 'stopped',
    });
    put(this.stateLine, `${whole.format(head.n)} of ${whole.format(runs)} runs, ${words[head.sweep_status]}. ${head.error ?? ''}`);
    this.count.hidden = true;
    const range = head.ends !== null && head.ends[1] > head.ends[0], root = /** @type {ShadowRoot} */ (this.slider.getRootNode());
    this.slider.disabled = !range;
    put(this.pointName, `Scores after ${amount(head.cost_unit, head.point)}`);
    this.slider.setAttribute('aria-valuetext', amount(head.cost_unit, head.point));
    if (root.activeElement !== this.slider || head.moved) this.slider.value = String(this.stepAt(head.point));
    this.slider.style.setProperty('--fill', `${100 * Number(this.slider.value) / POINT_STEPS}%`);
    const over = head.sweep_status === 'finished';
    put(this.pointNote, head.moved ? 'The map moved to the point where the settings differ most. Drag to see others.'
      : seeds === 1 ? 'One seed cannot show where the settings differ most.'
      : head.telling !== null || over ? '' : 'Available after a few seeds.');
    this.telling.hidden = head.moved || head.telling === null || head.telling === head.point;
    if (head.telling !== null) put(this.telling, `Differ most at ${amount(head.cost_unit, head.telling)}`);
    for (const [select, value] of /** @type {[HTMLSelectElement, string][]} */ ([[this.by, head.by], [this.costUnit, head.cost_unit]])) if (select.value !== value) select.value = value;
    this.by.title = this.measure.help;
    const region = this.state.reduce((sum, bits) => sum + Number((bits & IS_IN_REGION) !== 0), 0);
    const known = this.state.reduce((sum, bits) => sum + (bits & IS_KNOWN), 0);
    const blank = this.state.some(bits => bits & IS_MOSTLY_BLANK) ? ' Crossed out: more than half of the samples are blank.' : '';
    const least = Math.min(...head.seeds), most = Math.max(...head.seeds), compared = least === most ? most : `${least} to ${most}`;
    const few = most ? 'one seed' : 'no seed';
    const best = this.answer(head), tied = region - head.seeds.length;
    const verdict = !known ? head.sweep_status === 'planned' ? 'Press Start: the best setting will be named here.' : 'No setting has a score yet.'
      : seeds === 1 ? `${best} One seed cannot tell settings apart.${blank}`
      : most < 2 ? `${best} At this point the settings have ${few} in common${over ? '' : ' so far'}: they cannot be told apart.${blank}`
      : `${best} ${tied > 0 ? `${tied} of ${known} settings ${tied === 1 ? 'is' : 'are'} tied with the best (hatched; 95\u00a0%, ${compared} of ${seeds} seeds, paired).` : 'No other setting is tied with the best.'}`
        + `${least < 2 ? ' On a model with fewer than two seeds in common, settings cannot be told apart.' : ''} ${head.border.join(' ') || 'The grid is wide enough.'}${blank}`;
    this.extend.hidden = !over || !head.border.length;
    put(this.verdict, known && !this.measure.better ? `Neither high nor low values are better; the highest counts as the best. ${verdict}` : verdict);
  }

  /** @param {MapHead} head @returns {string} the best setting of each model, with its score */
  answer(head) {
    const n = this.numbers, { short, digits } = this.measure, chosen = head.by.includes('validation');
    const score = (/** @type {number} */ x, /** @type {number} */ spread) => `${short} ${decimal(x, digits)}${Number.isFinite(spread) ? ` ± ${decimal(spread, digits)}` : ''}`;
    return [...this.state.keys()].filter(i => this.state[i] & IS_BEST).map(i => (chosen && Number.isFinite(n.test[i])
      ? `Best on the validation data: ${this.nameOf(i)}. On the test data${n.test[i] === n.mean[i] ? ' (here the same)' : ''}: ${score(n.test[i], n.test_std_dev[i])}.`
      : `Best: ${this.nameOf(i)}, ${score(n.mean[i], n.std_dev[i])}.`)).join(' ');
  }

  drawMap() {
    const { x, y, facets, positions } = this.map, ink = this.grid.text, width = this.canvas.parentElement?.clientWidth ?? 0;
    if (!width) return;
    const family = getComputedStyle(this.node).fontFamily, narrow = width < 480;
    const probe = context2d(this.canvas);
    probe.font = `12px ${family}`;
    const yWide = y ? Math.max(...y.values.map(text => probe.measureText(text).width)) : 0;
    const left = (y ? 22 + yWide + LABEL_GAP : 8), scaleWide = narrow ? 0 : SCALE_WIDTH, below = narrow ? 58 : 0;
    // As many facets side by side as leave cells a reasonable size.
    const between = 18, room = width - left - scaleWide - 6;
    const columnsOf = facets.map(({ columns }) => columns.length), rows = Math.max(y ? y.values.length : 1, 1);
    const most = Math.max(...columnsOf);
    const across = Math.max(1, Math.min(facets.length, Math.floor((room + between) / (most * CELL_LEAST * 1.6 + between))));
    const lines = Math.ceil(facets.length / across);
    const apartX = x.apart ? APART : 0, apartY = y?.apart ? APART : 0;
    const cellW = Math.max(4, Math.min(CELL_MOST * 1.5, (room - (between + apartX) * (across - 1) - apartX) / (across * most)));
    const cellH = Math.max(CELL_LEAST, Math.min(CELL_MOST, cellW * 0.8, Math.max(200, Math.min(420, innerHeight - 500)) / rows)), high = rows * cellH + apartY, wide = most * cellW + apartX;
    const xWide = Math.max(...x.values.map(text => probe.measureText(text).width)), slanted = xWide > cellW - 4;
    // A title wider than its cells is split, with one line per part.
    probe.font = `600 12px ${family}`;
    const titleWide = (/** @type {number[]} */ columns) => Math.max(columns.length, 3) * cellW;
    const titleLines = facets.map(({ title, columns }) => (probe.measureText(title).width > titleWide(columns) ? title.split(', ') : [title]));
    probe.font = `12px ${family}`;
    const titles = facets.length > 1 ? 6 + 14 * Math.max(...titleLines.map(text => text.length)) : 4, xHigh = slanted ? Math.min(xWide, 70) * 0.75 + 14 : 18;
    const lineHigh = titles + high + xHigh + 20, height = lines * lineHigh + below;
    this.canvas.style.height = `${height}px`;
    this.boxes = [];
    paintOn(this.canvas, height, c => {
      c.font = `12px ${family}`;
      c.textBaseline = 'middle';
      const corner = (/** @type {number} */ facet) => ({ x0: left + (facet % across) * (wide + between), y0: Math.floor(facet / across) * lineHigh + titles });
      facets.forEach(({ columns }, facet) => {
        const { x0, y0 } = corner(facet);
        c.fillStyle = translucent(ink, 1);
        c.textAlign = 'left';
        if (facets.length > 1) {
          c.font = `600 12px ${family}`;
          titleLines[facet].forEach((text, k, all) => c.fillText(text, x0, y0 - 11 - 14 * (all.length - 1 - k), titleWide(columns)));
          c.font = `12px ${family}`;
        }
        if (y && facet % across === 0) {
          c.textAlign = 'right';
          const every = Math.ceil(15 / cellH);
          y.values.forEach((text, j) => { if (j % every === 0) c.fillText(text, left - LABEL_GAP, y0 + (rows - j - 0.5) * cellH + (j < rows - 1 ? apartY : 0)); });
          c.save();
          c.translate(9, y0 + high / 2);
          c.rotate(-Math.PI / 2);
          c.textAlign = 'center';
          c.font = `600 12px ${family}`;
          c.fillText(y.label, 0, 0, high + 30);
          c.restore();
        }
        const bottom = y0 + high, lastColumn = x.values.length - 1;
        const every = slanted ? Math.ceil(14 / cellW) : 1;
        columns.forEach((column, i) => {
          if (column < 0 || i % every) return;
          c.save();
          c.translate(x0 + (i + 0.5) * cellW + (column === lastColumn ? apartX : 0), bottom + 10);
          c.textAlign = 'center';
          if (slanted) { c.rotate(-Math.PI / 4); c.textAlign = 'right'; }
          c.fillText(x.values[column], 0, 0);
          c.restore();
        });
        c.textAlign = 'center';
        c.font = `600 12px ${family}`;
        if (columns[0] >= 0) c.fillText(x.label, x0 + columns.length * cellW / 2, bottom + xHigh + 8, Math.max(columns.length * cellW, 120));
        c.font = `12px ${family}`;
      });
      positions.forEach(([facet, column, row], i) => {
        const { x0, y0 } = corner(facet), { columns, rows: own } = facets[facet];
        const i0 = columns.indexOf(column), oneRow = y && own[0] < 0, oneColumn = column < 0;
        const right = column === x.values.length - 1 ? apartX : 0, down = row < rows - 1 ? apartY : 0;
        const box = { x: x0 + Math.max(i0, 0) * cellW + (oneColumn ? 0 : right), y: oneRow ? y0 : y0 + (rows - 1 - Math.max(row, 0)) * cellH + down, w: oneColumn ? wide : cellW, h: oneRow ? high : cellH };
        this.boxes.push(box);
        this.drawBox(c, box, i);
      });
      this.drawFrames(c);
      for (const { cell, at: [column, row] } of this.map.tried) {
        const { x0, y0 } = corner(positions[cell][0]), right = apartX * Math.max(column - x.values.length + 2, 0), down = apartY * Math.min(rows - 1 - row, 1);
        this.drawTried(c, x0 + (column + 0.5) * cellW + right, y0 + (rows - 0.5 - row) * cellH + down);
      }
      if (narrow) this.drawScale(c, left, height - 40, width - left - 10, 12, false);
      else this.drawScale(c, left + across * wide + between * (across - 1) + 30, titles, 14, Math.min(high, 240), true);
    });
  }

  /** @param {CanvasRenderingContext2D} c @param {{ x: number, y: number, w: number, h: number }} box @param {number} i */
  drawBox(c, { x, y, w, h }, i) {
    const ink = this.grid.text, bits = this.state[i] ?? 0, value = this.numbers.mean?.[i];
    const [px, py, pw, ph] = [x + 0.5, y + 0.5, w - 1, h - 1];
    const mark = (/** @type {number[]} */ colour) => {
      if (!(bits & IS_RUNNING)) return;
      c.fillStyle = translucent(colour, 0.95);
      c.beginPath();
      c.arc(x + w - 6, y + 6, 2.5, 0, 2 * Math.PI);
      c.fill();
    };
    if (!(bits & IS_KNOWN) || !Number.isFinite(value)) {
      c.fillStyle = translucent(ink, 0.07);
      c.fillRect(px, py, pw, ph);
      mark(ink);
      return;
    }
    const colour = viridis(this.share(value));
    c.fillStyle = `rgb(${colour.join()})`;
    c.fillRect(px, py, pw, ph);
    const dark = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 140, line = dark ? [255, 255, 255] : [0, 0, 0];
    c.save();
    c.beginPath();
    c.rect(px, py, pw, ph);
    c.clip();
    c.lineWidth = 1.25;
    if (bits & IS_IN_REGION) {
      c.strokeStyle = translucent(line, 0.62);
      c.beginPath();
      for (let d = -ph; d < pw; d += 7) { c.moveTo(px + d, py + ph); c.lineTo(px + d + ph, py); }
      c.stroke();
    }
    if (bits & IS_MOSTLY_BLANK) {
      c.strokeStyle = translucent(line, 0.9);
      c.lineWidth = 1.75;
      c.beginPath();
      c.moveTo(px, py); c.lineTo(px + pw, py + ph); c.moveTo(px + pw, py); c.lineTo(px, py + ph);
      c.stroke();
    }
    c.restore();
    mark(line);
  }

  /** A diamond. @param {CanvasRenderingContext2D} c @param {number} x @param {number} y */
  drawTried(c, x, y) {
    c.beginPath();
    c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y); c.closePath();
    c.fillStyle = translucent(this.grid.back, 1);
    c.fill();
    c.lineWidth = 1.5;
    c.strokeStyle = translucent(this.grid.text, 1);
    c.stroke();
  }

  /** Frames of the best cell, the open cells, and the cell under the pointer. @param {CanvasRenderingContext2D} c */
  drawFrames(c) {
    const ink = this.grid.text, back = this.grid.back;
    const frame = (/** @type {number} */ i, /** @type {number} */ wide) => {
      const { x, y, w, h } = this.boxes[i];
      c.lineWidth = wide + 2;
      c.strokeStyle = translucent(back, 1);
      c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      c.lineWidth = wide;
      c.strokeStyle = translucent(ink, 1);
      c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    };
    for (const best of [...this.state.keys()].filter(i => this.state[i] & IS_BEST && this.boxes[i])) {
      const { x, y, w, h } = this.boxes[best];
      frame(best, 1);
      c.fillStyle = translucent(back, 0.92);
      c.beginPath(); c.arc(x + w / 2, y + h / 2, Math.min(w, h, 22) / 2 - 2, 0, 2 * Math.PI); c.fill();
      c.fillStyle = translucent(ink, 1);
      c.textAlign = 'center';
      c.fillText('★', x + w / 2, y + h / 2 + 1);
    }
    this.map.open_settings.forEach((i, number) => {
      if (i === null || !this.boxes[i]) return;
      const { x, y } = this.boxes[i];
      frame(i, 1.5);
      c.fillStyle = translucent(ink, 1);
      c.fillRect(x, y, 14, 14);
      c.fillStyle = translucent(back, 1);
      c.textAlign = 'center';
      c.fillText(String(number + 1), x + 7, y + 7.5);
    });
    if (this.at !== null && this.boxes[this.at]) frame(this.at, 2.5);
  }

  /** @param {CanvasRenderingContext2D} c @param {number} x @param {number} y @param {number} w @param {number} h @param {boolean} upright */
  drawScale(c, x, y, w, h, upright) {
    const ink = this.grid.text, { short, digits, better } = this.measure, sign = better === 'low' ? -1 : 1;
    const any = this.state.some(bits => bits & IS_KNOWN), length = upright ? h : w;
    for (let k = 0; k < length; k++) {
      c.fillStyle = `rgb(${viridis(k / length).join()})`;
      if (upright) c.fillRect(x, y + h - k - 1, w, 1.5);
      else c.fillRect(x + k, y, 1.5, h);
    }
    c.fillStyle = translucent(ink, 1);
    const texts = any ? [0, 0.5, 1].map(share => {
      const value = sign * (this.low + share * (this.high - this.low));
      return `${share === 0 && this.cut ? (sign > 0 ? '≤ ' : '≥ ') : ''}${decimal(value, digits)}`;
    }) : ['', '', ''];
    texts.forEach((text, k) => {
      c.textAlign = upright ? 'left' : /** @type {CanvasTextAlign[]} */ (['left', 'center', 'right'])[k];
      if (upright) c.fillText(text, x + w + 5, y + h - 4 - k * (h - 8) / 2);
      else c.fillText(text, x + k * w / 2, y + h + 10);
    });
    c.textAlign = upright ? 'right' : 'left';
    if (!upright) { c.fillText(short, x, y - 9); return; }
    c.save();
    c.translate(x - 9, y + h / 2);
    c.rotate(-Math.PI / 2);
    c.textAlign = 'center';
    c.fillText(short, 0, 0, h + 40);
    c.restore();
  }

  /** @param {number} i @returns {string} the setting in words */
  nameOf(i) {
    const { x, y, facets, positions } = this.map, [facet, column, row] = positions[i];
    return [facets.length > 1 ? facets[facet].title : '', column >= 0 ? `${x.label} ${x.values[column]}` : '', y && row >= 0 ? `${y.label} ${y.values[row]}` : '']
      .filter(text => text).join(', ');
  }

  /** @returns {[string, string][]} names and values of the chosen cell */
  valuesOf() {
    const i = this.at, n = this.numbers, { digits, label } = this.measure, head = this.shown;
    if (i === null || !head) return [];
    const bits = this.state[i] ?? 0, tried = this.map.tried.filter(({ cell }) => cell === i);
    const last = /** @type {[string, string][]} */ (tried.map(({ score, n }) => ['Tried on Sample, test part', `${score} after ${whole.format(n)} samples`]));
    if (!(bits & IS_KNOWN)) return [[label, 'no result yet'], ...last];
    const spread = Number.isFinite(n.std_dev[i]) ? ` ± ${decimal(n.std_dev[i], digits)}` : '';
    const rows = /** @type {[string, string][]} */ ([[`${label}, mean ± spread over seeds`, `${decimal(n.mean[i], digits)}${spread}`]]);
    const error = Number.isFinite(n.std_error[i]) ? ` ± ${decimal(n.std_error[i], digits + 1)}` : '';
    rows.push(['Minus the best, ± standard error', bits & IS_BEST ? 'the best' : `${decimal(n.difference[i], digits)}${error}${bits & IS_IN_REGION ? ', tied' : ''}`]);
    if (Number.isFinite(n.test[i]) && head.by.includes('validation')) rows.push([`On the test part${n.test[i] === n.mean[i] ? ', here the same data' : ''}`, `${decimal(n.test[i], digits)}${Number.isFinite(n.test_std_dev[i]) ? ` ± ${decimal(n.test_std_dev[i], digits)}` : ''}`]);
    if (Number.isFinite(n.blank[i])) rows.push([this.map.blank, `${decimal(100 * n.blank[i], 1)} %`]);
    rows.push(['Computing, a seed', `${Number(n.seconds_of[i].toPrecision(2))} s`]);
    if (head.cost_unit !== 'samples' && head.cost_unit !== 'updates') rows.push(['Samples, a seed', whole.format(Math.round(n.samples[i]))]);
    return [...rows, ...last];
  }

  drawCell() {
    const name = this.at === null ? 'Point at a cell, or choose one with the arrow keys.' : this.nameOf(this.at);
    put(this.cellName, name);
    const rows = this.valuesOf(), text = rows.flat().join();
    if (this.cell.dataset.text === text) return;
    this.cell.dataset.text = text;
    this.cell.replaceChildren(...rows.map(([label, value]) => element('div', {}, element('dt', { text: label }), element('dd', { text: value }))));
  }

  describe() {
    if (!this.shown) return '';
    const rows = this.valuesOf().map(row => row.join(' ')).join('; ');
    return `${this.verdict.textContent} ${this.at === null ? '' : `Chosen: ${this.nameOf(this.at)}. ${rows}.`}`;
  }
}

/** @param {HTMLElement} node @param {string} text */
function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @param {Component} component */
export default component => mount(MapPanel, component);
