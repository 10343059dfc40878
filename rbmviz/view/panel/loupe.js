// @ts-check
// One large tile: the picture that the reader points at, taps, or reaches by the arrow keys, with what there is to say
// about it. It floats over the page, so that nothing moves, and nothing is asked or drawn while nobody points.

/**
 * What the server, or a live page's worker, says about a sample. Without ``energy`` there is nothing to say.
 * @typedef {object} Tile
 * @property {number} panel
 * @property {number} sample number of the sample, from 0
 * @property {number} [energy] its free energy
 * @property {string} [p] probability of each pixel, in 255ths, in base64
 * @property {{ v: string, differ: number, energy: number, of: number | null, unlike: boolean, blank: boolean }} [nearest] the nearest training example: its bits, the pixels that differ, its free energy, its class; whether the sample is unlike all examples, or blank
 */

const LARGE = 112; // CSS pixels of the longer side of a large picture
const FADE_MS = 250;
const LOUPE_GAP = 8; // CSS pixels between the large tile, its panel and the edges of the window
const ASK_MS = 250; // minimum time between questions about samples
const CLOSING = ['pointerdown', 'scroll', 'keydown'];
const FOLLOWED_MS = 150; // minimum time between samples that the large tile follows; faster ones would be a blur

/** @param {string} text in base64 @returns {Uint8Array} */
const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

/**
 * What there is to say about a sample.
 * @param {number} sample number, from 0 @param {Tile | null} tile @param {string[]} classes
 * @param {ArrayLike<number>} shares of the classes in the run @param {number[]} data_shares @param {string} unit name of what a visible unit is
 */
function sampleText(sample, tile, classes, shares, data_shares, unit) {
  if (sample < 0) return { title: 'Start of the chain', line: '' };
  const title = `Sample ${whole.format(sample + 1)}`, nearest = tile?.nearest;
  if (!nearest) return { title, line: '' };
  const of = nearest.of === null ? '' : classes[nearest.of], share = nearest.of === null ? undefined : shares[nearest.of];
  const looks = nearest.blank ? 'blank' : nearest.unlike ? 'unlike all training examples' : of && `counts as ${of}`;
  const differ = nearest.differ === 1 ? `1 ${unit} differs` : `${whole.format(nearest.differ)} ${unit}s differ`;
  const ofData = data_shares.length ? `, ${percent(data_shares[/** @type {number} */ (nearest.of)])} of the data` : '';
  const line = share === undefined ? differ : `${differ}. ${of}: ${percent(share)} of the samples${ofData}`;
  return { title: looks ? `${title}: ${looks}` : title, line };
}

/** @param {number} energy */
const energyText = energy => `free energy ${energy.toFixed(1).replace('-', '−')}`;

/** A large picture with two lines below it: its name, and a number. */
class LargePicture {
  /** @param {string} name */
  constructor(name) {
    this.canvas = element('canvas', {});
    this.number = element('span');
    this.node = element('figure', {}, this.canvas, element('figcaption', {}, name, element('br'), this.number));
  }

  /** @param {number[] | Uint8Array} values 0 to 255 @param {number} rows @param {number} columns @param {Uint32Array} ink */
  draw(values, rows, columns, ink) {
    const { canvas } = this, scale = LARGE / Math.max(rows, columns), image = new ImageData(columns, rows), px = new Uint32Array(image.data.buffer);
    canvas.width = columns;
    canvas.height = rows;
    Object.assign(canvas.style, { width: `${scale * columns}px`, height: `${scale * rows}px` });
    for (let i = 0; i < px.length; i++) px[i] = ink[Math.round(values[i])];
    context2d(canvas).putImageData(image, 0, 0);
  }
}

/** The large tile of a page's panels. */
class Loupe {
  /** @param {Grid} grid */
  constructor(grid) {
    this.grid = grid;
    this.pictures = ['This one', 'Probabilities', 'Nearest in training'].map(name => new LargePicture(name));
    this.title = element('strong');
    this.said = element('p');
    this.images = element('div', { class: 'larges' }, ...this.pictures.map(({ node }) => node));
    this.node = element('div', { class: 'loupe', popover: 'manual', role: 'figure' }, this.title, this.images, this.said);
    /** The panel, mosaic and cell that the reader points at. @type {{ panel: Panel, mosaic: Mosaic, slot: number, follows: boolean } | null} */
    this.at = null;
    /** Time at which the newest sample, which the tile follows, last changed. */
    this.followedAt = 0;
    /** The newest answer about a sample, and the run of the question. @type {Tile & { run: number } | null} */
    this.tile = null;
    /** What was asked last: panel, run and sample. */
    this.asked = '';
    /** Values of the picture as it is shown, on its way from those before it. @type {number[]} */
    this.shown = [];
    /** @type {number[]} */
    this.from = [];
    this.to = new Uint8Array(0);
    this.fadedAt = 0;
    this.fading = 0;
    this.ask = paced(ASK_MS, (/** @type {number} */ panel, /** @type {number} */ sample) => { if (this.at) grid.askForTile?.(panel, sample); });
    this.onAnother = (/** @type {Event} */ event) => {
      const onTile = this.at && event.composedPath().includes(this.at.mosaic.canvas);
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : event.type === 'scroll' || !onTile) this.close();
    };
  }

  /** Let the reader point at the pictures of a panel. @param {Panel} panel */
  watch(panel) {
    const { tiles } = panel;
    tiles.forEach((mosaic, i) => {
      const { canvas } = mosaic;
      canvas.dataset.large = '';
      /** @param {PointerEvent | MouseEvent} event */
      const point = event => this.point(panel, mosaic, mosaic.slotAt(event));
      canvas.addEventListener('pointermove', event => { if (event.pointerType === 'mouse') point(event); });
      canvas.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse' && !canvas.matches(':focus-visible')) this.close(); });
      canvas.addEventListener('click', point); // a tap
      if (i) return;
      for (const [name, value] of Object.entries({ role: 'slider', tabindex: '-1', 'aria-valuemin': '1', 'aria-valuenow': '1', 'aria-roledescription': 'pictures' })) canvas.setAttribute(name, value);
      canvas.addEventListener('focus', () => { if (canvas.matches(':focus-visible')) this.point(panel, mosaic, Math.max(panel.newestSlot, 0)); });
      canvas.addEventListener('blur', () => this.close());
      canvas.addEventListener('keydown', event => this.step(panel, event));
    });
  }

  /** Make one stop of the keyboard for the pictures of all panels. */
  setStop() {
    const stops = [...this.grid.panels.values()].flatMap(({ tiles }) => tiles.slice(0, 1)), active = stops.find(({ canvas }) => canvas.matches(':focus')) ?? stops[0];
    for (const stop of stops) stop.canvas.tabIndex = stop === active ? 0 : -1;
  }

  /** @param {Panel} panel @param {KeyboardEvent} event */
  step(panel, event) {
    const { at } = this, now = at?.panel === panel ? at : { mosaic: panel.tiles[0], slot: 0 }, panels = [...this.grid.panels.values()];
    const all = panels.flatMap(each => each.tiles.filter(({ canvas }) => !canvas.hidden).flatMap(mosaic => Array.from({ length: mosaic.slots }, (_, slot) => ({ panel: each, mosaic, slot }))));
    const i = all.findIndex(({ mosaic, slot }) => mosaic === now.mosaic && slot === now.slot), first = all.findIndex(each => each.panel === panel), { across } = now.mosaic;
    const to = { arrowleft: i - 1, arrowright: i + 1, arrowup: i - across, arrowdown: i + across, home: first, end: first + Math.max(panel.newestSlot, 0) }[plainKey(event)];
    if (to === undefined) return;
    const tile = all[to];
    if (tile && tile.panel !== panel) tile.panel.tiles[0].canvas.focus();
    if (tile) this.point(tile.panel, tile.mosaic, tile.slot);
    this.setStop();
    event.preventDefault();
    event.stopPropagation(); // the page has these keys, too
  }

  /** @param {Panel} panel @param {Mosaic} mosaic @param {number} slot */
  point(panel, mosaic, slot) {
    const { at } = this;
    if (slot < 0) return this.close();
    if (at && at.panel === panel && at.mosaic === mosaic && at.slot === slot) return;
    this.unmark();
    if (!at) {
      this.grid.host.after(this.node);
      this.node.showPopover();
      for (const name of CLOSING) addEventListener(name, this.onAnother, true);
    }
    this.shown = []; // another tile does not fade
    this.at = { panel, mosaic, slot, follows: mosaic === panel.tiles[0] && slot === panel.newestSlot };
    this.draw();
    panel.drawPictures();
  }

  unmark() {
    const { at } = this;
    if (!at) return;
    at.mosaic.pointed = -1;
    this.at = null;
    at.panel.drawPictures();
  }

  close() {
    if (!this.at) return;
    this.unmark();
    cancelAnimationFrame(this.fading);
    this.asked = '';
    for (const name of CLOSING) removeEventListener(name, this.onAnother, true);
    this.node.remove();
  }

  /** The sample that the reader points at, of this panel; its class if it is known. @param {Panel} panel @returns {{ sample: number, of: number | null } | null} */
  litOf(panel) {
    const { at, tile } = this;
    if (!at || at.panel !== panel) return null;
    const sample = panel.sampleAt(at.mosaic, at.slot), known = tile && tile.run === panel.head?.run && tile.panel === panel.key && tile.sample === sample;
    return { sample, of: known && tile.nearest && !tile.nearest.blank ? tile.nearest.of : null };
  }

  /** Take an answer about a sample. @param {Tile} tile */
  take(tile) {
    const { at } = this;
    if (!at || at.panel.key !== tile.panel || tile.energy === undefined) return;
    this.tile = { ...tile, run: at.panel.head?.run ?? -1 };
    this.draw();
    at.panel.drawPictures();
  }

  /** Draw the tile as it is now, and ask about it if it is new. */
  draw() {
    const { at } = this;
    if (!at) return;
    const { panel, mosaic } = at;
    if (!mosaic.canvas.isConnected) return this.close();
    if (at.follows && panel.newestSlot >= 0 && at.slot !== panel.newestSlot) {
      at.follows = performance.now() - this.followedAt > FOLLOWED_MS;
      this.followedAt = performance.now();
      if (at.follows) at.slot = panel.newestSlot;
    }
    mosaic.pointed = at.slot;
    const cells = mosaic.cells.subarray(at.slot * mosaic.size, (at.slot + 1) * mosaic.size), sample = panel.sampleAt(mosaic, at.slot), run = panel.head?.run ?? -1;
    if (this.shown.length !== cells.length) this.shown = Array.from(cells);
    if (this.to.length !== cells.length || cells.some((value, i) => value !== this.to[i])) {
      this.from = this.shown;
      this.to = cells.slice();
      this.fadedAt = performance.now();
    }
    const asks = panel.isBlind ? '' : `${panel.key} ${run} ${sample}`;
    if (sample >= 0 && asks && this.asked !== asks) {
      this.asked = asks;
      this.ask(panel.key, sample);
    }
    const { tile } = this, known = tile && !panel.isBlind && tile.panel === panel.key && tile.run === run && tile.sample === sample ? tile : null;
    this.write(panel, mosaic, sample, known);
    this.fade();
    this.place(panel, mosaic.boxOf(at.slot));
  }

  /** @param {Panel} panel @param {Mosaic} mosaic @param {number} sample @param {Tile | null} tile */
  write(panel, mosaic, sample, tile) {
    const { at } = this, { vocabulary } = panel, [, mean, nearest] = this.pictures, { rows, columns } = mosaic, bits = tile?.nearest ? bytesOf(tile.nearest.v) : null;
    const example = bits ? unpackBits({ dtype: 'bits', shape: [1, mosaic.size], data: bits }).map(bit => 255 * bit) : null;
    this.images.hidden = vocabulary.length > 0;
    mean.node.hidden = sample < 0 || panel.isBlind || !this.grid.askForTile; // their places are there before the answer
    nearest.node.hidden = mean.node.hidden || (tile !== null && !example);
    if (tile?.p) mean.draw(bytesOf(tile.p), rows, columns, mosaic.ink);
    if (example) nearest.draw(example, rows, columns, mosaic.ink);
    mean.node.classList.toggle('waits', !tile?.p);
    nearest.node.classList.toggle('waits', !example);
    const { title, line } = panel.tileText(mosaic, at?.slot ?? 0, sample, tile), lines = line ? [line] : [];
    const numbers = [tile?.energy === undefined ? '' : energyText(tile.energy), 'of each pixel', tile?.nearest ? energyText(tile.nearest.energy) : ''];
    this.pictures.forEach(({ number }, i) => put(number, numbers[i]));
    /** @param {Uint8Array} values */
    const words = values => vocabulary.filter(([, i]) => values[i] > 127).map(([word]) => word).join(' ') || 'no word';
    if (vocabulary.length) lines.unshift(`Words: ${words(this.to)}; ${numbers[0]}`, ...(example ? [`Nearest in training: ${words(example)}; ${numbers[2]}`] : []));
    put(this.title, title);
    put(this.said, lines.join('\n'));
    const text = [title, ...(vocabulary.length ? [] : numbers.slice(0, 1)), ...lines].filter(Boolean).join('. '), stop = panel.tiles[0].canvas;
    this.node.setAttribute('aria-label', `Large tile: ${text}`);
    const before = panel.tiles.slice(0, panel.tiles.indexOf(mosaic)).reduce((sum, { slots }) => sum + slots, 0);
    stop.setAttribute('aria-valuemax', String(panel.tiles.reduce((sum, { slots }) => sum + slots, 0)));
    stop.setAttribute('aria-valuenow', String(before + (at?.slot ?? 0) + 1));
    stop.setAttribute('aria-valuetext', text);
  }

  // The picture fades from the one before it.
  fade() {
    const { at } = this;
    cancelAnimationFrame(this.fading);
    if (!at) return;
    const part = isCalm() ? 1 : Math.min((performance.now() - this.fadedAt) / FADE_MS, 1), { from, to } = this;
    this.shown = Array.from(to, (value, i) => value * part + (from[i] ?? value) * (1 - part));
    this.pictures[0].draw(this.shown, at.mosaic.rows, at.mosaic.columns, at.mosaic.ink);
    if (part < 1) this.fading = requestAnimationFrame(() => this.fade());
  }

  /** Place the tile beside its panel or, in a narrow window, above or below the cell. @param {Panel} panel @param {DOMRect} cell */
  place(panel, cell) {
    const { offsetWidth: width, offsetHeight: height } = this.node, { left, right, top } = panel.stage.getBoundingClientRect();
    const edge = innerWidth - LOUPE_GAP - width, beside = right + LOUPE_GAP <= edge ? right + LOUPE_GAP : left - LOUPE_GAP - width;
    const above = cell.top - LOUPE_GAP - height;
    const [x, y] = beside >= LOUPE_GAP ? [beside, Math.min(top, innerHeight - height - LOUPE_GAP)]
      : [Math.max(Math.min(cell.left + cell.width / 2 - width / 2, edge), LOUPE_GAP), above >= LOUPE_GAP ? above : cell.bottom + LOUPE_GAP];
    Object.assign(this.node.style, { left: `${x}px`, top: `${Math.max(y, LOUPE_GAP)}px` });
  }
}
