// @ts-check
// Colours, and pictures on a canvas.

const GAP = 1; // pixels of the picture between two cells
const RING_MOST = 4; // maximum width of a cell's frame in CSS pixels, however large the picture's pixels are

// Colours

/** @param {HTMLElement} node @param {string} colour @returns {number[]} red, green and blue, 0 to 255 */
function rgb(node, colour) {
  node.style.color = colour;
  return (getComputedStyle(node).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/** @param {number[]} from @param {number[]} to @returns {Uint32Array} the colours of the values 0 to 255 */
function ramp(from, to) {
  const table = new Uint32Array(256), bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < 256; i++) {
    for (let c = 0; c < 3; c++) bytes[4 * i + c] = from[c] + (to[c] - from[c]) * i / 255;
    bytes[4 * i + 3] = 255;
  }
  return table;
}

/** @param {number[]} low @param {number[]} middle @param {number[]} high @returns {Uint32Array} */
function diverging(low, middle, high) {
  const table = new Uint32Array(256);
  const down = ramp(low, middle), up = ramp(middle, high);
  for (let i = 0; i < 256; i++) table[i] = i < 128 ? down[2 * i] : up[Math.min(2 * (i - 128), 255)];
  return table;
}

const HELD = [0, 114, 178]; // hue of the pixels that are held

/**
 * Colours of pixels that are held: those of the others, with a tint.
 * @param {Uint32Array} ink colour of each value @returns {Uint32Array}
 */
function tinted(ink) {
  const table = ink.slice(), bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < 256; i++) for (let c = 0; c < 3; c++) bytes[4 * i + c] += (HELD[c] - bytes[4 * i + c]) * (0.3 + 0.3 * i / 255);
  return table;
}

// Pictures side by side on one canvas, with values of 0 to 255.

class Mosaic {
  /** @param {string} name */
  constructor(name) {
    this.canvas = element('canvas', { class: 'picture', role: 'img', 'data-picture': name });
    this.native = document.createElement('canvas');
    this.key = '';
    this.rows = this.columns = this.across = this.down = this.zoom = this.size = 0;
    this.cells = new Uint8Array(0);
    this.image = new ImageData(1, 1);
    /** The cell that the reader points at; -1: none. */
    this.pointed = -1;
    /** Colours of the last drawing. @type {Uint32Array} */
    this.ink = new Uint32Array(256);
    /** Value at which each pixel is held, -1 for a free one; empty: all are free. @type {number[]} */
    this.held = [];
  }

  /**
   * @param {number} rows @param {number} columns of a picture
   * @param {number} across @param {number} down pictures side by side
   * @param {number} [zoom] enlargement of pixels, without which the gap in a small picture would be as wide as a pixel
   */
  layout(rows, columns, across, down, zoom = 1) {
    const key = [rows, columns, across, down, zoom].join();
    if (key === this.key) return;
    Object.assign(this, { key, rows, columns, across, down, zoom, size: rows * columns });
    this.cells = new Uint8Array(across * down * this.size);
    this.native.width = across * (zoom * columns + GAP) + GAP;
    this.native.height = down * (zoom * rows + GAP) + GAP;
    this.image = new ImageData(this.native.width, this.native.height);
    this.canvas.style.aspectRatio = `${this.native.width} / ${this.native.height}`;
  }

  get slots() { return this.across * this.down; }

  clear(value = 0) { this.cells.fill(value); }

  /**
   * Read a picture from a row of a block, with one bit or one byte per pixel.
   * @param {number} slot
   * @param {Block} block
   * @param {number} row
   */
  put(slot, block, row) {
    const n = block.shape[1], at = slot * this.size;
    if (block.dtype === 'bits') unpackBits(block, row).forEach((bit, i) => { this.cells[at + i] = 255 * bit; });
    else this.cells.set(/** @type {Uint8Array} */ (block.data).subarray(row * n, (row + 1) * n), at);
  }

  /** @param {{ clientX: number, clientY: number }} place @returns {number} the cell there; -1: none */
  slotAt({ clientX, clientY }) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const column = Math.floor(this.across * (clientX - left) / width), row = Math.floor(this.down * (clientY - top) / height);
    return column >= 0 && column < this.across && row >= 0 && row < this.down ? row * this.across + column : -1;
  }

  /** @param {number} slot @returns {DOMRect} the place of a cell in the window */
  boxOf(slot) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect(), wide = width / this.across, tall = height / this.down;
    return new DOMRect(left + (slot % this.across) * wide, top + Math.floor(slot / this.across) * tall, wide, tall);
  }

  /**
   * @param {Uint32Array} ink colour of each value
   * @param {number} gap colour between the cells
   * @param {{ slot: number, colour: string } | null} ring the framed cell
   */
  draw(ink, gap, ring) {
    this.ink = ink;
    const { rows, columns, across, down, zoom, cells, held } = this, tint = held.length ? tinted(ink) : ink, wide = zoom * columns + GAP, tall = zoom * rows + GAP;
    const px = new Uint32Array(this.image.data.buffer), W = this.native.width;
    px.fill(gap);
    for (let slot = 0, k = 0; slot < across * down; slot++) {
      const corner = (Math.floor(slot / across) * tall + GAP) * W + (slot % across) * wide + GAP;
      for (let i = 0; i < rows; i++, k += columns) for (let y = 0; y < zoom; y++) {
        for (let j = 0, o = corner + (i * zoom + y) * W; j < columns; j++) {
          const colour = (held[i * columns + j] >= 0 ? tint : ink)[cells[k + j]];
          for (let x = 0; x < zoom; x++, o++) px[o] = colour;
        }
      }
    }
    context2d(this.native).putImageData(this.image, 0, 0);
    const x = fit(this.canvas, this.canvas.clientWidth * this.native.height / this.native.width);
    const scale = this.canvas.width / this.native.width;
    x.imageSmoothingEnabled = scale < 2;
    x.imageSmoothingQuality = 'high';
    x.drawImage(this.native, 0, 0, this.canvas.width, this.canvas.height);
    /** @param {number} slot @param {string} colour */
    const frame = (slot, colour) => {
      x.strokeStyle = colour;
      x.lineWidth = Math.max(2, Math.min(1.5 * scale, RING_MOST * devicePixelRatio));
      x.strokeRect(((slot % across) * wide + GAP / 2) * scale, (Math.floor(slot / across) * tall + GAP / 2) * scale, wide * scale, tall * scale);
    };
    if (ring) frame(ring.slot, ring.colour);
    if (this.pointed >= 0) frame(this.pointed, getComputedStyle(this.canvas).color);
  }
}

/** @param {HTMLCanvasElement} canvas */
function context2d(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
}

/**
 * Match the resolution of a canvas to its pixels on the screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height in CSS pixels
 */
function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, w = Math.round(canvas.clientWidth * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  return context2d(canvas);
}

/**
 * Clear a canvas and draw on it, with this height in CSS pixels and the page's font.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height
 * @param {(x: CanvasRenderingContext2D, width: number) => void} paint
 */
function paintOn(canvas, height, paint) {
  const x = fit(canvas, height), width = canvas.clientWidth, ratio = canvas.width / Math.max(width, 1);
  x.setTransform(ratio, 0, 0, ratio, 0, 0);
  x.clearRect(0, 0, width, height);
  x.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  x.textAlign = 'left';
  paint(x, width);
  x.setTransform(1, 0, 0, 1, 0, 0);
}

/** @param {number[]} rgb @param {number} opacity from 0 to 1 */
const translucent = ([r, g, b], opacity) => `rgba(${r},${g},${b},${opacity})`;
