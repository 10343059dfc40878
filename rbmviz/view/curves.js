// @ts-check
// A chart on a canvas, drawn from the result of Plot.content in rbmviz/charts/plot.py.

/** @typedef {{ title: string, scale: 'linear' | 'log' | 'symlog', percent: boolean, unit: string, domain: [number, number] | null, zero: boolean, ticks: number[], names: string[] }} AxisSpec */
/** @typedef {{ name: string, colour: string, dash: number[], width: number, points: [number, number][], band: [number, number, number][], band_opacity: number, shape: string, step: boolean }} LineSpec */
/** @typedef {{ sides: [number, number, number, number], colour: string, opacity: number, text: string }} BarSpec x, x2, y, y2 */
/** @typedef {{ label: string, x: AxisSpec, y: AxisSpec, lines: LineSpec[], marks: { x: number, y: number, colour: string, shape: string }[], bars: BarSpec[], names: { name: string, colour: string }[], image: string, levels: { x: number | null, y: number | null, label: string, dash: number[] }[] }} CurvesSpec */

const CURVES_HEIGHT = 280, LEFT_MARGIN = 56, BOTTOM_MARGIN = 40, TOP_MARGIN = 18, RIGHT_MARGIN = 14; // pixels
const MARK_RADIUS = 3.5;
const WHITE_FROM = 0.9; // above this opacity of a cell on white, white text has the higher contrast
/** Corners of point marks, relative to their centre, in radii; other shapes are circles. @type {Record<string, [number, number][]>} */
const SHAPES = {
  'square': [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  'diamond': [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]],
  'triangle-up': [[0, -1.3], [1.3, 1], [-1.3, 1]],
  'triangle-down': [[0, 1.3], [1.3, -1], [-1.3, -1]],
  'triangle-left': [[-1.3, 0], [1, -1.3], [1, 1.3]],
  'triangle-right': [[1.3, 0], [-1, -1.3], [-1, 1.3]],
  'cross': [[-0.5, -1.4], [0.5, -1.4], [0.5, -0.5], [1.4, -0.5], [1.4, 0.5], [0.5, 0.5], [0.5, 1.4], [-0.5, 1.4], [-0.5, 0.5], [-1.4, 0.5], [-1.4, -0.5], [-0.5, -0.5]],
  'wedge': [[0, -1.6], [0.6, 1.2], [-0.6, 1.2]],
  'arrow': [[0, -1.6], [1.2, 0], [0.4, 0], [0.4, 1.6], [-0.4, 1.6], [-0.4, 0], [-1.2, 0]],
};
const TICK_WIDTH = 90, TICK_HEIGHT = 45; // approximate pixels between two ticks
const MOST_DIGITS = 7; // significant digits of a tick's label
const ROUNDING = 1e-12; // values that differ by a smaller share count as equal, such as the scores of a chain that does not move

/** @param {[number, number][]} points @param {boolean} step whether each value holds until the next @returns {[number, number][]} */
const stepped = (points, step) => (step ? points.flatMap(([x, y], i) => /** @type {[number, number][]} */ (i ? [[x, points[i - 1][1]], [x, y]] : [[x, y]])) : points);

/** One axis of a chart: positions of values, and ticks. */
class Axis {
  /**
   * @param {AxisSpec} spec
   * @param {number[]} values values that must be visible
   * @param {number} room approximate number of ticks
   * @param {number} margin space beside the values, as a share of their range
   */
  constructor(spec, values, room, margin) {
    this.spec = spec;
    const { names, scale } = spec, domain = names.length ? [0, names.length] : spec.domain;
    if (spec.zero) values = [0, ...values];
    const [low, high] = domain ?? [Math.min(...values), Math.max(...values)], [a, b] = [this.scaled(low), this.scaled(high)];
    // Keep a fixed range; otherwise, add a margin that keeps values off the edges.
    const rest = b - a > ROUNDING * Math.max(Math.abs(a), Math.abs(b)) ? (domain ? 0 : margin * (b - a)) : Math.abs(a) / 10 || 0.5;
    this.low = a - rest;
    this.high = b + rest;
    this.ticks = names.length ? names.map((_, i) => i + 0.5) : spec.ticks.length ? this.givenTicks(room) : scale === 'log' ? this.logTicks(room) : this.evenTicks(room);
    /** Number of significant digits of a label, enough to tell the ticks apart. */
    this.digits = 3;
    while (this.digits < MOST_DIGITS && new Set(this.ticks.map(tick => this.text(tick))).size < this.ticks.length) this.digits++;
  }

  /** @param {number} value */
  scaled(value) {
    const { scale } = this.spec;
    return scale === 'log' ? Math.log10(Math.max(value, 1e-300)) : scale === 'symlog' ? Math.sign(value) * Math.log1p(Math.abs(value)) : value;
  }

  /** @param {number} value @returns {number} from 0 to 1 */
  at(value) { return (this.scaled(value) - this.low) / (this.high - this.low); }

  /** @param {number} room */
  evenTicks(room, low = this.low, high = this.high) {
    const raw = (high - low) / Math.max(room, 2), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5].find(times => times * power >= raw) ?? 10), ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    return ticks;
  }

  /** @param {number} room */
  logTicks(room) {
    for (const within of [[1, 2, 5], [1, 3], [1]]) {
      const ticks = [];
      for (let power = Math.floor(this.low); power <= this.high; power++) for (const times of within) {
        const value = times * 10 ** power;
        if (this.scaled(value) >= this.low - 1e-9 && this.scaled(value) <= this.high + 1e-9) ticks.push(value);
      }
      if (ticks.length <= Math.max(room, 3) && ticks.length > 1) return ticks;
    }
    if (this.high - this.low < 1) return this.evenTicks(room, 10 ** this.low, 10 ** this.high); // such as 310 to 340
    const every = Math.max(1, Math.ceil((this.high - this.low) / Math.max(room, 2))), ticks = [];
    for (let power = Math.ceil(this.low); power <= this.high; power += every) ticks.push(10 ** power);
    return ticks;
  }

  /** @param {number} room */
  givenTicks(room) {
    const ticks = this.spec.ticks.filter(tick => this.scaled(tick) >= this.low - 1e-9 && this.scaled(tick) <= this.high + 1e-9);
    const powers = ticks.filter(tick => !tick || Number.isInteger(Math.log10(tick)));
    return ticks.length > Math.max(room, 4) && powers.length > 1 ? powers : ticks;
  }

  /** @param {number} tick */
  text(tick) {
    if (this.spec.names.length) return this.spec.names[Math.floor(tick)];
    if (this.spec.percent) return `${Number((100 * tick).toPrecision(this.digits))} %`;
    return (Math.abs(tick) >= 1000 ? (this.digits > 3 ? compactTo(this.digits) : compact).format(tick) : String(Number(tick.toPrecision(this.digits + 1)))).replace('-', '−') + (this.spec.unit && ` ${this.spec.unit}`);
  }
}

/** A chart with the names of its lines below it. */
class Curves {
  constructor() {
    this.canvas = element('canvas', { role: 'img' });
    this.image = element('img', { hidden: true, alt: '' });
    this.title = element('h2', {});
    this.names = element('ul', { class: 'names' });
    this.node = element('section', { class: 'chart' }, this.title, this.canvas, this.names);
    /** @type {CurvesSpec | null} */
    this.spec = null;
    this.key = '';
  }

  /** @param {CurvesSpec} spec */
  show(spec) {
    this.spec = spec;
    // The title of a line chart's vertical axis names the topic, unless it is the end of a sentence.
    this.title.textContent = spec.lines.some(({ name, dash }) => name && dash.length) && /^\p{Lu}/u.test(spec.y.title) ? spec.y.title : spec.label;
    this.canvas.setAttribute('aria-label', spec.label);
    this.canvas.hidden = spec.image !== '';
    this.image.hidden = !spec.image;
    this.image.alt = spec.label;
    if (spec.image) this.canvas.after(this.image);
    if (spec.image && this.image.src !== spec.image) this.image.src = spec.image;
    const named = [...spec.lines.filter(({ name }) => name), ...spec.names.map(one => ({ ...one, dash: [], width: 0, shape: 'square' }))];
    const key = JSON.stringify(named.map(({ name, colour, dash, width, shape }) => [name, colour, dash, width, shape]));
    if (key === this.key) return;
    this.key = key;
    this.names.replaceChildren(...named.map(({ name, colour, dash, width, shape }) => {
      const swatch = element('canvas', { class: 'mark-swatch', 'aria-hidden': 'true', width: 56, height: 28 }), c = /** @type {CanvasRenderingContext2D} */ (swatch.getContext('2d'));
      c.scale(2, 2);
      this.stroke(c, colour, dash, width, [[0, 7], [28, 7]]);
      this.mark(c, colour, shape, 14, 7);
      return element('li', {}, swatch, name);
    }));
  }

  /** @param {CanvasRenderingContext2D} c @param {string} colour @param {number[]} dash @param {number} width @param {[number, number][]} points */
  stroke(c, colour, dash, width, points) {
    if (!dash.length) return;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineJoin = 'round';
    c.setLineDash(dash.length > 1 && dash[1] ? dash : []);
    c.beginPath();
    for (const [x, y] of points) c.lineTo(x, y);
    c.stroke();
    c.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} c @param {string} colour @param {string} shape "": none @param {number} x @param {number} y @param {number} times size */
  mark(c, colour, shape, x, y, times = 1) {
    if (!shape) return;
    c.fillStyle = colour;
    c.beginPath();
    if (shape in SHAPES) for (const [dx, dy] of SHAPES[shape]) c.lineTo(x + times * MARK_RADIUS * dx, y + times * MARK_RADIUS * dy);
    else c.arc(x, y, times * MARK_RADIUS, 0, 2 * Math.PI);
    c.fill();
  }

  /** @param {number[]} ink colour of text */
  draw(ink) {
    const spec = this.spec;
    if (!spec || spec.image) return;
    paintOn(this.canvas, CURVES_HEIGHT, (c, width) => {
      const wide = width - LEFT_MARGIN - RIGHT_MARGIN, high = CURVES_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN, points = spec.lines.flatMap(line => line.points);
      if (wide < 40) return;
      const levels = spec.levels.flatMap(({ y }) => y ?? []), sides = spec.bars.map(bar => bar.sides);
      const across = new Axis(spec.x, [...points.map(([x]) => x), ...sides.flatMap(([x, x2]) => [x, x2])], wide / TICK_WIDTH, 0);
      const up = new Axis(spec.y, [...points.map(([, y]) => y), ...levels, ...sides.flatMap(([,, y, y2]) => [y, y2])], high / TICK_HEIGHT, spec.bars.length ? 0 : 0.08);
      /** @param {number} x */
      const px = x => LEFT_MARGIN + wide * across.at(x);
      /** @param {number} y */
      const py = y => TOP_MARGIN + high * (1 - up.at(y));
      c.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
      c.fillStyle = translucent(ink, 0.8);
      c.textAlign = 'right';
      c.textBaseline = 'middle';
      for (const tick of up.ticks) c.fillText(up.text(tick), LEFT_MARGIN - 7, py(tick), LEFT_MARGIN - 9);
      c.textAlign = 'center';
      c.textBaseline = 'top';
      for (const tick of across.ticks) c.fillText(across.text(tick), Math.min(px(tick), width - 16), TOP_MARGIN + high + 6);
      c.fillText(spec.x.title, LEFT_MARGIN + wide / 2, TOP_MARGIN + high + 23);
      c.fillStyle = translucent(ink, 0.12);
      if (!spec.y.names.length) for (const tick of up.ticks) c.fillRect(LEFT_MARGIN, Math.round(py(tick)), wide, 1);
      c.save();
      c.beginPath();
      c.rect(LEFT_MARGIN, TOP_MARGIN - 4, wide + 4, high + 8);
      c.clip();
      for (const { sides: [x, x2, y, y2], colour, opacity, text } of spec.bars) {
        c.globalAlpha = opacity;
        c.fillStyle = colour;
        c.fillRect(px(x), py(y), px(x2) - px(x) - (text ? 1 : 0), py(y2) - py(y) + (text ? 1 : 0));
        c.globalAlpha = 1;
        c.fillStyle = ink[0] > 128 || opacity > WHITE_FROM ? '#ffffff' : '#000000';
        c.textAlign = 'center';
        c.textBaseline = 'middle';
        if (text && Math.abs(px(x2) - px(x)) > 30) c.fillText(text, (px(x) + px(x2)) / 2, (py(y) + py(y2)) / 2);
      }
      for (const { colour, band, band_opacity, step } of spec.lines) {
        const edges = [...stepped(band.map(([x,, high]) => [x, high]), step), ...stepped(band.map(([x, low]) => [x, low]), step).reverse()];
        c.globalAlpha = band_opacity;
        c.fillStyle = colour;
        c.beginPath();
        for (const [x, y] of edges) c.lineTo(px(x), py(y));
        c.fill();
        c.globalAlpha = 1;
      }
      for (const { x, y, dash } of spec.levels) this.stroke(c, translucent(ink, 0.6), dash, 1, y !== null ? [[LEFT_MARGIN, py(y)], [LEFT_MARGIN + wide, py(y)]] : [[px(x ?? 0), TOP_MARGIN], [px(x ?? 0), TOP_MARGIN + high]]);
      for (const { colour, dash, width: thick, points: line, shape, step } of spec.lines) {
        this.stroke(c, colour, dash, thick, stepped(line, step).map(([x, y]) => [px(x), py(y)]));
        for (const [x, y] of line) this.mark(c, colour, shape, px(x), py(y));
      }
      for (const { x, y, colour, shape } of spec.marks) this.mark(c, colour, shape, px(x), py(y), 1.4);
      c.restore();
      c.textBaseline = 'bottom';
      c.fillStyle = translucent(ink, 0.85);
      for (const { x, y, label } of spec.levels) {
        const atRight = x !== null && across.at(x) > 0.5;
        c.textAlign = atRight ? 'right' : 'left';
        c.fillText(label, x === null ? LEFT_MARGIN + 5 : px(x) + (atRight ? -5 : 5), y === null ? TOP_MARGIN - 4 : py(y) - 3, wide);
      }
    });
  }
}
