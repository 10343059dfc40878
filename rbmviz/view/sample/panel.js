// @ts-check
// The panels of the Sample page: consecutive samples, class strips over time.

/** @typedef {PageData & { classes: string[], data_shares: number[], held?: number[], names_parts?: boolean }} SamplePageData data_shares: empty while pixels are held, see Mosaic */

/**
 * The share of each class, 0 to 255, in each of n_bins equal parts of the run: shares[bin * n_classes + class]. The
 * first ``before`` parts have samples that precede the last turn of a knob.
 * @typedef {{ n_bins: number, n_classes: number, shares: Uint8Array, before: number }} ClassShares
 */

class SamplePanel extends Panel {
  unit = 'samples';
  picture = new Mosaic('samples');
  /** @type {ClassShares | null} */
  classShares = null;
  sentences = ['standing', 'since'];
  /** Labels on the pictures, for the first sight. */
  partNames = element('div', { class: 'part-names', 'aria-hidden': 'true' });
  /** Share of each class since the last turn of a knob, from 0 to 1. */
  shares = new Float64Array(0);

  get page() { return /** @type {SamplePageData} */ (this.grid.data); }

  makePictures() { return [this.picture.canvas]; }

  build() {
    super.build();
    this.verdict = new Verdict();
    this.readouts.lead.after(this.verdict.node);
    this.look = new LookCharts();
    this.more.append(this.look.node, this.verdict.list); // last, because its height changes
    this.more.addEventListener('toggle', () => this.grid.draw()); // the charts are drawn while they are visible
    this.partNames.append(...['◂ one sample', '◂ which digit', 'share so far, in the data ▸'].map(text => element('span', { text })));
    this.strip.before(this.partNames);
  }

  draw() {
    super.draw();
    this.verdict?.draw(/** @type {VerdictHead} */ (this.head ?? {}));
    if (this.more.open) this.look?.draw(this.page.classes, this.spec.colour, this.grid.text);
  }

  get tiles() { return [this.picture]; }

  get newestSlot() {
    const n = this.head?.n ?? 0;
    return !n ? -1 : this.page.view === 'single' ? 0 : (n - 1) % this.picture.slots;
  }

  /** @param {Mosaic} mosaic @param {number} slot */
  sampleAt({ slots }, slot) {
    const newest = (this.head?.n ?? 0) - 1;
    return this.page.view === 'single' || newest < 0 ? newest : Math.max(newest - (newest - slot + slots) % slots, -1);
  }

  /** @param {Mosaic} mosaic @param {number} slot @param {number} sample @param {Tile | null} tile */
  tileText(mosaic, slot, sample, tile) { return sampleText(sample, tile, this.page.classes, this.shares, this.page.data_shares, this.vocabulary.length ? 'word' : 'pixel'); }

  arrange() {
    const { view, shape: [rows, columns], classes } = this.page, { side } = this.grid, single = view === 'single';
    this.picture.layout(rows, columns, single ? 2 : side, single ? 1 : side);
    this.picture.held = this.page.held ?? [];
    this.picture.canvas.setAttribute('aria-label', `Live samples of ${this.spec.label}`);
    this.strip.setAttribute('aria-label', `Classes of the samples of ${this.spec.label} over time`);
    this.strip.title = 'The class of each sample over time. Right: shares since the last turn of a knob; ticks: shares in the data.';
    this.strip.hidden = !classes.length;
    this.partNames.hidden = !this.page.names_parts || this.page.panels[0].key !== this.key;
  }

  /** @param {PanelHead} head @param {PanelPart['blocks']} blocks @param {boolean} isNewRun */
  receive(head, blocks, isNewRun) {
    const picture = this.picture;
    if (isNewRun) {
      picture.clear();
      this.classShares = null;
      if (this.look) this.look.look = this.look.ladder = null;
    }
    this.look?.take(/** @type {VerdictHead} */ (head), blocks);
    // Before the first sample, show the chains' starts; the first samples replace them.
    if (blocks.start) for (let i = 0; i < rowCount(blocks.start); i++) picture.put(i, blocks.start, i);
    else if (this.showsStart) picture.clear();
    this.showsStart = Boolean(blocks.start);
    const { n } = head;
    if (this.page.view === 'single') {
      if (blocks.v) picture.put(0, blocks.v, rowCount(blocks.v) - 1);
      if (blocks.mean) picture.put(1, blocks.mean, rowCount(blocks.mean) - 1);
    } else {
      const samples = blocks.v ?? blocks.mean;
      for (let i = 0, m = rowCount(samples); samples && i < m; i++) picture.put((n - m + i) % picture.slots, samples, i);
    }
    if (blocks.class_shares) {
      const { shape: [n_bins, n_classes], data } = blocks.class_shares;
      this.classShares = { n_bins, n_classes, shares: /** @type {Uint8Array} */ (data), before: head.bins_before ?? 0 };
    }
  }

  describe() {
    const known = this.classShares, { classes } = this.page;
    if (!known || !known.n_bins || known.n_classes !== classes.length) return '';
    const newest = Array.from(known.shares.subarray((known.n_bins - 1) * known.n_classes));
    const most = Math.max(...newest), blank = 255 - newest.reduce((sum, share) => sum + share, 0); // blank images have no class
    if (blank > most) return 'The newest samples are mostly blank.';
    return `The newest samples are mostly of class ${classes[newest.indexOf(most)]}.`;
  }

  drawPictures() {
    const n = this.head?.n ?? 0;
    const ring = this.page.view === 'single' || !n ? null : { slot: this.newestSlot, colour: this.spec.colour };
    this.picture.draw(this.grid.ink, this.grid.gap, ring);
    if (!this.strip.hidden) this.drawStrip();
    this.showWords(this.picture, ring ? ring.slot : 0);
  }

  // Rows are classes, and time runs to the right, in grey up to the last turn of a knob. The bars on the right are the
  // shares since then; ticks mark the data's shares.
  drawStrip() {
    // Class names are larger in a high window.
    const { classes, data_shares } = this.page, n = classes.length, row = n > 12 ? 6 : innerWidth <= NARROW ? 7 : innerHeight >= 1000 ? 13 : innerHeight >= 800 ? 10 : 8;
    const names = row > 10 ? 22 : 14, bars = 34, ink = this.grid.text, accent = this.grid.colour(this.spec.colour), lit = this.grid.loupe.litOf(this);
    paintOn(this.strip, n * row + 2, (x, width) => {
      const wide = width - names - bars - 6;
      x.fillStyle = translucent(ink, 0.07);
      x.fillRect(names, 0, wide, n * row);
      x.font = `${Math.max(row - 1, 8)}px ${getComputedStyle(this.node).fontFamily}`;
      x.textBaseline = 'middle';
      const known = this.classShares, totals = new Float64Array(n);
      if (known && known.n_classes === n) {
        const past = translucent(ink, 0.5), now = translucent(accent, 1);
        for (let t = 0; t < known.n_bins; t++) for (let c = 0; c < n; c++) {
          const share = known.shares[t * n + c] / 255;
          if (t >= known.before) totals[c] += share / (known.n_bins - known.before);
          if (share === 0) continue;
          x.fillStyle = t < known.before ? past : now;
          x.globalAlpha = Math.sqrt(share); // a colour string for each part would make megabytes of strings a second
          x.fillRect(names + wide * t / known.n_bins, c * row, wide / known.n_bins + 0.5, row - 1);
        }
        x.globalAlpha = 1;
        if (lit && lit.sample >= 0) {
          x.fillStyle = translucent(ink, 1);
          x.fillRect(names + wide * Math.min(lit.sample / (this.head?.n ?? 1), 1) - 0.75, 0, 1.5, n * row);
        }
      }
      this.shares = totals;
      const most = Math.max(0.3, ...totals), faint = translucent(ink, 0.75), full = translucent(ink, 1), bar = translucent(accent, 0.9);
      classes.forEach((name, c) => {
        if (c === lit?.of) { // its name, its time and its share light together
          x.fillStyle = translucent(ink, 0.2);
          x.fillRect(0, c * row - 1, width, row);
        }
        x.fillStyle = c === lit?.of ? full : faint;
        if (n <= 12 || c % 2 === 0 || c === lit?.of) x.fillText(name.slice(0, 2), 0, c * row + row / 2);
        x.fillStyle = bar;
        x.fillRect(names + wide + 6, c * row, bars * totals[c] / most, row - 2);
        if (!data_shares.length) return;
        x.fillStyle = full;
        x.fillRect(names + wide + 6 + bars * data_shares[c] / most, c * row - 0.5, 1.5, row - 1);
      });
    });
  }
}

/** @param {Component} component */
export default component => mount(SamplePanel, component);
