// @ts-check
// A download button: it requests its file with POST, and shows the server's message if there is no file.

const SHOWN_MS = 10000; // display time of a message

/** SVG paths in a square of 24 units, by icon name. @type {Record<string, string>} */
const ICONS = {
  download: 'M11.25 4h1.5v9.2l2.7-2.7 1.05 1.05L12 16.05l-4.5-4.5 1.05-1.05 2.7 2.7zM5 16h1.5v2.5h11V16H19v4H5z',
  bookmark: 'M6 4h12v16.5l-6-3.6-6 3.6zM7.5 5.5v12.4l4.5-2.7 4.5 2.7V5.5z',
};

/**
 * @typedef {{ label: string, file: string, help: string, icon: string, address: string }} DownloadData
 */

/** @param {Blob} content @param {string} name */
const save = (content, name) => {
  const link = element('a', { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000); // the browser may first ask for a folder
};

/** @param {string} address @returns {Promise<Blob | string>} the file, or the reason why there is none */
const ask = async address => {
  try {
    const answer = await fetch(address, { method: 'POST' });
    if (answer.ok) return await answer.blob();
    const ours = answer.headers.get('content-type')?.startsWith('text/plain');
    return ours ? await answer.text() : `The server made no file (status ${answer.status}): try again.`;
  } catch {
    return 'The connection was lost before the file was here: try again.';
  }
};

/** @param {{ data: DownloadData, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  if (!parentElement.rbmviz) {
    const picture = icon();
    const label = element('span'), said = element('p', { role: 'alert', popover: 'manual' });
    const button = element('button', { class: 'button', type: 'button' }, picture, label);
    const row = element('div', {}, button, said);
    let timer = 0;
    /** @param {string} sentence */
    const say = sentence => {
      clearTimeout(timer);
      said.textContent = sentence;
      said.togglePopover(!!sentence); // a popover appears above the menu of files
      if (sentence) timer = setTimeout(() => say(''), SHOWN_MS);
    };
    button.onclick = async () => {
      if (button.ariaBusy === 'true') return;
      button.ariaBusy = 'true';
      say('');
      const { address, file } = parentElement.rbmviz.data, answer = await ask(address);
      button.ariaBusy = null;
      if (typeof answer === 'string') say(answer);
      else save(answer, file);
    };
    parentElement.append(row);
    parentElement.rbmviz = { data, row, button, label, path: picture.firstChild };
  }
  const { button, label, path } = Object.assign(parentElement.rbmviz, { data });
  label.textContent = data.label;
  button.title = data.help;
  path.setAttribute('d', ICONS[data.icon]);
  return () => {
    parentElement.rbmviz.row.remove();
    parentElement.rbmviz = null;
  };
};
