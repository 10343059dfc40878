// @ts-check
// The panels of the Train page: fantasies and filters of a learning model, and a trace of its trainer.

/** @typedef {PanelSpec & { trace_label: string, n_hidden: number }} TrainPanelSpec trace_label: empty if there is no trace */

const TRACE_HEIGHT = 40;
/** Large samples, with two columns of filters beside them, see panel.css. */
const LOW_WINDOW = matchMedia('(min-width: 1000px) and (max-height: 899px)'), BESIDE = 7;
const ZERO_WEIGHT = 128; // value of a zero weight in a filter's pixels

class TrainPanel extends Panel {
  unit = 'updates';
  fantasies = new Mosaic('samples');
  filters = new Mosaic('filters');
  /** Updates and values of the trace, alternating. @type {Float64Array | null} */
  trace = null;
  sentences = ['standing'];

  get trainSpec() { return /** @type {TrainPanelSpec} */ (this.spec); }

  makePictures() { return this.tiles.map(({ canvas }) => canvas); }

  get tiles() { return [this.fantasies, this.filters]; }

  /** @param {Mosaic} mosaic @param {number} slot */
  tileText(mosaic, slot) {
    return mosaic === this.fantasies ? { title: `Chain ${slot + 1}`, line: 'A Gibbs chain, started from random bits, that follows the model.' }
      : { title: `Filter ${slot + 1}`, line: 'The weights of a hidden unit: blue below zero, orange above.' };
  }

  arrange() {
    const { view, side, shape: [rows, columns] } = this.grid.data, { label, trace_label, n_hidden } = this.trainSpec;
    this.fantasies.layout(rows, columns, side, side);
    this.fantasies.canvas.hidden = view === 'filters';
    this.fantasies.canvas.setAttribute('aria-label', `Samples of ${label}`);
    const beside = LOW_WINDOW.matches && view !== 'filters', across = beside ? 2 : Math.min(side, Math.ceil(Math.sqrt(n_hidden)));
    this.filters.layout(rows, columns, across, Math.ceil(Math.min(n_hidden, across * (beside ? BESIDE : across)) / across));
    this.filters.canvas.hidden = view === 'samples';
    this.filters.canvas.setAttribute('aria-label', `Filters of ${label}`);
    // Panels without a trace reserve space for one, so that the numbers of all panels are aligned.
    this.strip.hidden = !this.grid.data.panels.some(spec => /** @type {TrainPanelSpec} */ (spec).trace_label);
    this.strip.setAttribute('aria-hidden', String(!trace_label));
    this.strip.setAttribute('aria-label', `${trace_label} of ${label} over time`);
  }

  /** @param {PanelHead} head @param {PanelPart['blocks']} blocks @param {boolean} isNewRun */
  receive(head, blocks, isNewRun) {
    if (isNewRun) {
      this.fantasies.clear();
      this.filters.clear(ZERO_WEIGHT);
      this.trace = null;
    }
    const newest = blocks.v ?? blocks.mean;
    for (let i = 0; newest && i < rowCount(newest); i++) this.fantasies.put(i, newest, i);
    const { filters, trace } = blocks;
    for (let i = 0; filters && i < Math.min(rowCount(filters), this.filters.slots); i++) this.filters.put(i, filters, i);
    if (trace) this.trace = /** @type {Float64Array} */ (trace.data);
  }

  drawPictures() {
    const { grid, fantasies, filters } = this;
    if (!fantasies.canvas.hidden) fantasies.draw(grid.ink, grid.gap, null);
    if (!filters.canvas.hidden) filters.draw(grid.signed, grid.gap, null);
    if (!this.strip.hidden) this.drawTrace();
    this.showWords(fantasies, 0);
  }

  // Draw a statistic of the trainer against updates, as a line without axes, with its range on the right.
  drawTrace() {
    const height = TRACE_HEIGHT, trace = this.trace;
    paintOn(this.strip, height, (x, width) => {
      const plot = width - 46;
      x.fillStyle = translucent(this.grid.text, 0.65);
      x.textBaseline = 'top';
      x.fillText(this.trainSpec.trace_label, 0, 0);
      if (!trace || trace.length < 4) return;
      const values = trace.filter((_, i) => i % 2 === 1), lo = Math.min(...values), hi = Math.max(...values);
      const first = trace[0], last = trace[trace.length - 2];
      /** @param {number} update */
      const px = update => plot * (update - first) / (last - first);
      /** @param {number} value */
      const py = value => height - 3 - (height - 18) * (hi > lo ? (value - lo) / (hi - lo) : 0.5);
      x.textAlign = 'right';
      x.fillText(round3(hi), width, 10);
      x.textBaseline = 'bottom';
      if (hi > lo) x.fillText(round3(lo), width, height);
      x.strokeStyle = this.spec.colour;
      x.lineWidth = 1.5;
      x.beginPath();
      for (let i = 0; i < trace.length; i += 2) x.lineTo(px(trace[i]), py(trace[i + 1]));
      x.stroke();
    });
  }
}

/** @param {Component} component */
export default component => mount(TrainPanel, component);
