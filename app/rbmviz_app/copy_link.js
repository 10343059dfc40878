// @ts-check
// Copies the page's address, which rbmviz_app/address.js keeps up to date.

/** Milliseconds for which it shows that the link was copied. */
const SAID_MS = 2000;

const ICON = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M10 14a4.5 4.5 0 0 0 6.4 0l3.2-3.2a4.5 4.5 0 0 0-6.4-6.4L12 5.6M14 10a4.5 4.5 0 0 0-6.4 0l-3.2 3.2a4.5 4.5 0 0 0 6.4 6.4L12 18.4"/></svg>';

/** @param {{ data: any, parentElement: any }} mounted */
export default ({ parentElement }) => {
  if (parentElement.querySelector('.bar')) return;
  const bar = document.createElement('div');
  bar.className = 'bar';
  bar.innerHTML = `<button type="button" title="Copy link: the address holds all that is on the page">${ICON}<span>Copy link</span></button><span class="said" role="status"></span>
    <div class="address" popover role="dialog" aria-label="Link to this page"><label>This browser gives no clipboard. Copy the link here:<input readonly></label></div>`;
  const button = /** @type {HTMLButtonElement} */ (bar.querySelector('button'));
  const said = /** @type {HTMLElement} */ (bar.querySelector('.said'));
  const shown = /** @type {HTMLElement} */ (bar.querySelector('.address'));
  const address = /** @type {HTMLInputElement} */ (bar.querySelector('input'));
  const select = () => {
    address.value = location.href;
    shown.showPopover();
    address.focus();
    address.select();
  };
  // Browsers restore the focus, but not within a shadow root.
  shown.addEventListener('beforetoggle', event => {
    const root = /** @type {ShadowRoot} */ (bar.getRootNode());
    if (/** @type {ToggleEvent} */ (event).newState === 'closed' && root.activeElement === address) button.focus({ preventScroll: true });
  });
  let timer = 0;
  button.onclick = () => {
    clearTimeout(timer);
    said.textContent = '';
    // Browsers offer no clipboard to pages from other machines without encryption.
    const copied = navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject();
    copied.then(() => {
      said.textContent = 'Copied';
      timer = setTimeout(() => { said.textContent = ''; }, SAID_MS);
    }, select);
  };
  parentElement.append(bar);
};
