// @ts-check
// The place of a live chart, whose content comes with the frames of the panels.

/** @typedef {{ url: string, part: string, nothing: string, size: number, height: number }} PlaceData socket, key of the chart, text without content, font size (0: usual) and height (0: of a main chart) in pixels */

class Place {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.curves = new Curves(true);
    this.nothing = element('p', { class: 'nothing' });
    this.probe = element('span', { hidden: true });
    this.node = element('div', { class: 'place' }, this.nothing, this.curves.node, this.probe);
    root.append(this.node);
    /** @type {PlaceData | null} */
    this.data = null;
    this.draw = () => this.drawNow();
    this.resized = new ResizeObserver(this.draw);
    this.resized.observe(this.node);
  }

  /** @param {PlaceData} data */
  configure(data) {
    if (this.data && (data.url !== this.data.url || data.part !== this.data.part)) this.forget();
    this.data = data;
    this.curves.size = data.size || this.curves.size;
    this.node.classList.toggle('large', data.size > 0);
    this.node.classList.toggle('main', !data.height);
    this.curves.plot.style.height = data.height ? `${data.height}px` : '';
    Parts.of(data.url).places.set(data.part, this.draw);
    this.draw();
  }

  drawNow() {
    if (!this.data) return;
    const { chart, notes } = Parts.of(this.data.url).newest.get(this.data.part) ?? { chart: null, notes: [] };
    put(this.nothing, this.data.nothing);
    this.nothing.hidden = chart !== null || notes.length > 0 || !this.data.nothing;
    this.curves.node.hidden = chart === null && !notes.length;
    this.curves.drawn.hidden = chart === null;
    if (!chart) return put(this.curves.notes, notes.join('\n'));
    this.curves.show(chart, notes);
    this.curves.draw(rgb(this.probe, 'var(--st-text-color)'));
  }

  forget() {
    const parts = this.data && Parts.of(this.data.url);
    if (parts && parts.places.get(this.data?.part ?? '') === this.draw) parts.places.delete(this.data?.part ?? '');
  }

  close() {
    this.forget();
    this.resized.disconnect();
    this.node.remove();
  }
}

/** @param {{ data: PlaceData, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  parentElement.rbmviz ??= new Place(parentElement);
  parentElement.rbmviz.configure(data);
  return () => {
    parentElement.rbmviz?.close();
    parentElement.rbmviz = null;
  };
};
