// The panel of the Coupling page: for each algorithm a pair of chains side by side, sweep by sweep.

const HOLD_MS = 900; // so long a meeting stays on the screen, however fast the sweeps are
const TRAILS = 12; // paths of earlier pairs behind the newest one
const OFF_DIFFERS = 1, ON_DIFFERS = 254; // cells of a picture with a colour of their own
const LANE_NUMBERS = [
  ['counted', 'Pairs counted', 'Pairs that have ended in the background; the charts below are made of them.'],
  ['tau', 'Mean τ', 'Mean stopping time: sweeps of the first chain until the two are equal. Pairs cut off count with their last sweep.'],
  ['truncated', 'Not met', 'Share of the pairs that were given up: what they tell is biased.'],
  ['rejected', 'Rejected, ξ | η', 'Refused proposals of the first and of the second chain, a pair on average.'],
];

class Lane {
  constructor(spec) {
    this.spec = spec;
    this.pictures = [new Mosaic(`${spec.name} xi`), new Mosaic(`${spec.name} eta`)];
    this.strip = element('canvas', { class: 'strip', role: 'img', 'aria-label': `Pixels that differ, ${spec.label}` });
    this.where = element('span', { class: 'where' });
    this.badge = element('div', { class: 'badge', role: 'status', hidden: true });
    this.values = {};
    const numbers = element('dl', { class: 'numbers' });
    for (const [name, label, help] of LANE_NUMBERS) {
      this.values[name] = element('dd', { 'data-number': `${spec.name}-${name}`, text: '–' });
      numbers.append(element('div', { title: help }, element('dt', { text: label }), this.values[name]));
    }
    const names = ['ξ, one sweep ahead', 'η'];
    this.node = element('div', { class: 'lane', 'data-algorithm': spec.name },
      element('header', {}, element('span', { class: 'swatch' }), element('h4', { text: spec.label }), helpButton(spec.help), this.where),
      element('div', { class: 'pair' }, ...names.map(name => element('figure', {}, element('figcaption', { text: name }))), this.badge),
      this.strip, numbers);
    this.pictures.forEach((picture, i) => picture.canvas.setAttribute('aria-label', `${names[i]}, ${spec.label}`));
    this.node.style.setProperty('--accent', spec.colour);
    this.clear();
  }

  // The frame of a panel has put the pictures beside each other; they belong over their names.
  embed() { this.node.querySelectorAll('figure').forEach((figure, i) => figure.prepend(this.pictures[i].canvas)); }

  clear() {
    this.now = null;
    this.held = null;
    this.until = 0;
    this.trails = [];
  }

  take(head, bytes, at, D, running) {
    const width = Math.ceil(D / 8), bits = from => {
      const out = new Uint8Array(D);
      for (let i = 0; i < D; i++) out[i] = (bytes[from + (i >> 3)] >> (7 - (i & 7))) & 1;
      return out;
    };
    this.now = { ...head, v: bits(at), v2: bits(at + width), over: head.met || head.truncated };
    at += 2 * width;
    if (head.ended) {
      const { pair, tau, truncated, path, stride } = head.ended;
      if (running && performance.now() > this.until) {
        this.until = performance.now() + HOLD_MS;
        this.held = { pair, t: tau, truncated, met: !truncated, over: true, path, stride, v: bits(at), v2: bits(at + width) };
      }
      this.trails = [...this.trails, { path, stride }].slice(-TRAILS);
      at += 2 * width;
    }
    if (!running) this.until = 0;
    return at;
  }

  // Few pixels are drawn as squares of several: else the margin of a picture would be as wide as they are.
  layout(rows, columns) {
    this.columns = columns;
    this.zoom = Math.max(1, Math.ceil(80 / Math.max(rows, columns)));
    for (const picture of this.pictures) picture.layout(rows * this.zoom, columns * this.zoom, 1, 1);
  }

  put(picture, i, value) {
    const { zoom, columns } = this, wide = columns * zoom, from = Math.floor(i / columns) * zoom * wide + (i % columns) * zoom;
    for (let y = 0; y < zoom; y++) picture.cells.fill(value, from + y * wide, from + y * wide + zoom);
  }

  draw(grid, D) {
    if (!this.now) return;
    const shown = performance.now() < this.until ? this.held : this.now, { v, v2, over, met } = shown;
    const ink = grid.ink.slice();
    ink[OFF_DIFFERS] = ramp(grid.back, grid.colour(this.highlight))[90];
    ink[ON_DIFFERS] = ramp(grid.back, grid.colour(this.highlight))[255];
    let differ = 0;
    for (let i = 0; i < D; i++) {
      const unequal = v[i] !== v2[i];
      differ += unequal;
      this.put(this.pictures[0], i, unequal ? (v[i] ? ON_DIFFERS : OFF_DIFFERS) : 255 * v[i]);
      this.put(this.pictures[1], i, unequal ? (v2[i] ? ON_DIFFERS : OFF_DIFFERS) : 255 * v2[i]);
    }
    for (const picture of this.pictures) picture.draw(ink, grid.gap, null);
    this.node.classList.toggle('met', over && met);
    this.node.classList.toggle('cut', over && !met);
    this.node.dataset.pair = this.now.pair;
    this.node.dataset.t = this.now.t;
    this.node.dataset.met = this.now.met;
    this.badge.hidden = !over;
    const text = met ? `met: τ = ${whole.format(shown.t)}` : `not met in ${whole.format(shown.t)} sweeps: given up`;
    if (this.badge.textContent !== text) this.badge.textContent = text;
    this.where.textContent = shown.t ? `pair ${whole.format(shown.pair + 1)} · sweep ${whole.format(shown.t)} · ${whole.format(differ)} of ${whole.format(D)} differ` : '';
    this.drawPath(grid, shown);
    const counted = this.now.counted;
    if (counted) {
      this.values.counted.textContent = compact.format(counted.pairs);
      if (counted.pairs) {
        this.values.tau.textContent = (counted.truncated ? '≥ ' : '') + round3(counted.tau);
        this.values.truncated.textContent = counted.truncated ? (100 * counted.truncated).toPrecision(2) + ' %' : 'none';
        this.values.rejected.textContent = counted.rejected.map(x => x.toFixed(2)).join(' | ');
      }
    }
  }

  // Pixels that differ against sweeps: this pair in colour, earlier ones behind it.
  drawPath(grid, shown) {
    const height = 64, x = fit(this.strip, height), width = this.strip.clientWidth, ratio = this.strip.width / Math.max(width, 1);
    const [tr, tg, tb] = grid.text, [r, g, b] = grid.colour(this.spec.colour), left = 2, base = height - 15, top = 14;
    const all = [...this.trails, shown], last = Math.max(12, ...all.map(({ path, stride }) => path.length * stride));
    const most = Math.max(1, ...all.map(({ path }) => Math.max(...path, 0)));
    const px = t => left + (width - 2 * left - 4) * Math.log(t) / Math.log(last), py = d => base - (base - top) * d / most;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, height);
    x.font = `11px ${getComputedStyle(this.node).fontFamily}`;
    x.fillStyle = `rgba(${tr},${tg},${tb},0.65)`;
    x.textBaseline = 'top';
    x.fillText(`Pixels that differ (at most ${whole.format(most)})`, left, 0);
    x.textBaseline = 'bottom';
    for (const t of [1, 10, 100, 1000, 10000, 100000].filter(t => t <= last)) {
      x.textAlign = t === 1 ? 'left' : 'center';
      x.fillText(t === 1 ? 'sweep 1' : compact.format(t), px(t), height);
    }
    x.textAlign = 'left';
    x.fillStyle = `rgba(${tr},${tg},${tb},0.25)`;
    x.fillRect(left, base, width - 2 * left, 1);
    all.forEach(({ path, stride }, i) => {
      const newest = i === all.length - 1;
      x.strokeStyle = newest ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},0.22)`;
      x.lineWidth = newest ? 2 : 1;
      x.beginPath();
      path.forEach((d, j) => x.lineTo(px(1 + j * stride), py(d)));
      x.stroke();
      if (!newest || !path.length) return;
      x.fillStyle = `rgb(${r},${g},${b})`;
      x.beginPath();
      x.arc(px(1 + (path.length - 1) * stride), py(path[path.length - 1]), shown.met ? 5 : 3, 0, 7);
      x.fill();
    });
    x.setTransform(1, 0, 0, 1, 0, 0);
  }
}

class CouplingPanel extends Panel {
  unit = 'sweeps of the pairs on show';

  constructor(spec, grid) {
    super(spec, grid);
    this.node.classList.add('coupling');
    for (const lane of this.lanes) lane.embed();
    this.node.querySelector('.stage').prepend(...this.lanes.map(lane => lane.node));
    this.strip.hidden = true;
  }

  makePictures() {
    this.lanes = this.grid.cfg.lanes.map(spec => new Lane(spec));
    return this.lanes.flatMap(lane => lane.pictures);
  }

  listNumbers() { return []; }

  arrange() {
    for (const lane of this.lanes) {
      lane.layout(...this.grid.cfg.shape);
      lane.highlight = this.grid.cfg.highlight;
    }
  }

  takeNews(head, bytes, at, anew) {
    // Other knobs begin other pairs: those before them are not their past.
    if (anew || head.began !== this.began) for (const lane of this.lanes) lane.clear();
    this.began = head.began;
    head.lanes.forEach((news, i) => { at = this.lanes[i].take(news, bytes, at, this.grid.cfg.n_visible, head.status === 'running'); });
    return at;
  }

  drawNews() { for (const lane of this.lanes) lane.draw(this.grid, this.grid.cfg.n_visible); }
}

export default component => mount(CouplingPanel, component);
