// @ts-check
// The place of a chart. The content of a live chart comes with the frames of the panels, that of a still one at once.

/** @typedef {{ url: string, part: string, still: CurvesSpec | null, nothing: string, size: number, height: number }} PlaceData socket ('': a still chart), key of the chart, its content, text without content, and font size (0: usual) and height (0: of a main chart) in pixels */

/** @param {HTMLElement} root @returns {{ configure: (data: PlaceData) => void, close: () => void }} */
const placeIn = root => {
  const curves = new Curves(true), nothing = element('p', { class: 'nothing' }), probe = element('span', { hidden: true });
  const node = element('div', { class: 'place' }, nothing, curves.node, probe);
  root.append(node);
  let data = /** @type {PlaceData} */ ({});
  const draw = () => {
    const { chart, notes } = (data.url && Parts.of(data.url).newest.get(data.part)) || { chart: data.still ?? null, notes: [] };
    put(nothing, data.nothing);
    nothing.hidden = chart !== null || notes.length > 0 || !data.nothing;
    curves.node.hidden = chart === null && !notes.length;
    curves.drawn.hidden = chart === null;
    if (!chart) return put(curves.notes, notes.join('\n'));
    curves.show(chart, notes);
    curves.draw(rgb(probe, 'var(--st-text-color)'));
  };
  const forget = () => {
    const places = data.url && Parts.of(data.url).places;
    if (places && places.get(data.part) === draw) places.delete(data.part);
  };
  const resized = new ResizeObserver(draw);
  resized.observe(node);
  return {
    configure(now) {
      forget();
      data = now;
      curves.withEnds = data.url !== '';
      curves.size = data.size || curves.size;
      node.classList.toggle('large', data.size > 0);
      node.classList.toggle('main', !data.height);
      curves.plot.style.height = data.height ? `${data.height}px` : '';
      if (data.url) Parts.of(data.url).places.set(data.part, draw);
      draw();
    },
    close() { forget(); resized.disconnect(); node.remove(); },
  };
};

/** @param {{ data: PlaceData, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  (parentElement.rbmviz ??= placeIn(parentElement)).configure(data);
  return () => { parentElement.rbmviz?.close(); parentElement.rbmviz = null; };
};
