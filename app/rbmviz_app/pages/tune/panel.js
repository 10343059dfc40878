// @ts-check
// The map of a sweep: a cell for each setting, coloured by its score at one point of all curves.

/**
 * @typedef {object} MapAxis
 * @property {string} label
 * @property {string[]} values formatted
 * @property {boolean} apart whether a gap separates the last value, 1, from the values that approach it
 */

/**
 * A sweep from Python (map_spec in panel.py). Numbers have one element per setting, null where unknown.
 * @typedef {object} MapData
 * @property {string} label
 * @property {string} about
 * @property {MapAxis} x
 * @property {MapAxis | null} y null for a sweep along one axis
 * @property {{ title: string, columns: number[], rows: number[] }[]} facets indices of each facet's values along x and y
 * @property {[number, number, number][]} positions position of each setting's cell: facet, column, row
 * @property {{ name: string, label: string, short: string, help: string, better: string, digits: number }[]} measures
 * @property {string} blank
 * @property {string[]} cost_units
 * @property {(number | null)[]} open_settings settings open beside the map; null for a setting without a cell
 * @property {string} status line on the state of the sweep
 * @property {boolean} over whether the sweep has ended
 * @property {number} progress
 * @property {string} verdict
 * @property {string} cost_unit
 * @property {string} by
 * @property {number} point
 * @property {[number, number] | null} ends
 * @property {number | null} telling
 * @property {number[]} state bits of each setting
 * @property {Record<string, (number | null)[]>} numbers
 */

// Bits of the state of a setting, as in panel.py.
const IS_KNOWN = 1, IS_TIED = 2, IS_BEST = 4, IS_MOSTLY_BLANK = 8, IS_UNSURE = 16;
const POINT_STEPS = 400; // number of steps of the slider of samples, sweeps or seconds
const CELL_MOST = 110; // pixels: larger cells show no more; the map is as high as the first screen allows
const CELL_LEAST = 15;
const SCALE_WIDTH = 104; // pixels to the right of the map, for its colour scale
const FACET_GAP = 18;
const LETTER = 7; // width in pixels of a label's letter
const APART = '6px'; // gap between the cells of 1 and the cells of values that approach it
const ASK_MS = 100; // least time between two questions to the server while a slider or the pointer moves
const whole = new Intl.NumberFormat('en');

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

/** @param {string} costUnit @param {number} point @returns {string} */
const pointText = (costUnit, point) => (costUnit === 'seconds' ? String(Number(point.toPrecision(3))) : whole.format(Math.round(point)));

/** @param {string} costUnit @param {number} point @returns {string} */
const amount = (costUnit, point) => `${pointText(costUnit, point)} ${costUnit === 'seconds' ? 's' : unitName(costUnit)}`;

/** Say "Gibbs", because the page also has sweeps of settings. @param {string} costUnit @returns {string} */
const unitName = costUnit => (costUnit === 'sweeps' ? 'Gibbs sweeps' : costUnit);

class SweepMap {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.node = element('section', { class: 'panel' });
    /** The setting under the pointer, or chosen by the arrow keys. @type {number | null} */
    this.at = null;
    /** @type {HTMLElement[]} */
    this.tiles = [];
    /** What the map was made for, and its width. */
    this.made = '';
    /** @type {Record<string, unknown>} */
    this.asked = {};
    this.opened = 0;
    /** @type {MapData} */
    this.data = /** @type {any} */ (null);
    /** @type {((name: string, value: unknown) => void) | null} */
    this.setState = null;
    /** @type {((name: string, value: unknown) => void) | null} */
    this.setTrigger = null;
    this.timer = 0;
    this.low = 0;
    this.high = 1;
    this.cut = false;
    this.chart = element('div', { class: 'map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map' });
    this.scale = element('div', { class: 'scale' });
    this.bar = element('div');
    this.progress = element('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the sweep', 'aria-valuemin': 0, 'aria-valuemax': 100 }, this.bar);
    this.stateLine = element('p', { class: 'state', role: 'status' });
    this.pointName = element('span');
    this.slider = element('input', { id: 'map-point', type: 'range', min: 0, max: POINT_STEPS, step: 1, value: 0, 'aria-label': 'Scores after',
      oninput: () => this.ask({ point: this.amountAt(Number(this.slider.value)) }) });
    this.telling = element('button', { type: 'button', class: 'telling', hidden: true, onclick: () => this.ask({ point: this.data.telling }) });
    this.costUnit = element('select', { 'aria-label': 'What is equal', onchange: () => this.ask({ cost_unit: this.costUnit.value, point: 0 }) });
    this.by = element('select', { 'aria-label': 'What is coloured', onchange: () => this.ask({ by: this.by.value }) });
    this.cellName = element('p', { class: 'cell-name' });
    this.cell = element('dl', { class: 'cell' });
    this.verdict = element('p', { class: 'verdict' });
    this.help = element('details', {}, element('summary', { text: 'How to read the map' }), element('p'));
    this.node.append(this.verdict, element('div', { class: 'row-of-point' }, this.by, this.pointName, this.costUnit, this.slider, this.telling),
      this.chart, this.progress, this.stateLine, this.cellName, this.cell, this.help);
    this.scale.style.setProperty('--viridis', VIRIDIS.join());
    this.chart.addEventListener('pointermove', event => { if (event.pointerType === 'mouse' || event.buttons) this.chooseCellAt(event); });
    this.chart.addEventListener('pointerdown', event => this.chooseCellAt(event));
    this.chart.addEventListener('click', event => { if (this.chooseCellAt(event)) this.toggle(); });
    this.chart.addEventListener('keydown', event => this.onKey(event));
    parent.append(this.node);
    new ResizeObserver(() => { if (this.data) this.draw(); }).observe(this.node);
  }

  /** @param {MapData} data @param {(name: string, value: unknown) => void} setState @param {(name: string, value: unknown) => void} setTrigger */
  update(data, setState, setTrigger) {
    const { measures, cost_units, y, x } = this.data = data;
    this.setState = setState;
    this.setTrigger = setTrigger;
    const fill = (/** @type {HTMLSelectElement} */ select, /** @type {[string, string][]} */ options, /** @type {string} */ value) => {
      if ([...select.options].map(each => each.value).join() !== options.map(([each]) => each).join()) {
        select.replaceChildren(...options.map(([each, text]) => element('option', { value: each, text })));
      }
      if (select.value !== value) select.value = value;
    };
    fill(this.by, measures.map(({ name, label }) => [name, label]), data.by);
    fill(this.costUnit, cost_units.map(name => [name, unitName(name)]), data.cost_unit);
    this.chart.setAttribute('aria-label', `Map of ${data.label}: ${x.label}${y ? ` by ${y.label}` : ''}. Arrow keys choose a cell, Enter opens it.`);
    put(/** @type {HTMLElement} */ (this.help.lastElementChild), data.about);
    if (this.at !== null && this.at >= data.positions.length) this.at = null;
    this.findScale();
    this.draw();
  }

  get measure() { return this.data.measures.find(({ name }) => name === this.data.by) ?? this.data.measures[0]; }

  /** Ask the server for another point, measure or cell, a few times a second at most. @param {Record<string, unknown>} more */
  ask(more) {
    Object.assign(this.asked, more);
    if ('point' in more) this.showPoint(Number(more.point) || this.data.point);
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.setState?.('asked', { ...this.asked });
    }, ASK_MS);
  }

  /** @param {number} step @returns {number} the point at a step of the slider */
  amountAt(step) {
    const [low, high] = this.data.ends ?? [10, 10];
    const x = low > 0 ? low * (high / low) ** (step / POINT_STEPS) : high * step / POINT_STEPS;
    return this.data.cost_unit === 'seconds' ? Number(x.toPrecision(3)) : Math.round(x);
  }

  /** @param {number} point @returns {number} */
  stepAt(point) {
    const [low, high] = this.data.ends ?? [10, 10];
    if (high === low) return POINT_STEPS;
    return Math.round(POINT_STEPS * (low > 0 ? Math.log(point / low) / Math.log(high / low) : point / high));
  }

  /** @param {number} point */
  showPoint(point) {
    const unit = this.data.cost_unit;
    put(this.pointName, `after ${pointText(unit, point)}`);
    this.slider.setAttribute('aria-valuetext', amount(unit, point));
    if (/** @type {ShadowRoot} */ (this.slider.getRootNode()).activeElement !== this.slider) this.slider.value = String(this.stepAt(point));
  }

  findScale() {
    const { state, numbers: { mean } } = this.data, sign = this.measure.better === 'low' ? -1 : 1;
    const good = state.flatMap((bits, i) => (bits & IS_KNOWN && mean[i] !== null ? [sign * /** @type {number} */ (mean[i])] : [])).sort((a, b) => a - b);
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
    this.drawMap();
    this.drawCell();
  }

  toggle() {
    if (this.at !== null) this.setTrigger?.('open', { setting: this.at, number: ++this.opened });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
    const step = steps[event.key], { positions } = this.data;
    if (event.ctrlKey || event.metaKey || event.altKey) return; // Alt with an arrow goes back in the history
    if (event.key === 'Enter' || event.key === ' ') this.toggle();
    else if (event.key === 'Home') this.choose(Math.max(this.data.state.findIndex(bits => bits & IS_BEST), 0));
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
    const { positions, facets } = this.data, column = facets[facet]?.columns.at(end);
    const away = (/** @type {number} */ i) => Math.abs(positions[i][2] - row);
    const cells = [...positions.keys()].filter(i => positions[i][0] === facet && positions[i][1] === column);
    return cells.reduce((best, i) => (best < 0 || away(i) < away(best) ? i : best), -1);
  }

  // Drawing

  draw() {
    const { data } = this, { x, y, facets, positions } = data, made = JSON.stringify([x, y, facets, positions, this.node.clientWidth, innerHeight]);
    if (made !== this.made) {
      this.made = made;
      this.makeMap();
    }
    const percent = Math.floor(100 * data.progress);
    this.bar.style.width = `${100 * data.progress}%`;
    this.progress.setAttribute('aria-valuenow', String(percent));
    this.progress.hidden = data.over;
    put(this.stateLine, data.status);
    put(this.verdict, data.verdict);
    this.slider.disabled = data.ends === null || data.ends[1] <= data.ends[0];
    this.showPoint(data.point);
    this.telling.hidden = data.telling === null || data.telling === data.point;
    if (data.telling !== null) put(this.telling, `Differ most at ${amount(data.cost_unit, data.telling)}`);
    this.by.title = this.measure.help;
    this.drawMap();
    this.drawCell();
  }

  /** Make the elements of the map. */
  makeMap() {
    const { x, y, facets, positions } = this.data, width = this.node.clientWidth, narrow = width < 480;
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
    const { state, open_settings, numbers: { mean } } = this.data, { short, digits, better } = this.measure;
    this.tiles.forEach((tile, i) => {
      const bits = state[i] ?? 0, value = mean[i] ?? NaN, known = (bits & IS_KNOWN) !== 0 && Number.isFinite(value), open = open_settings.indexOf(i);
      const [red, green, blue] = known ? viridis(this.share(value)) : [0, 0, 0], dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140;
      const marks = { known, dark, tied: known && bits & IS_TIED && !(bits & IS_BEST), unsure: known && bits & IS_UNSURE, blank: known && bits & IS_MOSTLY_BLANK, best: bits & IS_BEST, open: open >= 0, at: i === this.at };
      tile.className = Object.entries(marks).filter(([, on]) => on).map(([name]) => name).join(' ');
      tile.style.backgroundColor = known ? `rgb(${red}, ${green}, ${blue})` : '';
      tile.dataset.open = String(open + 1);
    });
    const sign = better === 'low' ? -1 : 1, any = state.some(bits => bits & IS_KNOWN);
    const texts = any ? [0, 0.5, 1].map(share => `${share === 0 && this.cut ? (sign > 0 ? '≤ ' : '≥ ') : ''}${decimal(sign * (this.low + share * (this.high - this.low)), digits)}`) : [];
    this.scale.replaceChildren(element('span', { text: short }), element('div'), element('p', {}, ...texts.map(text => element('span', { text }))));
  }

  /** @param {number} i @returns {string} the setting in words */
  nameOf(i) {
    const { x, y, facets, positions } = this.data, [facet, column, row] = positions[i];
    return [facets.length > 1 ? facets[facet].title : '', column >= 0 ? `${x.label} ${x.values[column]}` : '', y && row >= 0 ? `${y.label} ${y.values[row]}` : '']
      .filter(text => text).join(', ');
  }

  /** @returns {[string, string][]} names and values of the chosen cell */
  valuesOf() {
    const i = this.at, { by, cost_unit, blank, numbers, state } = this.data, { digits, label } = this.measure;
    if (i === null) return [];
    const bits = state[i] ?? 0, of = (/** @type {string} */ name) => numbers[name]?.[i] ?? NaN;
    if (!(bits & IS_KNOWN)) return [[label, 'no result yet']];
    const give = (/** @type {string} */ name, /** @type {string} */ error, more = 0) => `${decimal(of(name), digits)}${Number.isFinite(of(error)) ? ` ± ${decimal(of(error), digits + more)}` : ''}`;
    const rows = /** @type {[string, string][]} */ ([[`${label}, mean ± spread over seeds`, give('mean', 'std_dev')]]);
    rows.push(['Difference from the best, ± standard error', bits & IS_BEST ? 'the best' : `${give('difference', 'std_error', 1)}${bits & IS_TIED ? ', tied' : bits & IS_UNSURE ? ', cannot be told yet' : ''}`]);
    if (Number.isFinite(of('test')) && by.includes('validation')) rows.push([`On the test part${of('test') === of('mean') ? ', here the same data' : ''}`, give('test', 'test_std_dev')]);
    if (Number.isFinite(of('blank'))) rows.push([blank, `${decimal(100 * of('blank'), 1)} %`]);
    rows.push(['Computing time per seed', `${Number(of('seconds').toPrecision(2))} s`]);
    if (cost_unit !== 'samples' && cost_unit !== 'updates') rows.push(['Samples per seed', whole.format(Math.round(of('n')))]);
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
}

/** @type {WeakMap<HTMLElement, SweepMap>} */
const MAPS = new WeakMap();

/** @param {{ parentElement: any, data: MapData, setStateValue: (name: string, value: unknown) => void, setTriggerValue: (name: string, value: unknown) => void }} component */
export default ({ parentElement, data, setStateValue, setTriggerValue }) => {
  const map = MAPS.get(parentElement) ?? new SweepMap(parentElement);
  MAPS.set(parentElement, map);
  map.update(data, setStateValue, setTriggerValue);
};
