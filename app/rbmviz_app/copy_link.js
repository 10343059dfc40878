// @ts-check
// Copies the page's address, which rbmviz_app/address.js keeps up to date.

/** Duration of the notice that the link was copied, in milliseconds. */
const SAID_MS = 2000;

const ICON = 'M10 14a4.5 4.5 0 0 0 6.4 0l3.2-3.2a4.5 4.5 0 0 0-6.4-6.4L12 5.6M14 10a4.5 4.5 0 0 0-6.4 0l-3.2 3.2a4.5 4.5 0 0 0 6.4 6.4L12 18.4';

/** @param {{ data: any, parentElement: any }} mounted */
export default ({ parentElement }) => {
  if (parentElement.querySelector('.bar')) return;
  const said = element('span', { class: 'said', role: 'status' });
  let timer = 0;
  const copy = () => {
    clearTimeout(timer);
    said.textContent = '';
    copyText(location.href).then(() => {
      said.textContent = 'Copied';
      timer = setTimeout(() => { said.textContent = ''; }, SAID_MS);
    }, () => prompt('This browser gives no clipboard. Copy the link here:', location.href));
  };
  const button = element('button', { type: 'button', title: 'Copy link: the address holds all that is on the page', onclick: copy },
    icon(ICON), element('span', { text: 'Copy link' }));
  parentElement.append(element('div', { class: 'bar' }, button, said));
};
