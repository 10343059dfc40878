// @ts-check
// The caption of a page. It comes with the frames of the panels, like the charts.

/** @typedef {{ url: string, said: string[] }} CaptionData socket ('': none), and the caption before the first frame: its sentence, and the words of its link if it has one */

const SAY_MS = 2000; // minimum time between two captions

/** @param {string} text @returns {string} */
const wordsOf = text => text.replace(/[\d.,−]+/g, '');

/** @param {HTMLElement} root @param {() => void} onwards @returns {{ configure: (data: CaptionData) => void, close: () => void }} */
const captionIn = (root, onwards) => {
  const text = element('span', { class: 'said', 'aria-live': 'polite' }), why = element('button', { type: 'button', hidden: '', onclick: onwards });
  const node = element('p', {}, text, ' ', why);
  root.append(node);
  let data = /** @type {CaptionData} */ ({ url: '', said: [] }), width = 0;
  const draw = paced(SAY_MS, () => {
    const [sentence = '', link = ''] = Parts.of(data.url).newest.get('caption')?.notes ?? data.said;
    // Numbers change all the time: only other words are read aloud.
    text.ariaLive = wordsOf(sentence) === wordsOf(text.textContent ?? '') ? 'off' : 'polite';
    put(text, sentence);
    put(why, link);
    why.hidden = !link;
    // A shorter caption keeps the space, so that the slider being dragged does not move.
    if (width !== innerWidth) node.style.minHeight = '';
    width = innerWidth;
    node.style.minHeight = `${node.offsetHeight}px`;
  });
  const forget = () => {
    const { places } = Parts.of(data.url);
    if (places.get('caption') === draw) places.delete('caption');
  };
  return {
    configure(now) {
      forget();
      data = now;
      node.hidden = !data.url; // the card of a lesson explains the page
      Parts.of(data.url).places.set('caption', draw);
      draw();
    },
    close() { forget(); node.remove(); },
  };
};

/** @param {{ data: CaptionData, parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, parentElement, setTriggerValue }) => {
  (parentElement.rbmviz ??= captionIn(parentElement, () => setTriggerValue('why', true))).configure(data);
  return () => { parentElement.rbmviz?.close(); parentElement.rbmviz = null; };
};
