// @ts-check
// The lines of a chart on a canvas, from the values that app/share/curves.py takes out of it.

/** @typedef {{ title: string, log: boolean, percent: boolean, domain: [number, number] | null }} AxisSpec */
/** @typedef {{ name: string, colour: string, dash: number[], points: [number, number][] }} LineSpec */
/** @typedef {{ label: string, x: AxisSpec, y: AxisSpec, lines: LineSpec[], levels: { y: number, label: string }[] }} CurvesSpec */

const CURVES_HEIGHT = 280, LEFT_MARGIN = 56, BOTTOM_MARGIN = 40, TOP_MARGIN = 12, RIGHT_MARGIN = 14; // pixels
const TICK_WIDTH = 90, TICK_HEIGHT = 45; // pixels between two ticks, about

/** One direction of a chart: where a value stands, and which values have a tick. */
class Axis {
  /**
   * @param {AxisSpec} spec
   * @param {number[]} values that are to be seen
   * @param {number} room ticks, about
   * @param {number} margin beside the values, as a share of their range
   */
  constructor(spec, values, room, margin) {
    this.spec = spec;
    const [low, high] = spec.domain ?? [Math.min(...values), Math.max(...values)], [a, b] = [this.scaled(low), this.scaled(high)];
    // A fixed range is kept as it is; else nothing stands at the very edge.
    const rest = b > a ? (spec.domain ? 0 : margin * (b - a)) : Math.abs(a) / 10 || 0.5;
    this.low = a - rest;
    this.high = b + rest;
    this.ticks = spec.log ? this.logTicks(room) : this.evenTicks(room);
  }

  /** @param {number} value */
  scaled(value) { return this.spec.log ? Math.log10(Math.max(value, 1e-300)) : value; }

  /** @param {number} value @returns {number} from 0 to 1 */
  at(value) { return (this.scaled(value) - this.low) / (this.high - this.low); }

  /** @param {number} room */
  evenTicks(room) {
    const raw = (this.high - this.low) / Math.max(room, 2), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5].find(times => times * power >= raw) ?? 10), ticks = [];
    for (let i = Math.ceil(this.low / step); i * step <= this.high + step * 1e-9; i++) ticks.push(i * step);
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
    const every = Math.max(1, Math.ceil((this.high - this.low) / Math.max(room, 2))), ticks = [];
    for (let power = Math.ceil(this.low); power <= this.high; power += every) ticks.push(10 ** power);
    return ticks;
  }

  /** @param {number} tick */
  text(tick) {
    if (this.spec.percent) return `${Number((100 * tick).toPrecision(3))} %`;
    return (Math.abs(tick) >= 1000 ? compact.format(tick) : String(Number(tick.toPrecision(4)))).replace('-', '−');
  }
}

/** A chart with the names of its lines below it. */
class Curves {
  constructor() {
    this.canvas = element('canvas', { role: 'img' });
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
    this.title.textContent = /^\p{Lu}/u.test(spec.y.title) ? spec.y.title : spec.label; // else it is the end of a sentence
    this.canvas.setAttribute('aria-label', spec.label);
    const key = JSON.stringify(spec.lines.map(({ name, colour, dash }) => [name, colour, dash]));
    if (key === this.key) return;
    this.key = key;
    this.names.replaceChildren(...spec.lines.map(({ name, colour, dash }) => {
      const swatch = element('span', { class: 'swatch' });
      swatch.style.setProperty('--accent', colour);
      swatch.style.setProperty('--dash', dashed(dash));
      return element('li', {}, swatch, name);
    }));
  }

  /** @param {Grid} grid whose colours those of the theme are */
  draw(grid) {
    const spec = this.spec;
    if (!spec) return;
    paintOn(this.canvas, CURVES_HEIGHT, (c, width) => {
      const wide = width - LEFT_MARGIN - RIGHT_MARGIN, high = CURVES_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN, points = spec.lines.flatMap(line => line.points);
      if (wide < 40) return;
      const levels = spec.levels.map(({ y }) => y);
      const across = new Axis(spec.x, points.map(([x]) => x), wide / TICK_WIDTH, 0), up = new Axis(spec.y, [...points.map(([, y]) => y), ...levels], high / TICK_HEIGHT, 0.08);
      /** @param {number} x */
      const px = x => LEFT_MARGIN + wide * across.at(x);
      /** @param {number} y */
      const py = y => TOP_MARGIN + high * (1 - up.at(y));
      c.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
      c.fillStyle = translucent(grid.text, 0.8);
      c.textAlign = 'right';
      c.textBaseline = 'middle';
      for (const tick of up.ticks) c.fillText(up.text(tick), LEFT_MARGIN - 7, py(tick));
      c.textAlign = 'center';
      c.textBaseline = 'top';
      for (const tick of across.ticks) c.fillText(across.text(tick), Math.min(px(tick), width - 16), TOP_MARGIN + high + 6);
      c.fillText(spec.x.title, LEFT_MARGIN + wide / 2, TOP_MARGIN + high + 23);
      c.fillStyle = translucent(grid.text, 0.12);
      for (const tick of up.ticks) c.fillRect(LEFT_MARGIN, Math.round(py(tick)), wide, 1);
      c.save();
      c.beginPath();
      c.rect(LEFT_MARGIN, TOP_MARGIN - 4, wide + 4, high + 8);
      c.clip();
      c.strokeStyle = translucent(grid.text, 0.6);
      c.setLineDash([4, 4]);
      for (const { y } of spec.levels) { c.beginPath(); c.moveTo(LEFT_MARGIN, py(y)); c.lineTo(LEFT_MARGIN + wide, py(y)); c.stroke(); }
      c.lineWidth = 2;
      c.lineJoin = 'round';
      for (const { colour, dash, points: line } of spec.lines) {
        c.strokeStyle = colour;
        c.setLineDash(dash.length > 1 && dash[1] ? dash : []);
        c.beginPath();
        for (const [x, y] of line) c.lineTo(px(x), py(y));
        c.stroke();
      }
      c.restore();
      c.setLineDash([]);
      c.textAlign = 'left';
      c.textBaseline = 'bottom';
      c.fillStyle = translucent(grid.text, 0.85);
      for (const { y, label } of spec.levels) c.fillText(label, LEFT_MARGIN + 5, py(y) - 3, wide);
    });
  }
}
