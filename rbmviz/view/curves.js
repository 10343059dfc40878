// @ts-check
// A chart on a canvas, drawn from the result of Plot.content in rbmviz/charts/plot.py.

/** @typedef {{ title: string, scale: 'linear' | 'log' | 'symlog', percent: boolean, unit: string, domain: [number, number] | null, zero: boolean, ticks: number[], names: string[] }} AxisSpec */
/** @typedef {{ name: string, colour: string, dash: number[], width: number, points: [number, number][], band: [number, number, number][], band_opacity: number, shape: string, size?: number, step: boolean }} LineSpec size of its points, 1 by default */
/** @typedef {{ sides: [number, number, number, number], colour: string, opacity: number, text: string }} BarSpec x, x2, y, y2 */
/** @typedef {{ x: number | null, y: number | null, label: string, short: string, dash: number[], below: boolean, band: [number, number] | null }} LevelSpec */
/** @typedef {{ x: number, y: number, at: number, label: string, narrow: string, colour: string }} EndSpec end of a curve, and its name at the height at */
/** @typedef {{ x: number, y: number, series: number, text: string, box?: number[] }} Reading a value that the pointer or the arrow keys can find: its place in pixels, its line, and perhaps its bar's left, right, top and bottom */
/** @typedef {{ label: string, x: AxisSpec, y: AxisSpec, lines: LineSpec[], marks: { x: number, y: number, colour: string, shape: string }[], bars: BarSpec[], names: { name: string, colour: string }[], image: string, levels: LevelSpec[], ends: EndSpec[], legend: boolean }} CurvesSpec */

const FONT_SIZE = 12, LEFT_MARGIN = 56, BOTTOM_MARGIN = 40, TOP_MARGIN = 18, RIGHT_MARGIN = 14; // pixels; margins grow with the font
const LOW = 170, SHORT_BELOW = 420, PHONE_WIDTH = 640; // pixels: a lower chart has no title of its horizontal axis, a narrower plot has short labels; windows of phones
const LEADER = 18, END_WIDTH = 170, REACH = 40; // pixels from the plot to the names at the ends of curves, their maximum width, and from the pointer to a value that it shows
const MARK_RADIUS = 3.5;
const WHITE_FROM = 0.9; // above this opacity of a cell on white, white text has the higher contrast
/** Corners of point marks, relative to their centre, in radii; other shapes are circles. @type {Record<string, [number, number][]>} */
const SHAPES = {
  'square': [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  'diamond': [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]],
  'triangle-down': [[0, 1.3], [1.3, -1], [-1.3, -1]],
};
const TICK_WIDTH = 90, TICK_HEIGHT = 45; // approximate pixels between two ticks
const MOST_DIGITS = 7; // significant digits of a tick's label
const ROUNDING = 1e-12; // values that differ by a smaller share count as equal, such as the scores of a chain that does not move

/** @param {[number, number][]} points @param {boolean} step whether each value holds until the next @returns {[number, number][]} */
const stepped = (points, step) => (step ? points.flatMap(([x, y], i) => /** @type {[number, number][]} */ (i ? [[x, points[i - 1][1]], [x, y]] : [[x, y]])) : points);

const fiveDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 5 });

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

  /** @param {number} room @returns {number[]} 1, 2 and 5 times a power of ten, or only the powers */
  logTicks(room) {
    for (const within of [[1, 2, 5], [1]]) {
      const ticks = [];
      for (let power = Math.floor(this.low); power <= this.high; power++) for (const times of within) {
        const value = times * 10 ** power;
        if (this.scaled(value) >= this.low - 1e-9 && this.scaled(value) <= this.high + 1e-9) ticks.push(value);
      }
      if (ticks.length <= Math.max(1.5 * room, 3) && ticks.length > 1) return ticks; // their labels are short
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

  /** @param {number} value @returns {string} with more digits than on a tick */
  exact(value) {
    if (this.spec.names.length) return this.spec.names[Math.min(Math.floor(value), this.spec.names.length - 1)];
    if (this.spec.percent) return `${Number((100 * value).toPrecision(3))} %`;
    return fiveDigits.format(value).replace('-', '−') + (this.spec.unit && ` ${this.spec.unit}`);
  }

  /** @param {number} tick */
  text(tick) {
    if (this.spec.names.length) return this.spec.names[Math.floor(tick)];
    if (this.spec.percent) return `${Number((100 * tick).toPrecision(this.digits))} %`;
    return (Math.abs(tick) >= 1000 ? (this.digits > 3 ? compactTo(this.digits) : compact).format(tick) : String(Number(tick.toPrecision(this.digits + 1)))).replace('-', '−') + (this.spec.unit && ` ${this.spec.unit}`);
  }
}

/** A chart with the names of its lines below it. Its values can be read with the pointer and with the arrow keys. */
class Curves {
  /** @param {boolean} withEnds whether curves are named at their ends, and the chart is as high as its place */
  constructor(withEnds = false) {
    this.withEnds = withEnds;
    this.size = FONT_SIZE;
    // As a slider, its arrow keys and its value are known to screen readers.
    this.canvas = element('canvas', { role: 'slider', tabindex: '0', 'aria-valuemin': '0', 'aria-valuenow': '0', onkeydown: (/** @type {KeyboardEvent} */ event) => this.step(event), onblur: () => this.read(null),
      onpointermove: (/** @type {PointerEvent} */ event) => this.point(event), onpointerleave: () => this.read(null) });
    this.tip = element('div', { class: 'tip', hidden: true });
    this.plot = element('div', { class: 'plot' }, this.canvas, this.tip);
    this.image = element('img', { hidden: true, alt: '' });
    this.title = element('h2', {});
    this.names = element('ul', { class: 'names' });
    this.notes = element('p', { class: 'notes' });
    this.drawn = element('div', { class: 'drawn' }, this.title, this.plot, this.names);
    this.node = element('section', { class: 'chart' }, this.drawn, this.notes);
    /** @type {CurvesSpec | null} */
    this.spec = null;
    this.key = '';
    /** @type {Reading[]} */
    this.readings = [];
    /** The value that is shown: its line, and its place from left to right. @type {{ series: number, x: number } | null} */
    this.shown = null;
    /** @type {number[]} */
    this.ink = [0, 0, 0];
  }

  /** @param {CurvesSpec} spec @param {string[]} [notes] sentences below the chart */
  show(spec, notes = []) {
    this.spec = spec;
    put(this.notes, notes.join('\n'));
    // The title of a line chart's vertical axis names the topic, unless it is the end of a sentence.
    const byAxis = this.withEnds || spec.lines.some(({ name, dash }) => name && dash.length) && /^\p{Lu}/u.test(spec.y.title);
    put(this.title, byAxis ? spec.y.title : spec.label);
    this.canvas.setAttribute('aria-label', spec.label);
    this.plot.hidden = spec.image !== '';
    this.image.hidden = !spec.image;
    this.image.alt = spec.label;
    if (spec.image) this.plot.after(this.image);
    if (spec.image && this.image.src !== spec.image) this.image.src = spec.image;
    const listed = !this.withEnds || spec.legend;
    const named = listed ? [...spec.lines.filter(({ name }) => name), ...spec.names.map(one => ({ ...one, dash: [], width: 0, shape: 'square' }))] : [];
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
    this.ink = ink;
    const spec = this.spec;
    if (!spec || spec.image) return;
    const height = this.plot.clientHeight, k = this.size / FONT_SIZE, low = height < LOW;
    paintOn(this.canvas, height, (c, width) => {
      c.font = `${this.size}px ${getComputedStyle(this.canvas).fontFamily}`;
      const phone = innerWidth <= PHONE_WIDTH, ends = this.withEnds ? spec.ends.map(end => ({ ...end, text: phone ? end.narrow : end.label })).filter(({ text }) => text) : [];
      const left = LEFT_MARGIN * k, top = TOP_MARGIN * k;
      const right = ends.length ? LEADER + 4 + Math.min(END_WIDTH, Math.max(...ends.map(({ text }) => c.measureText(text).width))) : RIGHT_MARGIN;
      const wide = width - left - right, high = height - top - (low ? BOTTOM_MARGIN / 2 : BOTTOM_MARGIN) * k, points = spec.lines.flatMap(line => line.points);
      if (wide < 40 || high < 20) return;
      const levels = spec.levels.flatMap(({ y, band }) => [...y === null ? [] : [y], ...band ?? []]), sides = spec.bars.map(bar => bar.sides);
      const across = new Axis(spec.x, [...points.map(([x]) => x), ...sides.flatMap(([x, x2]) => [x, x2])], wide / TICK_WIDTH / k, 0);
      const up = new Axis(spec.y, [...points.map(([, y]) => y), ...levels, ...sides.flatMap(([,, y, y2]) => [y, y2])], high / TICK_HEIGHT / k, spec.bars.length ? 0 : 0.08);
      /** @param {number} x */
      const px = x => left + wide * across.at(x);
      /** @param {number} y */
      const py = y => top + high * (1 - up.at(y));
      this.readings = this.readingsOf(spec, across, up, px, py);
      c.fillStyle = translucent(ink, 0.8);
      c.textAlign = 'right';
      c.textBaseline = 'middle';
      for (const tick of up.ticks) c.fillText(up.text(tick), left - 7, py(tick), left - 9);
      c.textAlign = 'center';
      c.textBaseline = 'top';
      for (const tick of across.ticks) c.fillText(across.text(tick), Math.min(px(tick), width - 16), top + high + 6);
      if (!low) c.fillText(spec.x.title, left + wide / 2, top + high + 23 * k, wide + left);
      c.fillStyle = translucent(ink, 0.12);
      if (!spec.y.names.length) for (const tick of up.ticks) c.fillRect(left, Math.round(py(tick)), wide, 1);
      c.save();
      c.beginPath();
      c.rect(left, top - 4, wide + 4, high + 8);
      c.clip();
      for (const { band } of spec.levels) if (band) c.fillRect(left, py(band[1]), wide, py(band[0]) - py(band[1]));
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
      for (const { x, y, dash } of spec.levels) this.stroke(c, translucent(ink, 0.6), dash, 1, y !== null ? [[left, py(y)], [left + wide, py(y)]] : [[px(x ?? 0), top], [px(x ?? 0), top + high]]);
      for (const { colour, dash, width: thick, points: line, shape, size, step } of spec.lines) {
        this.stroke(c, colour, dash, thick, stepped(line, step).map(([x, y]) => [px(x), py(y)]));
        for (const [x, y] of line) this.mark(c, colour, shape, px(x), py(y), size);
      }
      for (const { x, y, colour, shape } of spec.marks) this.mark(c, colour, shape, px(x), py(y), 1.4);
      c.restore();
      for (const { x, y, at, text, colour } of ends) {
        this.stroke(c, colour, [1, 3], 1, [[px(x), py(y)], [left + wide + LEADER - 4, py(at)]]);
        c.fillStyle = translucent(ink, 0.9);
        c.textAlign = 'left';
        c.textBaseline = 'middle';
        c.fillText(text, left + wide + LEADER, py(at), END_WIDTH);
      }
      c.textBaseline = 'bottom';
      c.fillStyle = translucent(ink, 0.85);
      for (const { x, y, label, short, below } of spec.levels) {
        const atRight = x !== null && across.at(x) > 0.5, text = wide < SHORT_BELOW ? short : label;
        c.textAlign = atRight ? 'right' : 'left';
        c.fillText(text, x === null ? left + 5 : px(x) + (atRight ? -5 : 5), y === null ? top - 4 : py(y) + ((below || py(y) < top + 16 * k) && py(y) + 18 * k < top + high ? 16 * k : -3), wide); // not on those of vertical lines
      }
      this.drawShown(c);
    });
  }

  /**
   * Return all values that can be read.
   * @param {CurvesSpec} spec @param {Axis} across @param {Axis} up @param {(x: number) => number} px @param {(y: number) => number} py
   * @returns {Reading[]}
   */
  readingsOf(spec, across, up, px, py) {
    /** @param {Axis} axis @param {string} text */
    const named = (axis, text) => [axis.spec.title, text].filter(part => part).join(': ');
    const lines = spec.lines.flatMap(({ name, points, band }, series) => points.map(([x, y], i) => ({ x: px(x), y: py(y), series,
      text: [name, named(across, across.exact(x)), named(up, up.exact(y)) + (band[i] && band[i][1] < band[i][2] ? ` (${up.exact(band[i][1])} to ${up.exact(band[i][2])})` : '')].filter(part => part).join('\n') })));
    const names = spec.names.map(({ colour }) => colour);
    const bars = spec.bars.map(({ sides: [x, x2, y, y2], colour, text }) => ({ x: (px(x) + px(x2)) / 2, y: text ? (py(y) + py(y2)) / 2 : Math.min(py(y), py(y2)), series: names.indexOf(colour), box: [px(x), px(x2), Math.min(py(y), py(y2)), Math.max(py(y), py(y2))],
      text: [spec.names.find(one => one.colour === colour)?.name, named(across, across.spec.names.length ? across.exact(x) : `${across.exact(x)} to ${across.exact(x2)}`), text ? named(up, `${up.exact(y)}: ${text}`) : named(up, up.exact(y))].filter(part => part).join('\n') }));
    return [...lines, ...bars];
  }

  /** Show the value nearest to the pointer. @param {PointerEvent} event */
  point({ offsetX, offsetY }) {
    /** @param {Reading} reading */
    const far = ({ x, y, box }) => (box && offsetX >= box[0] && offsetX <= box[1] && offsetY >= box[2] - 4 && offsetY <= box[3] + 4 ? 0 : Math.hypot(x - offsetX, y - offsetY));
    const nearest = this.readings.reduce((best, one) => (far(one) < far(best) ? one : best), this.readings[0]);
    this.read(nearest && far(nearest) < REACH ? nearest : null);
  }

  /** The arrow keys go along a line, and from one line to the next. @param {KeyboardEvent} event */
  step(event) {
    const moves = new Map([['ArrowLeft', -1], ['ArrowRight', 1], ['ArrowUp', 1], ['ArrowDown', -1], ['Home', -Infinity], ['End', Infinity], ['Escape', 0]]), by = moves.get(event.key);
    if (by === undefined || !this.readings.length) return;
    event.preventDefault();
    event.stopPropagation(); // the page has its own keys
    if (!by) return this.read(null);
    const all = [...new Set(this.readings.map(({ series }) => series))], now = this.now();
    const series = now && /Up|Down/.test(event.key) ? all[(all.indexOf(now.series) + by + all.length) % all.length] : now?.series ?? all[0];
    const line = this.readings.filter(one => one.series === series), last = line.length - 1;
    if (now && series !== now.series) return this.read(line.reduce((best, one) => (Math.abs(one.x - now.x) < Math.abs(best.x - now.x) ? one : best)));
    this.read(line[Math.min(Math.max(now ? line.indexOf(now) + by : last, 0), last)]);
  }

  /** @returns {Reading | null} the value that is shown, in the newest drawing */
  now() {
    const { shown } = this, line = shown ? this.readings.filter(({ series }) => series === shown.series) : [];
    return line.reduce((best, one) => (best && shown && Math.abs(best.x - shown.x) <= Math.abs(one.x - shown.x) ? best : one), /** @type {Reading | null} */ (null));
  }

  /** @param {Reading | null} reading the value to show */
  read(reading) {
    if (!reading && !this.shown) return;
    this.shown = reading && { series: reading.series, x: reading.x };
    this.draw(this.ink);
  }

  /** @param {CanvasRenderingContext2D} c */
  drawShown(c) {
    const now = this.now();
    this.tip.hidden = !now;
    this.canvas.setAttribute('aria-valuemax', String(Math.max(this.readings.length - 1, 0)));
    this.canvas.setAttribute('aria-valuenow', String(now ? this.readings.indexOf(now) : 0));
    this.canvas.setAttribute('aria-valuetext', now ? now.text.replaceAll('\n', ', ') : 'Press an arrow key to read the values');
    if (!now) return;
    c.strokeStyle = translucent(this.ink, 1);
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(now.x, now.y, 6, 0, 2 * Math.PI);
    c.stroke();
    put(this.tip, now.text);
    const { clientWidth } = this.plot;
    this.tip.style.left = `${Math.max(0, Math.min(now.x + 12, clientWidth - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${Math.max(0, now.y > this.tip.offsetHeight + 14 ? now.y - this.tip.offsetHeight - 12 : now.y + 12)}px`;
  }
}
