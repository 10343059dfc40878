// @ts-check
// The drawing surface of the Sample page, and of pages without a server. What is held is the box around all that was drawn:
// ink on, paper off. Each stroke, and each button, is one message to the page, which answers with all that is held.

/**
 * Data from the page. units: 1 for ink, 0 for paper that is held, -1 for a free pixel; taken: number of the newest message
 * that the page has taken; facts: about the drawing, with all other pixels off; energies: free energies of the test images.
 * @typedef {{ shape: [number, number], units: number[], taken: number, facts: { energy: number, p: string, nearest?: string } | null, energies: { counts: number[], lo: number, hi: number } | null }} PenData
 */

const FREE = -1;
const PEN_WIDTH = 1 / 12; // of the longer side of the picture, as the strokes of handwritten digits are

/**
 * The pixels near a line.
 * @param {[number, number]} from @param {[number, number]} to x and y in pixels @param {[number, number]} shape rows and columns
 * @returns {number[]}
 */
function stroked([ax, ay], [bx, by], [rows, columns]) {
  const radius = Math.max(0.75, PEN_WIDTH * Math.max(rows, columns) / 2), length2 = (bx - ax) ** 2 + (by - ay) ** 2, pixels = [];
  for (let i = 0; i < rows * columns; i++) {
    const x = i % columns + 0.5, y = Math.floor(i / columns) + 0.5;
    const along = length2 ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length2)) : 0;
    if ((x - ax - along * (bx - ax)) ** 2 + (y - ay - along * (by - ay)) ** 2 < radius ** 2) pixels.push(i);
  }
  return pixels;
}

/** Hold the paper in the box around all that is held. @param {number[]} units @param {[number, number]} shape */
function holdBox(units, [, columns]) {
  let left = Infinity, right = -1, top = Infinity, bottom = -1;
  units.forEach((unit, i) => {
    if (unit === FREE) return;
    const x = i % columns, y = Math.floor(i / columns);
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  });
  for (let y = top; y <= bottom; y++) for (let x = left; x <= right; x++) if (units[y * columns + x] === FREE) units[y * columns + x] = 0;
}

class Pen {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.data = /** @type {PenData} */ ({ shape: [0, 0], units: [], taken: 0, facts: null, energies: null });
    /** @type {(name: string, value: unknown) => void} */
    this.trigger = () => {};
    /** What is held, as it is drawn. @type {number[]} */
    this.units = [];
    /** Number of the newest message, which is a time. */
    this.sent = 0;
    /** Where the pen is, while it draws. @type {[number, number] | null} */
    this.at = null;
    this.ink = 1;
    this.picture = new Mosaic('drawing');
    const { canvas } = this.picture;
    canvas.addEventListener('pointerdown', event => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      this.at = this.placeOf(event);
      this.strokeTo(event);
    });
    canvas.addEventListener('pointermove', event => { if (this.at) for (const each of event.getCoalescedEvents?.() ?? [event]) this.strokeTo(each); });
    for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, () => {
      if (this.at) this.act('draw');
      this.at = null;
    });
    /** @param {string} text @param {string} title @param {() => void} onclick */
    const button = (text, title, onclick) => element('button', { class: 'button', type: 'button', text, title, onclick });
    this.tools = [button('Pen', 'Draw ink', () => this.take(1)), button('Eraser', 'Draw paper, which is held, too', () => this.take(0))];
    this.test = button('Test image', 'Hold the upper half of the next test image', () => this.act('test'));
    const clear = button('Clear', 'Hold nothing', () => { this.units.fill(FREE); this.act('draw'); });
    const upper = button('Upper half', 'Hold the upper half of the drawing or, if there is none, of the newest sample', () => this.act('upper'));
    this.said = element('p', { role: 'status' });
    this.probe = element('span', { hidden: true });
    this.rebuilt = new LargePicture('Reconstruction');
    this.nearest = new LargePicture('Nearest training image');
    this.energies = element('canvas', { role: 'img' });
    this.energy = element('figcaption');
    this.facts = element('div', { class: 'facts' }, element('figure', {}, this.energies, this.energy), this.rebuilt.node, this.nearest.node);
    this.node = element('div', { class: 'pen' }, canvas, element('div', { class: 'tools' }, ...this.tools, upper, this.test, clear), this.said, this.facts, this.probe);
    root.append(this.node);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.node);
    this.take(1);
  }

  /** @param {number} ink */
  take(ink) {
    this.ink = ink;
    this.tools.forEach((tool, i) => tool.setAttribute('aria-pressed', String(i !== ink)));
  }

  /** @param {PenData} data @param {(name: string, value: unknown) => void} trigger */
  configure(data, trigger) {
    Object.assign(this, { data, trigger });
    // An answer to an earlier message would undo the newest stroke.
    if (!this.at && data.taken >= this.sent) this.units = data.units.slice();
    this.test.hidden = !data.energies;
    this.picture.layout(...data.shape, 1, 1);
    this.draw();
  }

  /** @param {PointerEvent} event @returns {[number, number]} */
  placeOf({ clientX, clientY }) {
    const { left, top, width, height } = this.picture.canvas.getBoundingClientRect(), [rows, columns] = this.data.shape;
    return [columns * (clientX - left) / width, rows * (clientY - top) / height];
  }

  /** @param {PointerEvent} event */
  strokeTo(event) {
    const to = this.placeOf(event);
    for (const i of stroked(this.at ?? to, to, this.data.shape)) this.units[i] = this.ink;
    holdBox(this.units, this.data.shape);
    this.at = to;
    this.draw();
  }

  /** @param {string} act */
  act(act) {
    this.sent = Math.max(this.sent, this.data.taken, Date.now() - 1) + 1;
    this.trigger('act', { n: this.sent, act, units: this.units });
    this.draw();
  }

  draw() {
    const { picture, units } = this, held = units.filter(unit => unit !== FREE).length;
    /** @param {number} share @param {number[]} text @param {number[]} paper */
    const mix = (share, text, paper) => paper.map((from, c) => from + (text[c] - from) * share);
    const text = rgb(this.probe, 'var(--st-text-color)'), paper = rgb(this.probe, 'var(--st-background-color)');
    picture.held = units;
    picture.cells.set(units.slice(0, picture.cells.length).map(unit => unit === 1 ? 255 : 0));
    const ink = ramp(mix(0.05, text, paper), mix(0.95, text, paper));
    picture.draw(ink, ramp(paper, paper)[0], null);
    this.drawFacts(ink, text);
    put(this.said, held ? `${held} of ${units.length} pixels are held, in the tinted box around the ink. The samplers draw the rest.` : 'Draw a part of an image here. The samplers complete it.');
    picture.canvas.setAttribute('aria-label', held ? `Drawing: ${held} of ${units.length} pixels are held` : 'Drawing: empty');
  }

  /** @param {Uint32Array} ink @param {number[]} text */
  drawFacts(ink, text) {
    const { shape: [rows, columns], facts, energies } = this.data;
    this.facts.hidden = !facts;
    if (!facts) return;
    const { energy, p, nearest } = facts;
    this.rebuilt.draw(bytesOf(p), rows, columns, ink);
    put(this.rebuilt.number, 'of the drawing');
    this.nearest.node.hidden = !nearest;
    if (nearest) this.nearest.draw(unpackBits({ dtype: 'bits', shape: [1, rows * columns], data: bytesOf(nearest) }).map(bit => 255 * bit), rows, columns, ink);
    put(this.nearest.number, 'where it is held');
    put(this.energy, `Drawing: ${energyText(energy)}${energies ? '; bars: test images' : ''}`);
    this.energies.hidden = !energies;
    if (!energies) return;
    const { counts, lo, hi } = energies, from = Math.min(lo, energy), to = Math.max(hi, energy), most = Math.max(...counts), wide = (hi - lo) / counts.length;
    paintOn(this.energies, 80, (x, width) => {
      /** @param {number} value */
      const at = value => (width - 3) * (value - from) / (to - from);
      x.fillStyle = translucent(text, 0.4);
      counts.forEach((count, i) => x.fillRect(at(lo + i * wide), 80 - 76 * count / most, at(from + wide), 76 * count / most));
      x.fillStyle = translucent(text, 1);
      x.fillRect(at(energy), 0, 3, 80);
    });
    this.energies.setAttribute('aria-label', `Free energies of the test images, from ${lo.toFixed(0)} to ${hi.toFixed(0)}; the drawing's is ${energy.toFixed(1)}`);
  }

  close() { this.resized.disconnect(); this.node.remove(); }
}
