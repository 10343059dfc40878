// The panels of the Weights page: the heaviest and lightest samples of the newest batch, how its weight is
// shared out, and the histogram of all weights so far.

const WEIGHT_NUMBERS = [
  ['ess', 'ESS of the batch', 'Effective sample size of the newest batch: so many equal weights would be worth as much.'],
  ['ess_share', 'ESS, mean share', 'Effective sample size over batch size, mean over all batches: 100 % is what CD pretends to have.'],
  ['max_share', 'Largest, mean', 'Share of its batch that the heaviest sample holds, mean over all batches.'],
  ['log_z', 'log Z estimate', 'Logarithm of the mean of all weights so far: its mean is Z, whatever k and proposal.'],
  ['std_error', 'Estimate’s error', 'Standard error of the estimate, as the weights so far know it: at most 1, and too small while heavy ones are missing.'],
  ['pooled', 'Samples', 'Samples weighed since the start, or since a knob was turned.'],
  ['truth', 'log Z', 'By enumeration, or where the model is too large by annealed importance sampling.'],
  ['truth_error', 'log Z’s error', 'Standard error of annealed importance sampling; exact by enumeration.'],
  ['gap', 'Too low by', 'log Z less its estimate, in nats: what the heaviest weights, not seen yet, would still add.'],
];

const DIGITS = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

function percent(share) {
  if (share >= 0.0995) return `${(100 * share).toFixed(0)} %`;
  if (share >= 0.00095) return `${(100 * share).toFixed(1)} %`;
  if (share === 0) return '0';
  return '10' + [...String(Math.round(Math.log10(share)))].map(c => DIGITS[c]).join('');
}

class WeightPanel extends Panel {
  unit = 'batches';

  makePictures() {
    this.shares = {};
    return [['heaviest', 'Heaviest of the batch'], ['lightest', 'Lightest']].map(([name, caption]) => {
      const picture = new Mosaic(name);
      this.shares[name] = element('div', { class: 'shares' });
      picture.frame = element('figure', { class: 'tiles' }, element('figcaption', { text: caption }), picture.canvas, this.shares[name]);
      return picture;
    });
  }

  listNumbers() { return WEIGHT_NUMBERS; }

  number(name, p) {
    const nats = value => value === null ? '–' : value.toFixed(2);
    const error = value => value === null ? '–' : `± ${Number(value.toPrecision(1))}`;
    if (name === 'truth') return p.truth === null ? 'AIS …' : nats(p.truth);
    if (name === 'truth_error') return p.truth === null ? '–' : p.truth_error ? error(p.truth_error) : 'exact';
    if (!p.pooled) return '–';
    if (name === 'ess') return this.ess === undefined ? '–' : `${round3(this.ess)} of ${whole.format(this.size)}`;
    if (name === 'pooled') return compact.format(p.pooled);
    if (name === 'log_z') return nats(p.log_z);
    if (name === 'std_error') return error(p.std_error);
    if (name === 'gap') return p.truth === null ? '–' : nats(p.truth - p.log_z);
    return percent(p[name]);
  }

  arrange() {
    const cfg = this.grid.cfg, [rows, columns] = cfg.shape;
    this.zoom = Math.ceil(28 / Math.max(rows, columns)); // small pictures would have wide gaps
    this.node.querySelector('.stage')?.classList.add('stacked');
    for (const picture of this.pictures) {
      picture.layout(rows * this.zoom, columns * this.zoom, cfg.tiles, 1);
      picture.canvas.setAttribute('aria-label', `${picture.canvas.dataset.picture} samples of ${this.spec.label}`);
    }
    this.strip.setAttribute('aria-label', `Shares of the newest batch and histogram of log weights of ${this.spec.label}`);
  }

  takeNews(head, bytes, at, anew) {
    const D = this.grid.cfg.n_visible, packed = Math.ceil(D / 8);
    if (anew) {
      for (const picture of this.pictures) picture.clear();
      this.histogram = this.rug = this.ess = undefined;
      for (const row of Object.values(this.shares)) row.replaceChildren();
    }
    if (head.cells) {
      this.pictures.forEach((picture, i) => {
        picture.clear();
        for (let c = 0; c < head.cells; c++) this.putTile(picture, c, bytes, at + c * packed, D);
        at += head.cells * packed;
        const shares = i ? head.light : head.heavy;
        this.shares[picture.canvas.dataset.picture].replaceChildren(...shares.map(share => element('span', { text: percent(share) })));
      });
      this.rug = new Float32Array(bytes.slice(at, at + 4 * head.rug).buffer);
      at += 4 * head.rug;
      this.ess = head.ess;
      this.size = head.size;
    }
    if (head.histogram) this.histogram = head.histogram;
    return at;
  }

  putTile(picture, slot, bytes, from, D) {
    const columns = this.grid.cfg.shape[1], zoom = this.zoom, cells = picture.cells.subarray(slot * picture.size, (slot + 1) * picture.size);
    for (let i = 0; i < cells.length; i++) {
      const row = Math.floor(i / picture.columns / zoom), pixel = row * columns + Math.floor((i % picture.columns) / zoom);
      cells[i] = pixel < D ? 255 * ((bytes[from + (pixel >> 3)] >> (7 - (pixel & 7))) & 1) : 0;
    }
  }

  drawNews() {
    for (const picture of this.pictures) picture.draw(this.grid.ink, this.grid.gap, null);
    this.drawStrip();
  }

  // All panels have one axis, so that their histograms can be compared.
  axis() {
    let low = Infinity, high = -Infinity;
    for (const panel of this.grid.panels.values()) {
      if (panel.histogram) { low = Math.min(low, panel.histogram[0]); high = Math.max(high, panel.histogram[1]); }
      if (panel.rug && panel.rug.length) { low = Math.min(low, panel.rug[panel.rug.length - 1]); high = Math.max(high, panel.rug[0]); }
      const truth = panel.state && panel.state.truth;
      if (truth !== null && truth !== undefined) { low = Math.min(low, truth); high = Math.max(high, truth); }
    }
    if (!(high > low)) { low -= 1; high = low + 2; }
    const margin = 0.03 * (high - low);
    return [low - margin, high + margin];
  }

  // Above: the batch cut into the shares of its samples. Below: the histogram on a log scale, so that a single
  // weight is seen; ticks are the newest batch, the solid line is the estimate of log Z, the dashed one log Z.
  drawStrip() {
    const height = 132, x = fit(this.strip, height), ratio = this.strip.width / Math.max(this.strip.clientWidth, 1);
    const width = this.strip.clientWidth, [tr, tg, tb] = this.grid.text, [r, g, b] = this.grid.colour(this.spec.colour);
    const faint = `rgba(${tr},${tg},${tb},0.65)`;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, height);
    x.font = `11px ${getComputedStyle(this.node).fontFamily}`;
    x.fillStyle = faint;
    x.textBaseline = 'top';
    x.fillText('How the batch shares its weight', 0, 0);
    const rug = this.rug;
    if (rug && rug.length) {
      let total = 0, from = 0;
      const weights = Array.from(rug, log => Math.exp(log - rug[0]));
      for (const weight of weights) total += weight;
      weights.forEach((weight, i) => {
        const wide = width * weight / total;
        x.fillStyle = `rgba(${r},${g},${b},${i % 2 ? 0.55 : 0.95})`;
        if (wide > 0.05) x.fillRect(from, 15, Math.max(wide - (wide > 3 ? 1 : 0), 0.3), 12);
        from += wide;
      });
    }
    const top = 50, base = height - 20, [low, high] = this.axis(), px = log => width * (log - low) / (high - low);
    x.fillStyle = faint;
    x.fillText('All log weights (nats, log counts)', 0, 34);
    if (this.histogram) {
      const [from, to, counts] = this.histogram, most = Math.log1p(Math.max(...counts)), step = (to - from) / counts.length;
      x.fillStyle = `rgba(${r},${g},${b},0.45)`;
      counts.forEach((count, i) => {
        if (!count) return;
        const tall = Math.max((base - top) * Math.log1p(count) / most, 2), left = px(from + i * step);
        x.fillRect(left, base - tall, Math.max(px(from + (i + 1) * step) - left, 1), tall);
      });
    }
    if (rug) {
      x.fillStyle = `rgb(${r},${g},${b})`;
      for (const log of rug) x.fillRect(px(log) - 0.5, base, 1, 5);
    }
    const p = this.state;
    const line = (log, dash) => {
      x.strokeStyle = `rgb(${tr},${tg},${tb})`;
      x.lineWidth = 1.25;
      x.setLineDash(dash);
      x.beginPath();
      x.moveTo(px(log), top);
      x.lineTo(px(log), base + 5);
      x.stroke();
      x.setLineDash([]);
    };
    if (p && p.log_z !== null) line(p.log_z, []);
    if (p && p.truth !== null) line(p.truth, [3, 3]);
    x.fillStyle = faint;
    x.textBaseline = 'bottom';
    x.textAlign = 'left';
    x.fillText(round3(low), 0, height);
    x.textAlign = 'right';
    x.fillText(round3(high), width, height);
    x.textAlign = 'left';
    x.setTransform(1, 0, 0, 1, 0, 0);
  }
}

export default component => mount(WeightPanel, component);
