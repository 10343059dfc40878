// The panels of the landscape: all states of a small model side by side, what the chain makes of them, where it is.
// Three pictures over one another share their x: the ground under theta + theta_F, the newest states, the visits.

const GROUND = 195, TILES = 30, TRAIL = 92, VISITS = 104, LEFT = 24, ROWS = 90; // pixels; rows of the trail

const LANDSCAPE_NUMBERS = [
  ['raised', 'Ground raised', 'How many nats the ground under the chain lies higher than in the model: what it has unlearned of where it is now.', p => signed(p.raised)],
  ['crossings', 'Crossings', 'How often the chain has gone from one valley to another.', p => compact.format(p.crossings)],
  ['visits', 'Visits off by', 'Total variation between the share of visits and the model’s law, from 0 to 1: falls as the walk covers the model.', p => share(p.visits_off)],
  ['bent', 'Ground bent by', 'Total variation between what the next sweep samples from and the model’s law: 0 where nothing is bent.', p => share(p.bent)],
  ['moments', 'Moments off by', 'Distance between the mean of the samples so far and the rates of the training set.', p => share(p.moments)],
  ['fast_norm', 'Fast norm', 'Norm of the fast parameters: 0 where the sampler has none.', p => p.fast_norm === null ? '–' : round3(p.fast_norm)],
];

const signed = x => (x === null ? '–' : (x < 0 ? '−' : '+') + Math.abs(x).toFixed(2));
const share = x => (x === null ? '–' : x.toFixed(3));

class LandscapePanel extends Panel {
  unit = 'samples';

  makePictures() {
    const canvas = element('canvas', { class: 'picture', role: 'img', 'data-picture': 'landscape' });
    canvas.addEventListener('pointermove', event => { this.pointer = event.offsetX; this.paint(); });
    canvas.addEventListener('pointerleave', () => { this.pointer = null; this.paint(); });
    return [{ canvas }];
  }

  listNumbers() { return LANDSCAPE_NUMBERS; }

  number(name, p) { return LANDSCAPE_NUMBERS.find(([known]) => known === name)[3](p); }

  configure(spec, fresh) {
    super.configure(spec, fresh);
    if (fresh) this.node.querySelector('.remove').before(element('button', { class: 'remove', type: 'button',
      title: 'Save this picture (.png)', 'aria-label': `Save the picture of ${spec.label}`, text: '⤓', onclick: () => this.save() }));
  }

  save() {
    const link = element('a', { href: this.pictures[0].canvas.toDataURL('image/png'), download: 'landscape.png' });
    link.click();
  }

  arrange() {
    const canvas = this.pictures[0].canvas, land = this.grid.cfg.land;
    this.grid.host.classList.add('landscapes');
    this.strip.hidden = true;
    canvas.style.height = `${GROUND + TILES + TRAIL + VISITS}px`;
    canvas.setAttribute('aria-label', `Landscape, newest states and visits of ${this.spec.label}`);
    if (land !== this.land) {
      this.land = land;
      this.place = new Int32Array(land.order.length); // position of each state
      land.order.forEach((state, at) => { this.place[state] = at; });
    }
  }

  takeNews(head, bytes, at, anew) {
    const K = 2 ** this.grid.cfg.n_visible;
    if (anew) { this.trail = []; this.now = this.ball = null; }
    const floats = () => { const found = new Float32Array(bytes.slice(at, at + 4 * K).buffer); at += 4 * K; return found; };
    this.target = floats();
    this.visits = floats();
    const fresh = new Uint16Array(bytes.slice(at, at + 2 * head.cells).buffer);
    this.trail = [...this.trail, ...fresh].slice(-ROWS);
    this.here = head.here;
    return at + 2 * head.cells;
  }

  drawNews() {
    if (!this.now || this.now.length !== this.target.length || matchMedia('(prefers-reduced-motion: reduce)').matches) this.now = this.target.slice();
    this.paint();
    if (!this.moving) this.move();
  }

  // The ground and the ball glide to where they belong, so that the eye can follow.
  move() {
    const top = this.land.top + 2;
    let rest = 0;
    for (let i = 0; i < this.now.length; i++) {
      const step = Math.min(this.target[i], top) - Math.min(this.now[i], top);
      this.now[i] = Math.min(this.now[i], top) + 0.35 * step;
      rest = Math.max(rest, Math.abs(step));
    }
    const goal = this.place[this.here];
    if (this.ball === null) this.ball = goal;
    this.ball += 0.45 * (goal - this.ball);
    if (Math.abs(goal - this.ball) < 0.05) this.ball = goal;
    rest = Math.max(rest, Math.abs(goal - this.ball));
    this.paint();
    this.moving = rest > 0.02 && this.grid.alive && this.node.isConnected;
    if (this.moving) requestAnimationFrame(() => this.move());
  }

  paint() {
    if (!this.now || this.now.length !== this.land.order.length) return;
    const canvas = this.pictures[0].canvas, height = GROUND + TILES + TRAIL + VISITS, width = canvas.clientWidth;
    const x = fit(canvas, height), ratio = canvas.width / Math.max(width, 1), land = this.land, K = land.order.length;
    const [tr, tg, tb] = this.grid.text, [r, g, b] = this.grid.colour(this.spec.colour);
    const ink = share => `rgba(${tr},${tg},${tb},${share})`, accent = share => `rgba(${r},${g},${b},${share})`;
    const room = width - LEFT, edges = land.edges, wide = at => room * (edges[at + 1] - edges[at]), left = at => LEFT + room * edges[at];
    const middle = at => (left(at) + left(at + 1)) / 2;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.fillStyle = `rgb(${this.grid.back})`;
    x.fillRect(0, 0, width, height);
    x.font = `11px ${getComputedStyle(this.node).fontFamily}`;
    const text = (words, at, y, align = 'left', strength = 0.65) => { x.textAlign = align; x.textBaseline = 'middle'; x.fillStyle = ink(strength); x.fillText(words, at, y); };
    const hover = this.pointer === null || this.pointer === undefined || this.pointer < LEFT ? null : Math.max(edges.findIndex(edge => LEFT + room * edge > this.pointer), 1) - 1;

    // The ground: -log p, low where the model likes to be.
    const head = 24, y = nats => head + (GROUND - head) * (1 - Math.max(0, Math.min(nats, land.top)) / land.top);
    const now = at => y(this.now[land.order[at]]), base = at => y(land.base[land.order[at]]);
    // One path a colour: neighbours that share an edge are not painted twice.
    const blocks = (colour, from, to) => {
      x.beginPath();
      for (let at = 0; at < K; at++) if (to(at) > from(at)) x.rect(left(at), from(at), wide(at) + 0.5, to(at) - from(at));
      x.fillStyle = colour;
      x.fill();
    };
    blocks(ink(0.16), at => Math.max(now(at), base(at)), () => GROUND);
    blocks(accent(0.75), now, base);
    blocks(accent(0.14), base, now);
    x.beginPath();
    for (let at = 0; at < K; at++) { x.lineTo(left(at), base(at)); x.lineTo(left(at + 1), base(at)); }
    x.strokeStyle = ink(0.75);
    x.lineWidth = 1.2;
    x.stroke();
    for (let nats = 0; nats < land.top; nats += land.top > 9 ? 4 : 2) text(nats, LEFT - 5, y(nats) - (nats ? 0 : 5), 'right', 0.55);

    // The chain on it, and the picture that it is.
    const exact = this.place[this.here], ball = this.ball === null ? exact : this.ball, low = Math.floor(ball), part = ball - low;
    const ground = at => y(this.now[land.order[Math.min(Math.max(at, 0), K - 1)]]);
    const bx = middle(low) * (1 - part) + middle(Math.min(low + 1, K - 1)) * part, by = ground(low) * (1 - part) + ground(low + 1) * part - 6;
    x.beginPath();
    x.arc(bx, by, 6, 0, 7);
    x.fillStyle = accent(1);
    x.fill();
    x.lineWidth = 2;
    x.strokeStyle = `rgb(${this.grid.back})`;
    x.stroke();

    // The floors as pictures, under their valleys.
    const [rows, columns] = land.shape, cell = Math.max(2, Math.floor((TILES - 8) / Math.max(rows, columns)));
    const tile = (state, centre, top, colour) => {
      const from = centre - cell * columns / 2;
      x.fillStyle = ink(0.1);
      x.fillRect(from - 1, top - 1, cell * columns + 2, cell * rows + 2);
      x.fillStyle = colour;
      for (let i = 0; i < rows * columns; i++) if ((state >> (rows * columns - 1 - i)) & 1) x.fillRect(from + cell * (i % columns), top + cell * Math.floor(i / columns), cell - 0.5, cell - 0.5);
    };
    for (const [first, last, floor] of land.valleys) if (left(last) - left(first) > cell * columns + 6) tile(floor, middle(this.place[floor]), GROUND + 5, ink(0.7));
    tile(hover === null ? this.here : land.order[hover], width - cell * columns / 2 - 3, 3, hover === null ? accent(1) : ink(0.8));

    // The newest states, one row each, the newest on top.
    const trail = GROUND + TILES, row = (TRAIL - 4) / ROWS;
    x.fillStyle = ink(0.05);
    x.fillRect(LEFT, trail, width - LEFT, TRAIL);
    const points = this.trail.map(state => middle(this.place[state])).reverse();
    x.beginPath();
    points.forEach((px, age) => x.lineTo(px, trail + 2 + row * age));
    x.strokeStyle = accent(0.3);
    x.lineWidth = 1;
    x.stroke();
    const mark = 4;
    points.forEach((px, age) => { x.fillStyle = accent(1 - 0.75 * age / ROWS); x.fillRect(px - mark / 2, trail + 1 + row * age, mark, Math.max(row, 2)); });

    // Visits so far, as bars; the model's law as a line.
    const bottom = height - 2, top = height - VISITS + 22, tall = share => (bottom - top) * Math.min(share / land.highest, 1);
    x.beginPath();
    for (let at = 0; at < K; at++) { const h = tall(this.visits[land.order[at]]); x.rect(left(at), bottom - h, Math.max(wide(at) - (wide(at) > 3 ? 0.7 : 0), 0.7), h); }
    x.fillStyle = accent(0.75);
    x.fill();
    x.beginPath();
    for (let at = 0; at < K; at++) { const h = bottom - tall(land.law[land.order[at]]); x.lineTo(left(at), h); x.lineTo(left(at + 1), h); }
    x.strokeStyle = ink(0.75);
    x.lineWidth = 1.2;
    x.stroke();

    if (hover === null) {
      text('−log p (nats): line the model, filled now', LEFT, 8);
      text('visits so far: line the model', LEFT, height - VISITS + 10);
    } else {
      const state = land.order[hover], bits = state.toString(2).padStart(rows * columns, '0');
      x.fillStyle = ink(0.25);
      x.fillRect(middle(hover) - 0.5, head, 1, height - head);
      text(`${bits}: ${land.base[state].toFixed(1)}, now ${this.now[state].toFixed(1)} nats`, LEFT, 8, 'left', 0.9);
      text(`visited ${(100 * this.visits[state]).toFixed(1)} %, model ${(100 * land.law[state]).toFixed(1)} %`, LEFT, height - VISITS + 10, 'left', 0.9);
    }
    x.setTransform(1, 0, 0, 1, 0, 0);
  }
}

export default component => mount(LandscapePanel, component);
