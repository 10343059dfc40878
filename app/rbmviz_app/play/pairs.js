// @ts-check
// The Coupling page without a server: a worker makes the pairs (rbmviz/browser/pairs.js), and the page's own panel and chart
// show them. live.js precedes this script.

/** The pairs of a page, with the run's part of a frame. */
class LivePairs {
  /** @param {any} head @param {any} live @param {string} url of the worker's script */
  constructor(head, live, url) {
    const { request: { signatures, pairs, values: [{ scale }] }, panels: [{ blocks }] } = live, { wasm, ...arrays } = blocks;
    this.head = head;
    this.pairs = pairs;
    this.paused = false;
    this.run = this.last = 0;
    this.scale = scale;
    /** Sweeps that are shown, since the pairs began. */
    this.sweeps = 0;
    /** @type {number | undefined} */
    this.begun = scale;
    /** @type {MadePairs | null} */
    this.made = null;
    /** @type {Record<string, number | null>} */
    this.numbers = {};
    this.worker = new Worker(url);
    const needed = Object.values(pairs.arrays).map(([, , source]) => source);
    this.worker.postMessage({ wasm: wasm.module, signatures, pairs, blocks: Object.fromEntries(Object.entries(arrays).filter(([name]) => needed.includes(name))) });
  }

  /** Begin again, at other parameters perhaps. @param {number} scale */
  restart(scale) {
    this.scale = this.begun = scale;
    this.run++;
    this.sweeps = this.last = 0;
    this.numbers = {};
  }

  /** @param {number} sweeps @returns {Promise<void>} */
  make(sweeps) {
    const order = { sweeps, scale: this.begun };
    this.begun = undefined;
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data: { made, error } }) => {
        if (error) return reject(new Error(error));
        if (this.begun === undefined) this.take(made, sweeps); // otherwise it has begun again in the meantime
        resolve();
      };
      this.worker.onerror = event => reject(new Error(event.message || 'The worker of this page has failed.'));
      this.worker.postMessage(order);
    });
  }

  /** Count what has been made, as PairStatistics and numbers_of_pairs do. @param {MadePairs} made @param {number} sweeps */
  take(made, sweeps) {
    this.made = made;
    this.sweeps += sweeps;
    this.last = Math.min(...Object.values(made.counted).map(({ tau }) => tau.length));
    this.numbers = { scale: this.scale };
    for (const [name, { tau, cut }] of Object.entries(made.counted)) {
      const n = tau.length, sorted = [...tau].sort((a, b) => a - b), share = (/** @type {(t: number, i: number) => boolean} */ is) => 100 * tau.filter(is).length / n;
      Object.assign(this.numbers, Object.fromEntries(Object.entries({
        counted: n, mean: tau.reduce((sum, t) => sum + t, 0) / n, median: (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2,
        cut: share((_, i) => cut[i]), within_10: share((t, i) => t <= 10 && !cut[i]),
      }).map(([number, value]) => [`${name}_${number}`, n ? value : null])));
    }
  }

  /** The numbers as the panel writes them. @returns {Record<string, any>} */
  get readouts() {
    const { numbers } = this, texts = Object.entries(this.made?.counted ?? {}).flatMap(([name, { rejected }]) => {
      const mean = numbers[`${name}_mean`], cut = numbers[`${name}_cut`];
      return mean === null ? [] : [[`${name}_mean`, `${cut ? '≥\u00a0' : ''}${Number(Number(mean).toPrecision(3))} sweeps`], [`${name}_cut`, cut || 'none'], [`${name}_rejected`, rejected]];
    });
    return { ...numbers, ...Object.fromEntries(texts) };
  }

  /** @param {number} _at @param {number} _slots @param {boolean} playing @returns {any} */
  partAt(_at, _slots, playing) {
    const columns = Object.entries(this.made?.shown ?? {}), n = this.pairs.n_visible;
    /** @type {Record<string, any>} */
    const blocks = {}, /** @type {Record<string, any>} */ shown = {};
    for (const [name, { ended, v, v2, path, ...state }] of columns) {
      for (const [prefix, pair] of /** @type {[string, any][]} */ ([[name, { v, v2, path }], ...ended ? [[`${name} ended`, ended]] : []])) {
        for (const part of ['v', 'v2']) blocks[`${prefix} ${part}`] = { dtype: 'bits', shape: [n], data: pair[part] };
        blocks[`${prefix} path`] = { dtype: 'uint32', shape: [pair.path.length], data: Uint32Array.from(pair.path) };
      }
      shown[name] = { ...state, ended: ended && { ...ended, tau: ended.t } };
    }
    return { head: { key: this.head.key, run: this.run, n: this.sweeps, began: this.run, status: playing ? 'running' : 'paused', readouts: this.readouts, pair_columns: shown }, blocks };
  }
}

class PairsPage extends MadePage {
  /** @param {HTMLElement} root @param {any} frame @param {any} live */
  constructor(root, frame, live) {
    super(root, frame, live);
    this.transport.append(element('button', { type: 'button', class: 'again', text: 'Begin again', onclick: () => this.restart() }));
    this.hint.textContent = 'Live: your browser runs these pairs, with the kernel of rbmviz. Those that are counted run beside the ones shown. Keys: P or space plays and pauses, S makes one sweep, R begins again.';
    this.grid.changeKnobs = (/** @type {number} */ _key, /** @type {any} */ { scale }) => this.restart(scale);
  }

  get panelClass() { return 'coupling'; }

  get isStale() { return true; }

  /** @returns {LivePairs[]} */
  get liveRuns() { return /** @type {any} */ (this.runs); }

  /** @param {ReplayHead} head @returns {any} */
  makeRun(head) { return new LivePairs(head, this.live, this.workers); }

  /** Begin again, at other parameters perhaps. */
  restart(scale = this.liveRuns[0].scale) {
    this.liveRuns[0].restart(scale);
    super.restart();
  }

  get shownText() { return `${whole.format(this.liveRuns[0].last)} pairs counted`; }

  /** Draw the histogram of meeting times: meeting_time_rows and meeting_times (rbmviz/charts/catalogue.py). @param {any} isl */
  drawCurves({ edges, most, ...chart }) {
    const counted = Object.values(this.liveRuns[0].made?.counted ?? {});
    const bars = counted.flatMap(({ tau, cut }, i) => {
      const met = tau.filter((_, at) => !cut[at]), late = cut.filter(Boolean).length;
      const bins = edges.slice(1).map((/** @type {number} */ high, /** @type {number} */ at) => [edges[at], high, met.filter(t => t >= edges[at] && t < high).length]);
      return [...bins, [1.1 * (most + 1), 1.6 * (most + 1), late]].filter(([, , count]) => count).map(([low, high, count]) => ({
        sides: [...[i, i + 1].map(part => low * (high / low) ** (0.92 * part / counted.length)), count / tau.length, 0], colour: chart.names[i].colour, opacity: 1, text: '',
      }));
    });
    this.curves.show({ ...chart, bars });
    this.curves.draw(rgb(this.host, 'var(--st-text-color)'));
  }
}
