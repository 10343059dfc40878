// @ts-check
// The panels of the Weights page: the heaviest and lightest samples of the newest batch, its distribution of weight,
// and the histogram of the newest weights, at most 65,536.

/** @typedef {PageData & { tiles: number }} WeightPageData */

/** @typedef {PanelHead & { log_z: number | null, truth: number | null, log_total?: number, histogram?: [number, number] }} WeightHead
 * log_total: logarithm of the sum of a new batch's weights; histogram: the histogram's ends, in nats */

/** @typedef {{ low: number, high: number, counts: Uint32Array }} Histogram */

const WEIGHT_STRIP_HEIGHT = innerHeight <= 800 ? 98 : 132; // lower in a low window, so that the first knob fits

/** A row of samples from one end of a batch, each with its share of the weight. */
class TileRow {
  /** @param {'heaviest' | 'lightest'} name @param {string} caption */
  constructor(name, caption) {
    this.name = name;
    this.picture = new Mosaic(name);
    this.shares = element('div', { class: 'shares' });
    this.node = element('figure', { class: 'tiles' }, element('figcaption', { text: caption }), this.picture.canvas, this.shares);
  }

  /** @param {number} rows @param {number} columns @param {number} tiles */
  layout(rows, columns, tiles) {
    this.picture.layout(rows, columns, tiles, 1, Math.ceil(28 / Math.max(rows, columns)));
  }

  clear() {
    this.picture.clear();
    this.shares.replaceChildren();
  }

  /** @param {Block} samples @param {Block} shares */
  put(samples, shares) {
    this.picture.clear();
    for (let i = 0; i < rowCount(samples); i++) this.picture.put(i, samples, i);
    this.shares.replaceChildren(...Array.from(shares.data, share => element('span', { text: percent(share) })));
  }
}

class WeightPanel extends Panel {
  unit = 'batches';
  rows = [new TileRow('heaviest', 'Heaviest now'), new TileRow('lightest', 'Lightest')];
  /** @type {Histogram | null} */
  histogram = null;
  /** Log weights of the newest batch, heaviest first. @type {Float32Array | null} */
  logWeights = null;
  /** Some of the batch's lighter log weights, down to the lightest; often none. @type {Float32Array} */
  lightLogWeights = new Float32Array();
  /** Logarithm of the sum of that batch's weights. */
  logTotal = 0;
  /** Estimate of log Z in nats; `truth` is exact or by AIS. @type {number | null} */
  logZ = null;
  /** @type {number | null} */
  truth = null;

  makePictures() { return this.rows.map(row => row.node); }

  get tiles() { return this.rows.map(({ picture }) => picture); }

  /** @param {Mosaic} mosaic @param {number} slot */
  tileText(mosaic, slot) {
    const row = /** @type {TileRow} */ (this.rows.find(({ picture }) => picture === mosaic));
    return { title: `Sample ${slot + 1} of the ${row.name}`, line: `${row.shares.children[slot]?.textContent ?? 'No share'} of the weight in its batch` };
  }

  arrange() {
    const { shape: [rows, columns], tiles } = /** @type {WeightPageData} */ (this.grid.data);
    this.stage.classList.add('stacked');
    for (const row of this.rows) {
      row.layout(rows, columns, tiles);
      row.picture.canvas.setAttribute('aria-label', `${row.name} samples of ${this.spec.label}`);
    }
    this.strip.setAttribute('aria-label', `Shares of the newest batch and histogram of log weights of ${this.spec.label}`);
  }

  /** @param {WeightHead} head @param {PanelPart['blocks']} blocks @param {boolean} isNewRun */
  receive(head, blocks, isNewRun) {
    if (isNewRun) {
      for (const row of this.rows) row.clear();
      this.histogram = this.logWeights = null;
      this.lightLogWeights = new Float32Array();
    }
    for (const row of this.rows) {
      const samples = blocks[row.name], shares = blocks[`${row.name} shares`];
      if (samples && shares) row.put(samples, shares);
    }
    if (blocks.log_weights) {
      this.logWeights = /** @type {Float32Array} */ (blocks.log_weights.data);
      this.lightLogWeights = /** @type {Float32Array} */ (blocks.light_log_weights?.data ?? new Float32Array());
      this.logTotal = /** @type {number} */ (head.log_total);
    }
    if (blocks.histogram && head.histogram) {
      const [low, high] = head.histogram;
      this.histogram = { low, high, counts: /** @type {Uint32Array} */ (blocks.histogram.data) };
    }
    this.logZ = head.log_z;
    this.truth = head.truth;
  }

  drawPictures() {
    for (const row of this.rows) row.picture.draw(this.grid.ink, this.grid.gap, null);
    this.drawStrip();
  }

  // Return the axis that all panels share, so that their histograms can be compared.
  axis() {
    /** @type {number[]} */
    const marks = [];
    for (const panel of /** @type {Iterable<WeightPanel>} */ (/** @type {unknown} */ (this.grid.panels.values()))) {
      if (panel.histogram) marks.push(panel.histogram.low, panel.histogram.high);
      if (panel.logWeights?.length) {
        const lightest = (panel.lightLogWeights.length ? panel.lightLogWeights : panel.logWeights).slice(-1);
        marks.push(panel.logWeights[0], lightest[0]);
      }
      for (const log of [panel.logZ, panel.truth]) if (log !== null) marks.push(log);
    }
    let low = Math.min(...marks), high = Math.max(...marks);
    if (!(high > low)) { low -= 1; high = low + 2; }
    const margin = 0.03 * (high - low);
    return [low - margin, high + margin];
  }

  // Draw, above, the batch divided into its samples' shares and, below, the histogram, on a log scale that makes a single
  // weight visible. Ticks mark the newest batch, the solid line the estimate of log Z, the dashed line log Z.
  drawStrip() {
    const height = WEIGHT_STRIP_HEIGHT, ink = this.grid.text, accent = this.grid.colour(this.spec.colour), { logWeights, histogram } = this;
    paintOn(this.strip, height, (x, width) => {
      x.fillStyle = translucent(ink, 0.65);
      x.textBaseline = 'top';
      x.fillText('Weight shares in the batch', 0, 0);
      if (logWeights?.length) {
        let from = 0;
        for (const [i, log] of logWeights.entries()) { // largest first
          const wide = width * Math.exp(log - this.logTotal);
          if (wide <= 0.05) break;
          x.fillStyle = translucent(accent, i % 2 ? 0.55 : 0.95);
          x.fillRect(from, 15, Math.max(wide - (wide > 3 ? 1 : 0), 0.3), 12);
          from += wide;
        }
        // Draw the rest of the weights, each much thinner than a pixel.
        x.fillStyle = translucent(accent, 0.25);
        if (width - from > 0.5) x.fillRect(from, 15, width - from, 12);
      }
      const top = 50, base = height - 20, [low, high] = this.axis();
      /** @param {number} log */
      const px = log => width * (log - low) / (high - low);
      x.fillStyle = translucent(ink, 0.65);
      const { logZ, truth } = this, estimate = `log Z: ${logZ === null ? '…' : round3(logZ)}`;
      x.fillText(truth === null ? estimate : `${estimate}; reference, dashed: ${round3(truth)}`, 0, 34);
      if (histogram) {
        const { counts } = histogram, most = Math.log1p(Math.max(...counts)), step = (histogram.high - histogram.low) / counts.length;
        x.fillStyle = translucent(accent, 0.45);
        counts.forEach((count, i) => {
          if (!count) return;
          const tall = Math.max((base - top) * Math.log1p(count) / most, 2), left = px(histogram.low + i * step);
          x.fillRect(left, base - tall, Math.max(px(histogram.low + (i + 1) * step) - left, 1), tall);
        });
      }
      x.fillStyle = translucent(accent, 1);
      for (const log of [...logWeights ?? [], ...this.lightLogWeights]) x.fillRect(px(log) - 0.5, base, 1, 5);
      /** @param {number | null} log @param {number[]} dash */
      const line = (log, dash) => {
        if (log === null) return;
        x.strokeStyle = translucent(ink, 1);
        x.lineWidth = 1.25;
        x.setLineDash(dash);
        x.beginPath();
        x.moveTo(px(log), top);
        x.lineTo(px(log), base + 5);
        x.stroke();
        x.setLineDash([]);
      };
      line(logZ, []);
      line(truth, [3, 3]);
      if (!Number.isFinite(low)) return; // without a batch and log Z, the axis has no range yet
      x.fillStyle = translucent(ink, 0.65);
      x.textBaseline = 'bottom';
      x.fillText(round3(low), 0, height);
      x.textAlign = 'right';
      x.fillText(round3(high), width, height);
      const which = 'newest log weights (nats)';
      const ends = x.measureText(round3(low)).width + x.measureText(round3(high)).width;
      x.textAlign = 'center';
      if (x.measureText(which).width + ends + 16 < width) x.fillText(which, width / 2, height); // otherwise the numbers' help says it
    });
  }
}

/** @param {Component} component */
export default component => mount(WeightPanel, component);
