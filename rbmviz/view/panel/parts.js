// @ts-check
// Charts of a page on their way from the socket to the components that draw them; see presses.js for why.

/** @typedef {{ chart: any, notes: string[] }} ChartPart the content of a chart (null: nothing to draw yet), and the sentences below it */

class Parts {
  /** @type {Map<string, ChartPart>} */
  newest = new Map();
  /** Functions that draw a chart again. @type {Map<string, () => void>} */
  places = new Map();

  /** @param {string} url of the socket @returns {Parts} */
  static of(url) { return sharedFor('rbmvizParts', url, () => new Parts()); }

  /** @param {Record<string, ChartPart | true> | null} parts all charts of the page, true for those that are as before; null: all are as before */
  take(parts) {
    if (!parts) return;
    this.newest = new Map(Object.entries(parts).map(([key, part]) => [key, part === true ? /** @type {ChartPart} */ (this.newest.get(key)) : part]));
    this.redraw();
  }

  redraw() { for (const draw of this.places.values()) draw(); }
}
