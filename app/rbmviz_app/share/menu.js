// @ts-check
// The button that opens the menu of link, share and present: a container of the page, which stays on the page while it is
// closed, because its buttons have keys.

const MENU = '.st-key-share-menu';

/** @param {{ data: { label: string }, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  let button = parentElement.querySelector('button');
  if (!button) {
    const open = () => {
      const menu = /** @type {HTMLElement | null} */ (document.querySelector(MENU));
      if (!menu) return;
      menu.popover = 'auto'; // the browser closes it on Escape and on a click elsewhere
      menu.ontoggle = event => button.setAttribute('aria-expanded', String(/** @type {ToggleEvent} */ (event).newState === 'open'));
      button.popoverTargetElement = menu; // the browser opens and closes it: for a click elsewhere it would take the second one
    };
    button = element('button', { type: 'button', 'aria-haspopup': 'true', 'aria-expanded': 'false', onclick: open });
    parentElement.append(element('div', { class: 'bar' }, button));
  }
  button.textContent = data.label;
};
