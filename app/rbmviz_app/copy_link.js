// @ts-check
// Copies the page's address, which rbmviz_app/address.js keeps up to date.

/** Duration of the notice that the link was copied, in milliseconds. */
const SAID_MS = 2000;

const ICON = 'M10 14a4.5 4.5 0 0 0 6.4 0l3.2-3.2a4.5 4.5 0 0 0-6.4-6.4L12 5.6M14 10a4.5 4.5 0 0 0-6.4 0l-3.2 3.2a4.5 4.5 0 0 0 6.4 6.4L12 18.4';

/** @param {{ data: any, parentElement: any }} mounted */
export default ({ parentElement }) => {
  if (parentElement.querySelector('.bar')) return;
  const address = element('input', { readonly: true }), said = element('span', { class: 'said', role: 'status' });
  const shown = element('div', { class: 'address', popover: true, role: 'dialog', 'aria-label': 'Link to this page' },
    element('label', {}, 'This browser gives no clipboard. Copy the link here:', address));
  const select = () => {
    address.value = location.href;
    shown.showPopover();
    address.focus();
    address.select();
  };
  let timer = 0;
  const copy = () => {
    clearTimeout(timer);
    said.textContent = '';
    copyText(location.href).then(() => {
      said.textContent = 'Copied';
      timer = setTimeout(() => { said.textContent = ''; }, SAID_MS);
    }, select);
  };
  const button = element('button', { type: 'button', title: 'Copy link: the address holds all that is on the page', onclick: copy },
    icon(ICON), element('span', { text: 'Copy link' }));
  // Browsers restore the focus themselves, but not within a shadow root.
  shown.addEventListener('beforetoggle', event => {
    const root = /** @type {ShadowRoot} */ (shown.getRootNode());
    if (/** @type {ToggleEvent} */ (event).newState === 'closed' && root.activeElement === address) button.focus({ preventScroll: true });
  });
  parentElement.append(element('div', { class: 'bar' }, button, said, shown));
};
