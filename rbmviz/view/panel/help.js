// @ts-check
// Help that a button opens, with mouse, touch or keyboard. Escape or a click elsewhere closes the help.

/** @typedef {(string | { math: string })[]} Prose text, and formulas as MathML (rbmviz/view/formulas.py) */

const HELP_WIDTH = 320, HELP_MARGIN = 8; // in CSS pixels

/**
 * @param {Prose} prose
 * @returns {(Node | string)[]}
 */
const written = prose => prose.map(part => (typeof part === 'string' ? part : formula(part.math)));

/**
 * Return a formula as an element. The MathML comes from the program's own texts, never from user input.
 * @param {string} mathml
 */
function formula(mathml) {
  const template = document.createElement('template');
  template.innerHTML = mathml;
  return template.content;
}

/**
 * Let a button open a text beside it; return the text's element, to be placed after the button.
 * @param {HTMLButtonElement} button
 * @param {string} label name of the text
 * @param {...(Node | string)} content
 */
function explain(button, label, ...content) {
  // With "auto" and the target, the browser opens the text on click, Enter and Space, closes it on Escape, and shows one
  // text at a time. The text takes the focus so that a screen reader reads it; closing it returns the focus to the button.
  const text = element('div', { class: 'tip', popover: 'auto', role: 'dialog', 'aria-label': label, tabindex: -1, autofocus: true }, ...content);
  button.popoverTargetElement = text;
  button.setAttribute('aria-haspopup', 'dialog');
  /** @param {Event} event */
  const scrolled = event => {
    if (!text.isConnected) window.removeEventListener('scroll', scrolled, { capture: true }); // the text was removed while open, which fires no event
    else if (!event.composedPath().includes(text)) text.hidePopover();
  };
  text.addEventListener('beforetoggle', event => {
    if (/** @type {ToggleEvent} */ (event).newState === 'open') {
      place(text, button.getBoundingClientRect());
      // The text is fixed on the screen, so close it when the page scrolls away under it.
      window.addEventListener('scroll', scrolled, { capture: true, passive: true });
      return;
    }
    window.removeEventListener('scroll', scrolled, { capture: true });
    // Browsers restore the focus themselves, but not within a shadow root.
    const root = /** @type {Document | ShadowRoot} */ (text.getRootNode());
    if (root.activeElement === text) button.focus({ preventScroll: true });
  });
  return text;
}

/**
 * Place a text below or above a button, wherever there is more room.
 * @param {HTMLElement} text
 * @param {DOMRect} button
 */
function place(text, button) {
  const width = Math.min(HELP_WIDTH, innerWidth - 2 * HELP_MARGIN), below = innerHeight - button.bottom, above = button.top;
  const left = Math.max(HELP_MARGIN, Math.min(button.left, innerWidth - width - HELP_MARGIN));
  const isBelow = below >= above, room = Math.max(below, above) - 2 * HELP_MARGIN;
  Object.assign(text.style, {
    width: `${width}px`, left: `${left}px`, maxHeight: `${room}px`,
    top: isBelow ? `${button.bottom + HELP_MARGIN}px` : 'auto', bottom: isBelow ? 'auto' : `${innerHeight - button.top + HELP_MARGIN}px`,
  });
}

/** @param {string} label topic of the help @returns {HTMLButtonElement} a small button that opens the help */
const helpMark = label => element('button', { class: 'help', type: 'button', 'aria-label': 'Help', 'aria-description': label, text: '?' });

/**
 * Return a small button that opens a text, and the text.
 * @param {string} label topic of the text
 * @param {Prose} prose
 */
function helpButton(label, prose) {
  const button = helpMark(label);
  return [button, explain(button, 'Help', element('p', {}, ...written(prose)))];
}
