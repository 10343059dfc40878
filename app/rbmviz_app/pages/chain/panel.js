// @ts-check
// The panels of the landscape: all states of a small model side by side, their energies as the chain changes them, and
// the chain's position. Three stacked pictures share the x axis: ground under theta + theta_F, newest states, visits.

/**
 * The landscape of a model: its states, ordered by valley.
 * @typedef {object} Land
 * @property {number[]} law probability of each state
 * @property {number[]} base -log p of each state
 * @property {number[]} order states from left to right
 * @property {number[]} edges ends of the states from left to right, 0 to 1
 * @property {[number, number, number][]} valleys first place, place after the last one, and state at the valley's floor; both places are 0 unless valleys stand side by side
 * @property {[number, number]} shape rows and columns of a state's picture
 * @property {number} top highest -log p that is drawn, in nats
 * @property {number} highest highest probability that is drawn
 */

/** Heights of the parts from top to bottom, in pixels. @typedef {{ ground: number, tiles: number, trail: number, visits: number, all: number }} Heights */

const PARTS = [195, 92, 104], TILES = 30; // heights in pixels of ground, trail and visits, and of the state pictures between them
const AROUND = 400, PRESENT_AROUND = 430; // pixels of the window's height around the pictures

/**
 * @param {number} scale factor for all heights; in a low window, the parts are lower so that the first knob fits
 * @returns {Heights}
 */
function heightsOf(scale = innerHeight <= 800 ? 0.74 : 1) {
  const [ground, trail, visits] = PARTS.map(height => Math.round(scale * height));
  return { ground, tiles: TILES, trail, visits, all: ground + TILES + trail + visits };
}

// Left margin in pixels; number of states in the trail.
const LEFT = 24, TRAIL_ROWS = 90;
const GROUND_TOP = 24; // pixels for the text above the ground

class LandscapePanel extends Panel {
  static columns = 4 / 3;
  unit = 'samples';
  canvas = element('canvas', { class: 'picture', role: 'img', 'data-picture': 'landscape' });
  land = this.page.land;
  heights = heightsOf();
  /** Position of each state, from the left. */
  place = new Int32Array(0);
  /** -log p of each state, from the server; `now` holds the values being drawn. @type {Float32Array} */
  target = new Float32Array(0);
  /** @type {Float32Array | null} */
  now = null;
  /** Share of the samples in each state. @type {Float32Array} */
  visits = new Float32Array(0);
  /** Newest states. @type {number[]} */
  trail = [];
  /** State of the chain. */
  state = 0;
  /** Position of the ball, perhaps between two states. @type {number | null} */
  ball = null;
  moving = false;
  /** @type {number | null} */
  pointer = null;

  get page() { return /** @type {PageData & { land: Land }} */ (this.grid.data); }

  makePictures() {
    const point = (/** @type {PointerEvent} */ event) => { this.pointer = event.offsetX; this.paint(); };
    this.canvas.addEventListener('pointermove', point);
    this.canvas.addEventListener('pointerdown', point); // also for a finger that does not move
    this.canvas.style.touchAction = 'pan-y';
    this.canvas.addEventListener('pointerleave', () => { this.pointer = null; this.paint(); });
    this.placeStates();
    return [this.canvas];
  }

  arrange() {
    this.grid.host.classList.add('landscapes');
    this.node.classList.add('roomy');
    this.strip.hidden = true;
    // Use the height that numbers and knobs leave in the window.
    const room = innerHeight - (this.grid.data.present ? PRESENT_AROUND : AROUND);
    this.heights = heightsOf(Math.max(0.6, Math.min(1.55, (room - TILES) / PARTS.reduce((sum, height) => sum + height))));
    this.canvas.style.height = `${this.heights.all}px`;
    this.canvas.setAttribute('aria-label', `Landscape, newest states and visits of ${this.spec.label}`);
    if (this.page.land !== this.land) {
      this.land = this.page.land;
      this.placeStates();
    }
  }

  placeStates() {
    this.place = new Int32Array(this.land.order.length);
    this.land.order.forEach((state, at) => { this.place[state] = at; });
  }

  /** @param {PanelHead & { state: number }} head @param {PanelPart['blocks']} blocks @param {boolean} isNewRun */
  receive(head, blocks, isNewRun) {
    if (isNewRun) this.now = this.ball = null;
    const { ground, visits, trail } = blocks;
    if (ground) this.target = /** @type {Float32Array} */ (ground.data);
    if (visits) this.visits = /** @type {Float32Array} */ (visits.data);
    if (trail) this.trail = [...trail.data].slice(-TRAIL_ROWS);
    this.state = head.state;
  }

  describe() {
    const [rows, columns] = this.land.shape, law = this.land.law[this.state];
    return law === undefined ? '' : `The chain is in state ${this.state.toString(2).padStart(rows * columns, '0')}, of probability ${round3(law)}.`;
  }

  drawPictures() {
    const calm = isCalm();
    if (!this.now || this.now.length !== this.target.length || calm) this.now = this.target.slice();
    if (calm) this.ball = null; // the ball is at the chain's state
    this.paint();
    if (!this.moving) this.move();
  }

  // The ground and the ball glide to their targets, so that the eye can follow.
  move() {
    const top = this.land.top + 2, now = this.now ?? new Float32Array(0);
    let rest = 0;
    for (let i = 0; i < now.length; i++) {
      const step = Math.min(this.target[i], top) - Math.min(now[i], top);
      now[i] = Math.min(now[i], top) + 0.35 * step;
      rest = Math.max(rest, Math.abs(step));
    }
    const goal = this.place[this.state];
    this.ball ??= goal;
    this.ball += 0.45 * (goal - this.ball);
    if (Math.abs(goal - this.ball) < 0.05) this.ball = goal;
    rest = Math.max(rest, Math.abs(goal - this.ball));
    this.paint();
    this.moving = rest > 0.02 && this.grid.alive && this.node.isConnected;
    if (this.moving) requestAnimationFrame(() => this.move());
  }

  paint() {
    if (!this.now || this.now.length !== this.land.order.length) return;
    const height = this.heights.all;
    paintOn(this.canvas, height, (x, width) => new LandscapePicture(this, this.now ?? this.target, x, width, height).paint());
  }
}

/** One drawing of a landscape: the common part of its pictures. A place is a state's position from the left. */
class LandscapePicture {
  /**
   * @param {LandscapePanel} panel
   * @param {Float32Array} ground -log p of each state
   * @param {CanvasRenderingContext2D} x
   * @param {number} width
   * @param {number} height
   */
  constructor(panel, ground, x, width, height) {
    this.panel = panel;
    this.land = panel.land;
    this.ground = ground;
    this.x = x;
    this.width = width;
    this.height = height;
    this.heights = panel.heights;
    this.n_states = this.land.order.length;
    this.paper = translucent(panel.grid.back, 1);
    const { pointer } = panel, edges = this.land.edges;
    /** The place under the pointer. */
    this.hover = pointer === null || pointer < LEFT || pointer >= width ? null // a finger may move beyond the edges
      : Math.max(edges.findIndex(edge => LEFT + (width - LEFT) * edge > pointer), 1) - 1;
  }

  paint() {
    this.x.fillStyle = this.paper;
    this.x.fillRect(0, 0, this.width, this.height);
    this.paintGround();
    this.paintBall();
    this.paintTiles();
    this.paintTrail();
    this.paintVisits();
    this.paintWords();
  }

  /** @param {number} opacity */
  ink(opacity) { return translucent(this.panel.grid.text, opacity); }

  /** @param {number} opacity */
  accent(opacity) { return translucent(this.panel.grid.colour(this.panel.spec.colour), opacity); }

  /** @param {number} place */
  left(place) { return LEFT + (this.width - LEFT) * this.land.edges[place]; }

  /** @param {number} place */
  wide(place) { return (this.width - LEFT) * (this.land.edges[place + 1] - this.land.edges[place]); }

  /** @param {number} place */
  middle(place) { return (this.left(place) + this.left(place + 1)) / 2; }

  /** @param {number} nats */
  yOf(nats) { return GROUND_TOP + (this.heights.ground - GROUND_TOP) * (1 - Math.max(0, Math.min(nats, this.land.top)) / this.land.top); }

  /** @param {number} place @returns {number} y of the ground as drawn now */
  now(place) { return this.yOf(this.ground[this.land.order[place]]); }

  /** @param {number} place @returns {number} y of the ground in the model */
  base(place) { return this.yOf(this.land.base[this.land.order[place]]); }

  /** @param {string | number} words @param {number} at @param {number} y @param {CanvasTextAlign} [align] @param {number} [opacity] */
  text(words, at, y, align = 'left', opacity = 0.65) {
    const x = this.x;
    x.textAlign = align;
    x.textBaseline = 'middle';
    x.fillStyle = this.ink(opacity);
    x.fillText(String(words), at, y);
  }

  /**
   * Fill columns between two heights. Each colour is a single path, so that shared edges are not painted twice.
   * @param {string} colour
   * @param {(place: number) => number} from
   * @param {(place: number) => number} to
   */
  columns(colour, from, to) {
    const x = this.x;
    x.beginPath();
    for (let at = 0; at < this.n_states; at++) if (to(at) > from(at)) x.rect(this.left(at), from(at), this.wide(at) + 0.5, to(at) - from(at));
    x.fillStyle = colour;
    x.fill();
  }

  /** @param {(place: number) => number} y heights of the line of steps */
  steps(y) {
    const x = this.x;
    x.beginPath();
    for (let at = 0; at < this.n_states; at++) { x.lineTo(this.left(at), y(at)); x.lineTo(this.left(at + 1), y(at)); }
    x.strokeStyle = this.ink(0.75);
    x.lineWidth = 1.2;
    x.stroke();
  }

  // Draw the ground: -log p, which is low at likely states.
  paintGround() {
    const { land } = this;
    this.columns(this.ink(0.16), at => Math.max(this.now(at), this.base(at)), () => this.heights.ground);
    this.columns(this.accent(0.75), at => this.now(at), at => this.base(at));
    this.columns(this.accent(0.14), at => this.base(at), at => this.now(at));
    this.steps(at => this.base(at));
    for (let nats = 0; nats < land.top; nats += land.top > 9 ? 4 : 2) this.text(nats, LEFT - 5, this.yOf(nats) - (nats ? 0 : 5), 'right', 0.55);
  }

  // Draw the chain, as a ball on the ground.
  paintBall() {
    const { x, panel, n_states } = this;
    const ball = panel.ball ?? panel.place[panel.state], low = Math.floor(ball), part = ball - low;
    /** @param {number} at */
    const ground = at => this.now(Math.min(Math.max(at, 0), n_states - 1));
    const bx = this.middle(low) * (1 - part) + this.middle(Math.min(low + 1, n_states - 1)) * part;
    x.beginPath();
    x.arc(bx, ground(low) * (1 - part) + ground(low + 1) * part - 6, 6, 0, 7);
    x.fillStyle = this.accent(1);
    x.fill();
    x.lineWidth = 2;
    x.strokeStyle = this.paper;
    x.stroke();
  }

  // Draw pictures of the states at the bottom of the valleys and, at the top right, the chain's state or the state under the pointer.
  paintTiles() {
    const { x, land, panel, hover } = this, [rows, columns] = land.shape;
    const cell = Math.max(2, Math.floor((this.heights.tiles - 8) / Math.max(rows, columns)));
    /** @param {number} state @param {number} centre @param {number} top @param {string} colour */
    const tile = (state, centre, top, colour) => {
      const from = centre - cell * columns / 2;
      x.fillStyle = this.ink(0.1);
      x.fillRect(from - 1, top - 1, cell * columns + 2, cell * rows + 2);
      x.fillStyle = colour;
      for (let i = 0; i < rows * columns; i++) if ((state >> (rows * columns - 1 - i)) & 1) x.fillRect(from + cell * (i % columns), top + cell * Math.floor(i / columns), cell - 0.5, cell - 0.5);
    };
    for (const [first, last, bottom] of land.valleys) {
      if (this.left(last) - this.left(first) > cell * columns + 6) tile(bottom, this.middle(panel.place[bottom]), this.heights.ground + 5, this.ink(0.7));
    }
    const [state, colour] = hover === null ? [panel.state, this.accent(1)] : [land.order[hover], this.ink(0.8)];
    tile(state, this.width - cell * columns / 2 - 3, 3, colour);
  }

  // Draw the newest states, one per row, with the newest on top.
  paintTrail() {
    const { x, panel } = this, top = this.heights.ground + this.heights.tiles, row = (this.heights.trail - 4) / TRAIL_ROWS, mark = 4;
    x.fillStyle = this.ink(0.05);
    x.fillRect(LEFT, top, this.width - LEFT, this.heights.trail);
    const points = panel.trail.map(state => this.middle(panel.place[state])).reverse();
    x.beginPath();
    points.forEach((px, age) => x.lineTo(px, top + 2 + row * age));
    x.strokeStyle = this.accent(0.3);
    x.lineWidth = 1;
    x.stroke();
    points.forEach((px, age) => { x.fillStyle = this.accent(1 - 0.75 * age / TRAIL_ROWS); x.fillRect(px - mark / 2, top + 1 + row * age, mark, Math.max(row, 2)); });
  }

  // Draw the visits so far as bars, and the model's law as a line.
  paintVisits() {
    const { x, panel, land } = this, bottom = this.height - 2, top = this.height - this.heights.visits + 22;
    /** @param {number} share */
    const tall = share => (bottom - top) * Math.min(share / land.highest, 1);
    x.beginPath();
    for (let at = 0; at < this.n_states; at++) {
      const h = tall(panel.visits[land.order[at]]), wide = this.wide(at);
      x.rect(this.left(at), bottom - h, Math.max(wide - (wide > 3 ? 0.7 : 0), 0.7), h);
    }
    x.fillStyle = this.accent(0.75);
    x.fill();
    this.steps(at => bottom - tall(land.law[land.order[at]]));
  }

  paintWords() {
    const { x, land, panel, hover, height } = this, low = height - this.heights.visits + 10;
    if (hover === null) {
      this.text('−log p (nats); line: trained model, filled: now', LEFT, 8);
      this.text('visits so far; line: expected', LEFT, low);
      return;
    }
    const [rows, columns] = land.shape, state = land.order[hover], bits = state.toString(2).padStart(rows * columns, '0');
    x.fillStyle = this.ink(0.25);
    x.fillRect(this.middle(hover) - 0.5, GROUND_TOP, 1, height - GROUND_TOP);
    this.text(`${bits}: ${land.base[state].toFixed(1)}, now ${panel.target[state].toFixed(1)} nats`, LEFT, 8, 'left', 0.9);
    this.text(`visited ${(100 * panel.visits[state]).toFixed(1)} %, model ${(100 * land.law[state]).toFixed(1)} %`, LEFT, low, 'left', 0.9);
  }
}

/** @param {Component} component */
export default component => mount(LandscapePanel, component);
