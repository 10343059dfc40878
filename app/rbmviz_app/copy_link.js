// @ts-check
// Copies the page's address, which rbmviz_app/address.js keeps up to date.

const ICON = 'M10 14a4.5 4.5 0 0 0 6.4 0l3.2-3.2a4.5 4.5 0 0 0-6.4-6.4L12 5.6M14 10a4.5 4.5 0 0 0-6.4 0l-3.2 3.2a4.5 4.5 0 0 0 6.4 6.4L12 18.4';

/** @param {{ data: any, parentElement: any }} mounted */
export default ({ parentElement }) => {
  if (parentElement.querySelector('.bar')) return;
  const said = element('span', { class: 'said', role: 'status' });
  const button = element('button', { type: 'button', title: 'Copy link: the address holds all that is on the page', onclick: () => copyText(location.href, said) },
    icon(ICON), element('span', { text: 'Copy link' }));
  parentElement.append(element('div', { class: 'bar' }, button, said));
};
