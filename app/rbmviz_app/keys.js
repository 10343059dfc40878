// @ts-check
// The list of keys, opened by ?, with the switch for single-key shortcuts. Unless switched off, shortcuts work everywhere
// except in text fields. Buttons declare their keys (Streamlit's `shortcut`), and Streamlit listens on the document. It
// ignores keys from sliders and boxes, but reacts to typing in the fields of our panels. This script therefore stops
// unwanted keys before they reach the document, and sends wanted keys again from the body of the page.

/** The key that opens the list; see rbmviz_app/keys.py. */
const LIST = '?';

/** Storage key of the switch. */
const OFF = 'rbmviz single keys off';

const isOff = () => remembered(OFF) !== '';

const NO_TEXT = ['button', 'checkbox', 'color', 'file', 'radio', 'range', 'reset', 'submit'];

/** @param {EventTarget | undefined} target @returns {boolean} whether the target accepts typed text */
const takesText = target => {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !NO_TEXT.includes(target.type);
  // Tables draw their cells on a canvas.
  return target.isContentEditable || target.matches('textarea, select, canvas[data-testid=data-grid-canvas]');
};

/** @param {EventTarget | undefined} target @returns {boolean} whether the target uses arrow keys */
const takesArrows = target => takesText(target) || target instanceof Element && target.closest('input, audio, video, [role=slider], [role=radiogroup], [role=listbox], [role=tablist], [role=menu], [aria-haspopup=listbox]') !== null;

/** @param {KeyboardEvent} event @returns {boolean} whether the key is the left or right arrow, without modifiers */
const toTheSide = ({ key, ctrlKey, metaKey, altKey, shiftKey }) => (key === 'ArrowLeft' || key === 'ArrowRight') && !(ctrlKey || metaKey || altKey || shiftKey);

/** The answers on the card of a lesson. */
const ANSWERS = '.st-key-lesson [role=radiogroup]';

/** @param {KeyboardEvent} event */
const sendFromBody = ({ type, key, code, keyCode, shiftKey, repeat }) => {
  document.body.dispatchEvent(new KeyboardEvent(type, { key, code, keyCode, shiftKey, repeat, bubbles: true }));
};

const listen = () => {
  const shared = /** @type {any} */ (window);
  if (shared.rbmvizKeys) return;
  shared.rbmvizKeys = true;
  /** @param {KeyboardEvent} event */
  const pass = event => {
    const list = shared.rbmvizKeyList;
    if (list?.dialog.open) return event.stopPropagation(); // while the list is open, no key acts on the page behind it
    // The card of a lesson uses the arrow keys; a focused control that uses arrows takes precedence.
    if (toTheSide(event)) {
      if (isOff() || takesArrows(event.composedPath()[0])) event.stopPropagation();
      return;
    }
    // The same holds for Tab, Enter and the space bar.
    if (event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey) return;
    // The event's path includes controls inside our panels, which the document does not see.
    const target = event.composedPath()[0];
    if (isOff() || takesText(target)) event.stopPropagation();
    else if (event.key === LIST) {
      event.stopPropagation();
      if (event.type === 'keydown') list?.show();
    }
    else if (target instanceof HTMLInputElement) {
      event.stopPropagation();
      sendFromBody(event);
    }
  };
  /**
   * The answers of a lesson form a column: Up and Down choose among them, Left and Right move between the steps,
   * wherever the focus is. Left and Right are sent from the body before they reach the answers.
   * @param {KeyboardEvent} event
   */
  const passAnswers = event => {
    if (!toTheSide(event) || isOff() || !(event.target instanceof Element && event.target.closest(ANSWERS))) return;
    event.preventDefault();
    event.stopPropagation();
    sendFromBody(event);
  };
  document.documentElement.addEventListener('keydown', passAnswers, true);
  document.documentElement.addEventListener('keyup', passAnswers, true);
  document.documentElement.addEventListener('keydown', pass);
  document.documentElement.addEventListener('keyup', pass);
};

/**
 * @typedef {{ key: string, does: string, where: string }} Key see rbmviz_app/keys.py
 * @typedef {{ groups: { title: string, keys: Key[] }[], label: string, help: string }} KeyData
 */

/** @param {string} selector @param {Document | ShadowRoot} [root] @returns {boolean} whether a matching control is visible on the page or within our panels */
const isThere = (selector, root = document) => [...root.querySelectorAll(selector)].some(node => node.checkVisibility())
  || [...root.querySelectorAll('*')].some(node => node.shadowRoot !== null && isThere(selector, node.shadowRoot));

/** @returns {Element | null} the focused element, which may be within our panels */
const focused = () => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
};

const ARROWS = /** @type {Record<string, string>} */ ({ Left: '←', Right: '→' });

/** @param {Key} key @returns {Node[]} a line of the list */
const line = ({ key, does }) => [
  element('dt', {}, ...key.split(', ').flatMap((one, i) => [i ? ' ' : '', element('kbd', { text: ARROWS[one] ?? one })])),
  element('dd', { text: does }),
];

/** @param {HTMLElement} list @param {KeyData} data */
const fill = (list, { groups }) => list.replaceChildren(...groups.flatMap(({ title, keys }) => [
  element('h3', { text: title }), element('dl', {}, ...keys.filter(({ where }) => !where || isThere(where)).flatMap(line)),
]));

/** @param {{ data: KeyData, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  listen();
  parentElement.querySelector('.bar')?.remove(); // only the bar: the root also contains the style
  const box = element('input', { type: 'checkbox', onchange: () => remember(OFF, box.checked ? '' : '1') }), list = element('div');
  const dialog = element('dialog', { 'aria-labelledby': 'keys-title' },
    element('header', {}, element('h2', { id: 'keys-title', text: 'Keys' }), element('button', { type: 'button', text: 'Close', onclick: () => dialog.close() })),
    list, element('label', {}, box, ' ', element('span', { text: data.label })), element('small', { text: data.help }));
  /** @type {Element | null} */
  let before = null;
  const show = () => {
    if (dialog.open) return;
    before = focused();
    box.checked = !isOff();
    fill(list, data);
    dialog.showModal();
  };
  dialog.onclick = event => { if (event.target === dialog) dialog.close(); }; // a click beside the list closes it
  dialog.onclose = () => { if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true }); };
  parentElement.append(element('div', { class: 'bar of-keys' },
    element('button', { type: 'button', title: 'The keys of this page', 'aria-label': 'Keys', 'aria-haspopup': 'dialog', onclick: show }, element('kbd', { text: '?' })), dialog));
  /** @type {any} */ (window).rbmvizKeyList = { show, dialog };
};
