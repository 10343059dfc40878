// The panels of the Train page: fantasies and filters of a model that learns, its trainer's inner quantity.

class TrainPanel extends Panel {
  unit = 'updates';

  makePictures() { return [new Mosaic('samples'), new Mosaic('filters')]; }

  // name, label, help, digits: the page says what a trainer has to tell.
  listNumbers() { return this.spec.numbers; }

  number(name, p) {
    const value = name === 'likelihood' ? p.likelihood : name === 'speed' ? (p.n - this.spec.begun) / (p.seconds - this.spec.spent) : p.stats[name];
    if (value === null || value === undefined || !Number.isFinite(value)) return '–';
    if (name === 'likelihood') return value.toFixed(2);
    return Math.abs(value) >= 1000 ? compact.format(value) : round3(value);
  }

  arrange() {
    const cfg = this.grid.cfg, [rows, columns] = cfg.shape;
    const shown = { samples: cfg.view !== 'filters', filters: cfg.view !== 'samples' };
    const filters = Math.min(cfg.cells, Math.ceil(Math.sqrt(this.spec.n_hidden)));
    this.pictures.forEach((picture, i) => {
      const name = ['samples', 'filters'][i], side = i ? filters : cfg.cells;
      picture.layout(rows, columns, side, i ? Math.ceil(Math.min(this.spec.n_hidden, side * side) / side) : side);
      picture.canvas.hidden = !shown[name];
      picture.canvas.setAttribute('aria-label', i ? `Filters of ${this.spec.label}` : `Fantasy samples of ${this.spec.label}`);
      picture.canvas.title = i ? 'Filters: the weights of hidden units, blue below zero, orange above.' : 'Fantasies: Gibbs chains, begun at random bits, that follow the model while it learns.';
    });
    this.strip.hidden = !this.spec.inner;
    this.strip.setAttribute('aria-label', `${this.spec.inner} of ${this.spec.label} over time`);
  }

  takeNews(head, bytes, at, anew) {
    const cfg = this.grid.cfg, D = cfg.n_visible, [samples, filters] = this.pictures;
    if (anew) {
      samples.clear();
      filters.clear(128);
      this.trace = null;
    }
    const means = cfg.pixels === 'mean', width = means ? D : Math.ceil(D / 8);
    for (let c = 0; c < head.cells; c++) if (means) samples.putBytes(c, bytes, at + c * width, D); else samples.putBits(c, bytes, at + c * width, D);
    at += head.cells * width;
    for (let c = 0; c < Math.min(head.filters, filters.slots); c++) filters.putBytes(c, bytes, at + c * D, D);
    at += head.filters * D;
    if (head.trace) this.trace = head.trace;
    return at;
  }

  drawNews() {
    const { grid, pictures: [samples, filters] } = this;
    if (!samples.canvas.hidden) samples.draw(grid.ink, grid.gap, null);
    if (!filters.canvas.hidden) filters.draw(grid.signed, grid.gap, null);
    if (!this.strip.hidden) this.drawTrace();
    this.tellWords(samples, 0);
  }

  // The inner quantity against updates: a line without axes, its range at the right.
  drawTrace() {
    const height = 40, x = fit(this.strip, height), ratio = this.strip.width / Math.max(this.strip.clientWidth, 1);
    const width = this.strip.clientWidth, [tr, tg, tb] = this.grid.text, plot = width - 46;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, height);
    x.font = `11px ${getComputedStyle(this.node).fontFamily}`;
    x.fillStyle = `rgba(${tr},${tg},${tb},0.65)`;
    x.textBaseline = 'top';
    x.fillText(this.spec.inner, 0, 0);
    const trace = this.trace;
    if (trace && trace.length > 1) {
      const values = trace.map(([, value]) => value), lo = Math.min(...values), hi = Math.max(...values);
      const first = trace[0][0], last = trace[trace.length - 1][0];
      const px = update => plot * (update - first) / (last - first), py = value => height - 3 - (height - 18) * (hi > lo ? (value - lo) / (hi - lo) : 0.5);
      x.textAlign = 'right';
      x.fillText(round3(hi), width, 10);
      x.textBaseline = 'bottom';
      if (hi > lo) x.fillText(round3(lo), width, height);
      x.textAlign = 'left';
      x.strokeStyle = this.spec.colour;
      x.lineWidth = 1.5;
      x.beginPath();
      for (const [update, value] of trace) x.lineTo(px(update), py(value));
      x.stroke();
    }
    x.setTransform(1, 0, 0, 1, 0, 0);
  }
}

export default component => mount(TrainPanel, component);
