// @ts-check
// The button that opens the menu of link, share and present. The menu is a container of the page, and stays on the page
// while closed, because its buttons have keys.

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
      button.popoverTargetElement = menu; // the browser opens and closes the menu; otherwise it would take a second click on the button for a click elsewhere
    };
    button = element('button', { type: 'button', 'aria-haspopup': 'true', 'aria-expanded': 'false', onclick: open });
    parentElement.append(element('div', { class: 'bar' }, button));
  }
  button.textContent = data.label;
};
