// The panels of the Sample page: consecutive samples, class strips over time.

const NUMBERS = [
  ['isl', 'ISL', 'Indirect sampling likelihood in nats a test image: how well the samples so far cover unseen data. Higher is better.', p => p.isl === null ? '–' : p.isl.toFixed(1)],
  ['switches', 'Class switches', 'How often the class of the nearest training example changed, within each chain: a stuck one has few.', p => p.switches === null ? '–' : compact.format(p.switches)],
  ['spurious', 'Spurious', 'Samples farther from every training example than 99 % of held-out data are: watch it rise with the step size.', p => p.spurious === null ? '–' : (100 * p.spurious).toFixed(1) + ' %'],
  ['speed', 'Samples/s', 'What the sampler itself makes in a second, scoring and waiting not counted; highest at full speed, in long chunks.', p => p.seconds ? compact.format(p.n / p.seconds) : '–'],
  ['sweeps', 'Sweeps/sample', 'Gibbs or maximisation sweeps spent on a sample, on average.', p => p.n ? round3(p.sweeps / p.n) : '–'],
  ['fast_norm', 'Fast norm', 'Norm of the fast parameters: how far the sampled model has moved from the trained one.', p => p.fast_norm === null ? '–' : round3(p.fast_norm)],
  ['rhat', 'R-hat', 'Whether the chains agree on how many pixels are on, in their newest rounds: above 1.01 they do not yet.', p => p.rhat === null ? '–' : p.rhat < 100 ? p.rhat.toPrecision(3) : 'over 100'],
  ['ess', 'ESS', 'Independent samples that these rounds (1,000 at most) of all chains are worth, by the number of pixels that are on.', p => p.ess === null ? '–' : compact.format(p.ess)],
];

class SamplePanel extends Panel {
  unit = 'samples';

  makePictures() { return [new Mosaic('samples')]; }

  listNumbers() { return NUMBERS; }

  number(name, p) { return NUMBERS.find(([known]) => known === name)[3](p); }

  arrange() {
    const cfg = this.grid.cfg, single = cfg.view === 'single', [rows, columns] = cfg.shape;
    this.pictures[0].layout(rows, columns, single ? 2 : cfg.cells, single ? 1 : cfg.cells);
    this.pictures[0].canvas.setAttribute('aria-label', `Live samples of ${this.spec.label}`);
    this.strip.setAttribute('aria-label', `Classes of the samples of ${this.spec.label} over time`);
    this.strip.hidden = !cfg.classes.length;
  }

  takeNews(head, bytes, at, anew) {
    const cfg = this.grid.cfg, D = cfg.n_visible, packed = Math.ceil(D / 8), picture = this.pictures[0];
    if (anew) {
      picture.clear();
      this.bins = null;
    }
    if (cfg.view === 'single') {
      for (let c = 0; c < head.cells; c++) picture.putBits(0, bytes, at + c * packed, D);
      at += head.cells * packed;
      for (let c = 0; c < head.cells; c++) picture.putBytes(1, bytes, at + c * D, D);
      at += head.cells * D;
    } else {
      const means = cfg.pixels === 'mean', width = means ? D : packed;
      for (let c = 0; c < head.cells; c++) {
        const slot = (head.n - head.cells + c) % picture.slots;
        if (means) picture.putBytes(slot, bytes, at + c * width, D); else picture.putBits(slot, bytes, at + c * width, D);
      }
      at += head.cells * width;
    }
    if (head.strip) {
      const [bins, classes, width] = head.strip;
      this.bins = { bins, classes, width, shares: bytes.slice(at, at + bins * classes) };
      at += bins * classes;
    }
    return at;
  }

  drawNews() {
    const { grid, state, pictures: [picture] } = this;
    const ring = grid.cfg.view === 'single' || !state.n ? null : { slot: (state.n - 1) % picture.slots, colour: this.spec.colour };
    picture.draw(grid.ink, grid.gap, ring);
    if (!this.strip.hidden) this.drawStrip();
    for (const name of ['rhat', 'ess']) this.values[name].parentElement.hidden = this.spec.values.n_chains === 1;
    this.tellWords(picture, ring ? ring.slot : 0);
  }

  // Rows are classes, time runs to the right; the bars at the right are shares so far, ticks the data's.
  drawStrip() {
    const classes = this.grid.cfg.classes, n = classes.length, row = n > 12 ? 6 : 10;
    const x = fit(this.strip, n * row + 2), ratio = this.strip.width / Math.max(this.strip.clientWidth, 1);
    const width = this.strip.clientWidth, names = 14, bars = 34, wide = width - names - bars - 6;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, n * row + 2);
    const [r, g, b] = this.grid.colour(this.spec.colour), [tr, tg, tb] = this.grid.text;
    x.fillStyle = `rgba(${tr},${tg},${tb},0.07)`;
    x.fillRect(names, 0, wide, n * row);
    x.font = `${row - 1}px ${getComputedStyle(this.node).fontFamily}`;
    x.textBaseline = 'middle';
    const held = this.bins;
    const totals = new Float64Array(n);
    if (held && held.classes === n) {
      for (let t = 0; t < held.bins; t++) for (let c = 0; c < n; c++) {
        const share = held.shares[t * n + c] / 255;
        totals[c] += share / held.bins;
        if (share === 0) continue;
        x.fillStyle = `rgba(${r},${g},${b},${Math.sqrt(share)})`;
        x.fillRect(names + wide * t / held.bins, c * row, wide / held.bins + 0.5, row - 1);
      }
    }
    const most = Math.max(0.3, ...totals);
    classes.forEach((name, c) => {
      x.fillStyle = `rgba(${tr},${tg},${tb},0.75)`;
      if (row >= 9 || c % 2 === 0) x.fillText(name.slice(0, 2), 0, c * row + row / 2);
      x.fillStyle = `rgba(${r},${g},${b},0.9)`;
      x.fillRect(names + wide + 6, c * row, bars * totals[c] / most, row - 2);
      x.fillStyle = `rgb(${tr},${tg},${tb})`;
      x.fillRect(names + wide + 6 + bars * this.grid.cfg.data_shares[c] / most, c * row - 0.5, 1.5, row - 1);
    });
    x.setTransform(1, 0, 0, 1, 0, 0);
  }
}

export default component => mount(SamplePanel, component);
