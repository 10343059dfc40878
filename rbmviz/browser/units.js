// @ts-check
// A small model drawn unit by unit: UnitByUnit (rbmviz/session/unit_by_unit.py) and its sentence (rbmviz_app/pages/chain/
// units.py), tested against them. Python gives the random numbers.

/** @typedef {'hidden' | 'visible'} UnitLayer */
/** @typedef {{ W: number[][], b: number[], c: number[], v: number[], random: number[] }} UnitsSpec */
/** @typedef {{ layer: UnitLayer, unit: number, activation: number, p: number, u: number, on: boolean, before: number, energy: number }} UnitDraw */

class DrawnUnits {
  /** @param {UnitsSpec} spec */
  constructor(spec) {
    this.spec = spec;
    this.v = [...spec.v];
    this.h = spec.c.map(() => 0);
    this.draws = this.following = 0;
    /** @type {UnitDraw | null} */
    this.last = null;
  }

  /** The next unit of the sweep. @returns {[UnitLayer, number]} */
  get next() { return this.following < this.h.length ? ['hidden', this.following] : ['visible', this.following - this.h.length]; }

  /** @param {UnitLayer} layer @returns {number[]} bias plus weights to units that are on */
  activations(layer) {
    const { W, b, c } = this.spec, { v, h } = this;
    return layer === 'hidden' ? c.map((bias, j) => v.reduce((sum, on, i) => sum + on * W[i][j], bias)) : b.map((bias, i) => h.reduce((sum, on, j) => sum + on * W[i][j], bias));
  }

  /** @param {UnitLayer} layer */
  probabilities(layer) { return this.activations(layer).map(x => 1 / (1 + Math.exp(-x))); }

  get energy() {
    const { W, b, c } = this.spec, { v, h } = this;
    return -v.reduce((sum, on, i) => sum + on * (b[i] + h.reduce((x, up, j) => x + up * W[i][j], 0)), h.reduce((sum, up, j) => sum + up * c[j], 0));
  }

  /** @param {UnitLayer} layer @param {number} unit */
  draw(layer, unit) {
    const activation = this.activations(layer)[unit], p = this.probabilities(layer)[unit], u = this.spec.random[this.draws % this.spec.random.length], before = this.energy;
    (layer === 'hidden' ? this.h : this.v)[unit] = u < p ? 1 : 0;
    this.draws++;
    this.following = (unit + (layer === 'hidden' ? 0 : this.h.length) + 1) % (this.h.length + this.v.length);
    this.last = { layer, unit, activation, p, u, on: u < p, before, energy: this.energy };
  }

  /** Draw all units to the end of the sweep. */
  sweep() { do this.draw(...this.next); while (this.following); }

  /** The last draw, with all its numbers. */
  get said() {
    const { last } = this, one = (/** @type {number} */ x) => x.toFixed(1);
    if (!last) return `Energy ${one(this.energy)}. Nothing has been drawn yet: press Step, or click a unit.`;
    let digits = 2;
    while (digits < 17 && last.p.toFixed(digits) === last.u.toFixed(digits)) digits++;
    const changed = last.energy !== last.before ? `energy ${one(last.before)} → ${one(last.energy)}` : `energy stays ${one(last.energy)}`;
    return `${last.layer === 'hidden' ? 'h' : 'v'}${last.unit + 1}: bias and weights from units that are on make ${one(last.activation)}, so p = ${last.p.toFixed(digits)}. `
      + `Random number ${last.u.toFixed(digits)} ${last.on ? '<' : '≥'} p: ${last.on ? 'on' : 'off'}; ${changed}.`;
  }

  /** What units.js draws. */
  get data() {
    /** @param {number[]} on @param {UnitLayer} layer */
    const units = (on, layer) => this.probabilities(layer).map((p, i) => ({ on: on[i] === 1, p }));
    return { hidden: units(this.h, 'hidden'), visible: units(this.v, 'visible'), weights: this.spec.W, next: this.next, last: this.last && [this.last.layer, this.last.unit, this.last.p, this.last.u], draws: this.draws, said: this.said };
  }
}
