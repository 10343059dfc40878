// @ts-check
// The map of a sweep: a cell for each setting, coloured by its score at one point of all curves.

/**
 * @typedef {object} MapAxis
 * @property {string} label
 * @property {string[]} values formatted
 * @property {boolean} apart whether a gap separates the last value, 1, from the values that approach it
 */

/**
 * Description of a sweep from Python (map_spec in panel.py).
 * @typedef {object} MapSpec
 * @property {MapAxis} x
 * @property {MapAxis | null} y null for a sweep along one axis
 * @property {{ title: string, columns: number[], rows: number[] }[]} facets indices of each facet's values along x and y
 * @property {[number, number, number][]} positions position of each setting's cell: facet, column, row
 * @property {{ name: string, label: string, short: string, help: string, better: string, digits: number }[]} measures
 * @property {string} blank
 * @property {string[]} cost_units
 * @property {number} seeds
 * @property {number} runs number of runs in the whole sweep: one for each setting and seed
 * @property {(number | null)[]} open_settings settings open on the right; null for a setting without a cell
 */

/** @typedef {PageData & { map: MapSpec }} TunePageData */

/**
 * @typedef {object} MapHead
 * @property {string} sweep_status
 * @property {number} n number of complete runs
 * @property {number} progress
 * @property {number | null} seconds_left
 * @property {string} cost_unit
 * @property {string} by
 * @property {number} point
 * @property {[number, number] | null} ends
 * @property {number | null} telling
 * @property {boolean} moved
 * @property {number[]} seeds number of seeds compared, for each model that has scores
 * @property {string[]} border
 * @property {string | null} [error]
 */

// Bits of the state of a setting, as in rbmviz/session/sweep_view.py.
const IS_KNOWN = 1, IS_IN_REGION = 2, IS_BEST = 4, IS_MOSTLY_BLANK = 8, IS_RUNNING = 16;
const POINT_STEPS = 400; // number of steps of the slider of samples, sweeps or seconds
const CELL_MOST = 110; // pixels: larger cells show no more; the map is as high as the first screen allows
const CELL_LEAST = 15;
const SCALE_WIDTH = 104; // pixels to the right of the map, for its colour scale
const FACET_GAP = 18;
const LETTER = 7; // width in pixels of a label's letter
const APART = '6px'; // gap between the cells of 1 and the cells of values that approach it
const LOOK_MS = 400; // delay from the last change of point or cell to the redrawing of the part below the map

// Viridis (van der Walt and Smith, 2015): even steps of lightness, safe for colour blindness.
const VIRIDIS = ['#440154', '#481467', '#482677', '#453781', '#404788', '#39568c', '#33638d', '#2d708e', '#287d8e', '#238a8d', '#1f968b',
  '#20a387', '#29af7f', '#3cbb75', '#55c667', '#73d055', '#95d840', '#b8de29', '#dce319', '#fde725'];
const RGB = VIRIDIS.map(text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16)));

/** @param {number} share from 0 to 1 @returns {number[]} red, green and blue */
function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1), low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return RGB[low].map((from, c) => from + (RGB[low + 1][c] - from) * (at - low));
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
const pointText = (costUnit, point) => (costUnit === 'seconds' ? String(Number(point.toPrecision(3))) : whole.format(Math.round(point)));

/** @param {string} costUnit @param {number} point @returns {string} */
const amount = (costUnit, point) => `${pointText(costUnit, point)} ${costUnit === 'seconds' ? 's' : unitName(costUnit)}`;

/** Say "Gibbs", because the page also has sweeps of settings. @param {string} costUnit @returns {string} */
const unitName = costUnit => (costUnit === 'sweeps' ? 'Gibbs sweeps' : costUnit);

class MapPanel extends Panel {
  isRun = false;
  /** Address of the displayed sweep's view. */
  url = '';
  lookTimer = 0;
  chart = element('div', { class: 'map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map' });
  /** The setting under the pointer, or chosen by the arrow keys. @type {number | null} */
  at = null;
  /** @type {Record<string, Float32Array>} */
  numbers = {};
  /** The bits of each setting. @type {Uint8Array} */
  state = new Uint8Array(0);
  /** The cell of each setting. @type {HTMLElement[]} */
  tiles = [];
  scale = element('div', { class: 'scale' });
  /** Ends of the colour scale, and whether the lower end is cut off. */
  low = 0;
  high = 1;
  cut = false;
  progress = element('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the sweep', 'aria-valuemin': 0, 'aria-valuemax': 100 },
    element('div'));
  stateLine = element('p', { class: 'state', role: 'status' });
  pointName = element('span');
  slider = element('input', { id: 'map-point', type: 'range', min: 0, max: POINT_STEPS, step: 1, value: 0, 'aria-label': 'Scores after' });
  pointNote = element('p', { class: 'note-of-point' });
  telling = element('button', { type: 'button', class: 'telling', hidden: true, onclick: () => this.ask({ point: 0 }) });
  costUnit = element('select', { 'aria-label': 'What is equal', onchange: () => this.ask({ cost_unit: this.costUnit.value }) });
  by = element('select', { 'aria-label': 'What is coloured', onchange: () => this.ask({ by: this.by.value }) });
  cell = element('dl', { class: 'cell' });
  cellName = element('p', { class: 'cell-name' });
  verdict = element('p', { class: 'verdict' });
  extend = element('button', { type: 'button', class: 'telling', hidden: true, text: 'Extend the grid', onclick: () => this.grid.tell('edit', { extend: true }),
    title: 'Add two values beyond the border, and compute them. Nobody else’s results change: a recorded map, or one of another visitor, is computed again with them.' });

  get map() { return /** @type {TunePageData} */ (this.grid.data).map; }
  get shown() { return /** @type {MapHead | null} */ (/** @type {unknown} */ (this.head)); }
  get measure() { return this.map.measures.find(({ name }) => name === this.shown?.by) ?? this.map.measures[0]; }

  /** @param {Record<string, KnobValue>} knobs */
  ask(knobs) {
    this.grid.turnKnobs(this.key, knobs);
    // While the sweep computes, the part below the map is redrawn every second; otherwise, it is redrawn on request.
    clearTimeout(this.lookTimer);
    if (!this.grid.data.present && !['planned', 'queued', 'running', undefined].includes(this.shown?.sweep_status)) {
      this.lookTimer = setTimeout(() => this.grid.tell('redraw', true), LOOK_MS);
    }
  }

  build() {
    super.build();
    this.node.firstElementChild?.classList.toggle('spoken', !this.grid.data.present); // the settings or the list already name the sweep
    this.strip.remove();
    this.readouts.lead.remove();
    this.more.remove();
    this.warning.remove();
    this.knobs.replaceChildren(element('div', { class: 'row-of-point' }, this.by, this.pointName, this.costUnit, this.slider, this.telling));
    this.knobs.before(element('div', { class: 'answer' }, this.verdict, this.extend));
    this.stage.after(this.progress, this.stateLine, this.pointNote, this.cellName, this.cell);
    this.scale.style.setProperty('--viridis', VIRIDIS.join());
    this.chart.addEventListener('pointermove', event => { if (event.pointerType === 'mouse' || event.buttons) this.chooseCellAt(event); });
    this.chart.addEventListener('pointerdown', event => this.chooseCellAt(event));
    this.chart.addEventListener('click', event => { if (this.chooseCellAt(event)) this.toggle(); });
    this.chart.addEventListener('keydown', event => this.onKey(event));
    this.slider.addEventListener('input', () => this.ask({ point: this.amountAt(Number(this.slider.value)) }));
  }

  makePictures() { return [this.chart]; }

  progressOf() { return (this.stateLine.textContent ?? '').replace(/[.] *$/, ''); }

  arrange() {
    const { measures, cost_units, y, x } = this.map, { url } = this.grid.data;
    if (url !== this.url) { // a new sweep: the previous sweep's data do not fit its cells
      this.url = url;
      this.head = this.at = null;
      this.state = new Uint8Array(0);
      this.numbers = {};
    }
    const fill = (/** @type {HTMLSelectElement} */ select, /** @type {[string, string][]} */ options) => {
      if ([...select.options].map(({ value }) => value).join() !== options.map(([value]) => value).join()) {
        select.replaceChildren(...options.map(([value, text]) => element('option', { value, text })));
      }
    };
    fill(this.by, measures.map(({ name, label }) => [name, label]));
    fill(this.costUnit, cost_units.map(name => [name, unitName(name)]));
    this.chart.setAttribute('aria-label', `Map of ${this.spec.label}: ${x.label}${y ? ` by ${y.label}` : ''}. Arrow keys choose a cell, Enter opens it.`);
    this.makeMap();
  }

  /** @param {number} step @returns {number} the point at a step of the slider */
  amountAt(step) {
    const [low, high] = this.shown?.ends ?? [10, 10];
    return low > 0 ? low * (high / low) ** (step / POINT_STEPS) : high * step / POINT_STEPS;
  }

  /** @param {number} point @returns {number} */
  stepAt(point) {
    const [low, high] = this.shown?.ends ?? [10, 10];
    if (high === low) return POINT_STEPS;
    return Math.round(POINT_STEPS * (low > 0 ? Math.log(point / low) / Math.log(high / low) : point / high));
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
    // Most of a map may be far below its best cells, so the scale covers the better half.
    const high = good[good.length - 1], middle = good[Math.floor((good.length - 1) / 2)], low = Math.max(good[0], high - 3 * (high - middle));
    this.cut = low > good[0];
    [this.low, this.high] = [low, high === low ? low + 1e-9 : high];
  }

  /** @param {number} value @returns {number} from 0, bad, to 1, good */
  share(value) {
    const sign = this.measure.better === 'low' ? -1 : 1;
    return (sign * value - this.low) / (this.high - this.low);
  }

  // Pointer and keys

  /** @param {PointerEvent | MouseEvent} event @returns {boolean} whether there is a cell */
  chooseCellAt(event) {
    const under = /** @type {ShadowRoot} */ (this.chart.getRootNode()).elementFromPoint(event.clientX, event.clientY), found = this.tiles.findIndex(tile => tile === under);
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
    if (this.at !== null) this.grid.tell('edit', { setting: this.at });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
    const step = steps[event.key], { positions } = this.map;
    if (event.ctrlKey || event.metaKey || event.altKey) return; // Alt with an arrow goes back in the history
    if (event.key === 'Enter' || event.key === ' ') this.toggle();
    else if (event.key === 'Home') this.choose(Math.max([...this.state].findIndex(bits => bits & IS_BEST), 0));
    else if (step) {
      const from = positions[this.at ?? 0], to = [from[0], from[1] + step[0], from[2] + step[1]];
      let next = positions.findIndex(position => position.every((value, i) => value === to[i]));
      // Beyond the end of a facet, continue in the next facet.
      if (next < 0 && step[0]) next = this.entryOf(from[0] + step[0], step[0] > 0 ? 0 : -1, from[2]);
      if (this.at === null) this.choose(0);
      else if (next >= 0) this.choose(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The cell in a facet's first (0) or last (-1) column nearest to a row, which the facet may lack; -1 if there is no such facet.
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
    const over = head.sweep_status === 'finished';
    this.progress.hidden = over;
    this.stateLine.classList.toggle('spoken', over && !head.error);
    this.count.hidden = true;
    const range = head.ends !== null && head.ends[1] > head.ends[0], root = /** @type {ShadowRoot} */ (this.slider.getRootNode());
    this.slider.disabled = !range;
    put(this.pointName, `after ${pointText(head.cost_unit, head.point)}`);
    this.slider.setAttribute('aria-valuetext', amount(head.cost_unit, head.point));
    if (root.activeElement !== this.slider || head.moved) this.slider.value = String(this.stepAt(head.point));
    this.slider.style.setProperty('--fill', `${100 * Number(this.slider.value) / POINT_STEPS}%`);
    put(this.pointNote, head.moved ? 'The map moved to the point where the settings differ most. Drag to see others.'
      : seeds === 1 ? 'One seed cannot show where the settings differ most.'
      : head.telling !== null || over ? '' : 'Where the settings differ most is known after a few seeds.');
    this.telling.hidden = head.moved || head.telling === null || head.telling === head.point;
    if (head.telling !== null) put(this.telling, `Differ most at ${amount(head.cost_unit, head.telling)}`);
    for (const [select, value] of /** @type {[HTMLSelectElement, string][]} */ ([[this.by, head.by], [this.costUnit, head.cost_unit]])) if (select.value !== value) select.value = value;
    this.by.title = this.measure.help;
    const region = this.state.reduce((sum, bits) => sum + Number((bits & IS_IN_REGION) !== 0), 0);
    const known = this.state.reduce((sum, bits) => sum + (bits & IS_KNOWN), 0);
    const blank = this.state.some(bits => bits & IS_MOSTLY_BLANK) ? ' Crossed out: mostly blank.' : '';
    const least = Math.min(...head.seeds), most = Math.max(...head.seeds), compared = least === most ? most : `${least} to ${most}`;
    const few = most ? 'one seed' : 'no seed';
    const best = this.answer(head), tied = region - head.seeds.length;
    const verdict = !known ? head.sweep_status === 'planned' ? 'Press Start: the best setting will be named here.' : 'No setting has a score yet.'
      : seeds === 1 ? `${best} One seed cannot tell settings apart.${blank}`
      : most < 2 ? `${best} At this point the settings have ${few} in common${over ? '' : ' so far'}: they cannot be told apart.${blank}`
      : `${best} ${tied > 0 ? `Hatched: ${tied} of ${known} tied with it${most < seeds ? ` (${compared} of ${seeds} seeds)` : ''}.` : 'No other setting is tied with it.'}`
        + `${least < 2 ? ' On a model with fewer than two seeds in common, settings cannot be told apart.' : ''} ${head.border.join(' ') || 'The grid is wide enough.'}${blank}`;
    this.extend.hidden = !over || !head.border.length;
    put(this.verdict, known && !this.measure.better ? `Neither high nor low values are better; the highest counts as the best. ${verdict}` : verdict);
  }

  /** @param {MapHead} head @returns {string} the best setting of each model, with its score */
  answer(head) {
    const n = this.numbers, { short, digits } = this.measure, chosen = head.by.includes('validation');
    const score = (/** @type {number} */ x, /** @type {number} */ spread) => `${short} ${decimal(x, digits)}${Number.isFinite(spread) ? ` ± ${decimal(spread, digits)}` : ''}`;
    return [...this.state.keys()].filter(i => this.state[i] & IS_BEST).map(i => (chosen && Number.isFinite(n.test[i])
      ? `Best on validation data: ${this.nameOf(i)}. Test ${score(n.test[i], n.test_std_dev[i])}${n.test[i] === n.mean[i] ? ' (the same data)' : ''}.`
      : `Best: ${this.nameOf(i)}, ${score(n.mean[i], n.std_dev[i])}.`)).join(' ');
  }

  /** Make the elements of the map. */
  makeMap() {
    const { x, y, facets, positions } = this.map, width = this.stage.clientWidth, narrow = width < 480;
    const rows = y?.values.length ?? 1, lastColumn = x.values.length - 1, most = Math.max(...facets.map(({ columns }) => columns.length));
    const longest = (/** @type {string[]} */ texts) => LETTER * Math.max(...texts.map(text => text.length));
    // Put facets side by side as long as cells keep a reasonable size.
    const room = width - (narrow ? 0 : SCALE_WIDTH) - (y ? 28 + longest(y.values) : 0), across = Math.max(1, Math.min(facets.length, Math.floor((room + FACET_GAP) / (most * CELL_LEAST * 1.6 + FACET_GAP))));
    const wide = Math.max(4, Math.min(CELL_MOST * 1.5, (room - FACET_GAP * across) / (across * most)));
    const high = Math.max(CELL_LEAST, Math.min(CELL_MOST, wide * 0.8, Math.max(200, Math.min(640, innerHeight - 460)) / rows));
    const turned = longest(x.values) > wide - 4, everyColumn = turned ? Math.ceil(14 / wide) : 1, everyRow = Math.ceil(15 / high);
    const place = (/** @type {string} */ area, /** @type {HTMLElement} */ node) => { node.style.gridArea = area; return node; };
    const label = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {string} */ area) => place(area, element('span', { class: kind, text }));
    const maps = facets.map(({ title, columns }, facet) => {
      const map = element('div', { class: 'facet' }, ...(facets.length > 1 ? [label('title', title, `1 / 3 / 2 / ${most + 3}`)] : []));
      map.style.gridTemplateColumns = `auto auto repeat(${most}, ${wide}px)`;
      map.style.gridRow = `span ${rows + 3}`;
      if (y && facet % across === 0) {
        map.append(label('y axis', y.label, `2 / 1 / ${rows + 2} / 2`));
        y.values.forEach((text, j) => { if (j % everyRow === 0) map.append(label('y', text, `${rows - j + 1} / 2`)); });
      }
      columns.forEach((column, i) => { if (column >= 0 && i % everyColumn === 0) map.append(label(turned ? 'x turned' : 'x', x.values[column], `${rows + 2} / ${i + 3}`)); });
      if (columns[0] >= 0) map.append(label('x axis', x.label, `${rows + 3} / 3 / ${rows + 4} / ${most + 3}`));
      return map;
    });
    this.tiles = positions.map(([facet, column, row]) => {
      // A sampler without the knob of an axis has one cell for all the axis's values.
      const { columns, rows: own } = facets[facet], i = columns.indexOf(column) + 3, j = rows - Math.max(row, 0) + 1;
      const tile = place(`${y && own[0] < 0 ? `2 / ${i} / ${rows + 2}` : `${j} / ${i} / ${j + 1}`} / ${column < 0 ? most + 3 : i + 1}`, element('i', {}));
      if (x.apart && column === lastColumn) tile.style.marginLeft = APART;
      if (y?.apart && row === rows - 1) tile.style.marginBottom = APART;
      maps[facet].append(tile);
      return tile;
    });
    const all = element('div', { class: 'facets' }, ...maps);
    all.style.gridTemplateColumns = `repeat(${across}, auto)`;
    all.style.setProperty('--rows', `auto ${`${high}px `.repeat(rows)} auto auto`);
    this.scale.style.setProperty('--high', `${Math.min(rows * high, 240)}px`);
    this.chart.classList.toggle('narrow', narrow);
    this.chart.replaceChildren(all, this.scale);
  }

  drawMap() {
    const { mean } = this.numbers, { short, digits, better } = this.measure, { open_settings } = this.map;
    this.tiles.forEach((tile, i) => {
      const bits = this.state[i] ?? 0, known = (bits & IS_KNOWN) !== 0 && Number.isFinite(mean?.[i]), open = open_settings.indexOf(i);
      const [red, green, blue] = known ? viridis(this.share(mean[i])) : [0, 0, 0], dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140;
      const marks = { known, dark, running: bits & IS_RUNNING, tied: known && bits & IS_IN_REGION && !(bits & IS_BEST), blank: known && bits & IS_MOSTLY_BLANK, best: bits & IS_BEST, open: open >= 0, at: i === this.at };
      tile.className = Object.entries(marks).filter(([, on]) => on).map(([name]) => name).join(' ');
      tile.style.backgroundColor = known ? `rgb(${red}, ${green}, ${blue})` : '';
      tile.dataset.open = String(open + 1);
    });
    const sign = better === 'low' ? -1 : 1, any = this.state.some(bits => bits & IS_KNOWN);
    const texts = any ? [0, 0.5, 1].map(share => `${share === 0 && this.cut ? (sign > 0 ? '≤ ' : '≥ ') : ''}${decimal(sign * (this.low + share * (this.high - this.low)), digits)}`) : [];
    this.scale.replaceChildren(element('span', { text: short }), element('div'), element('p', {}, ...texts.map(text => element('span', { text }))));
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
    const bits = this.state[i] ?? 0;
    if (!(bits & IS_KNOWN)) return [[label, 'no result yet']];
    const spread = Number.isFinite(n.std_dev[i]) ? ` ± ${decimal(n.std_dev[i], digits)}` : '';
    const rows = /** @type {[string, string][]} */ ([[`${label}, mean ± spread over seeds`, `${decimal(n.mean[i], digits)}${spread}`]]);
    const error = Number.isFinite(n.std_error[i]) ? ` ± ${decimal(n.std_error[i], digits + 1)}` : '';
    rows.push(['Difference from the best, ± standard error', bits & IS_BEST ? 'the best' : `${decimal(n.difference[i], digits)}${error}${bits & IS_IN_REGION ? ', tied' : ''}`]);
    if (Number.isFinite(n.test[i]) && head.by.includes('validation')) rows.push([`On the test part${n.test[i] === n.mean[i] ? ', here the same data' : ''}`, `${decimal(n.test[i], digits)}${Number.isFinite(n.test_std_dev[i]) ? ` ± ${decimal(n.test_std_dev[i], digits)}` : ''}`]);
    if (Number.isFinite(n.blank[i])) rows.push([this.map.blank, `${decimal(100 * n.blank[i], 1)} %`]);
    rows.push(['Computing time per seed', `${Number(n.seconds_of[i].toPrecision(2))} s`]);
    if (head.cost_unit !== 'samples' && head.cost_unit !== 'updates') rows.push(['Samples per seed', whole.format(Math.round(n.samples[i]))]);
    return rows;
  }

  drawCell() {
    const name = this.at === null ? `${matchMedia('(hover: none)').matches ? 'Tap' : 'Point at'} a cell to run it.` : this.nameOf(this.at);
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

/** @param {Component} component */
export default component => mount(MapPanel, component);
