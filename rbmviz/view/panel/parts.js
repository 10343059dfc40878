// @ts-check
// Charts of a page on their way from the socket to the components that draw them. Either side may be mounted first, so both
// find the page's charts by the address of the socket.

/** @typedef {{ chart: any, notes: string[] }} ChartPart the content of a chart (null: nothing to draw yet), and the sentences below it */

class Parts {
  /** @param {string} url of the socket @returns {Parts} */
  static of(url) {
    const shared = /** @type {{ rbmvizParts?: Map<string, Parts> }} */ (window);
    shared.rbmvizParts ??= new Map();
    const parts = shared.rbmvizParts.get(url) ?? new Parts();
    shared.rbmvizParts.set(url, parts);
    return parts;
  }

  constructor() {
    /** @type {Map<string, ChartPart>} */
    this.newest = new Map();
    /** Functions that draw a chart again. @type {Map<string, () => void>} */
    this.places = new Map();
  }

  /** @param {Record<string, ChartPart | true> | null} parts all charts of the page, true for those that are as before; null: all are as before */
  take(parts) {
    if (!parts) return;
    this.newest = new Map(Object.entries(parts).map(([key, part]) => [key, part === true ? /** @type {ChartPart} */ (this.newest.get(key)) : part]));
    this.redraw();
  }

  /** Draw all charts again, in new colours. */
  redraw() { for (const draw of this.places.values()) draw(); }
}
