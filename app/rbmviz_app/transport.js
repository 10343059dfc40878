// @ts-check
// The buttons Play or Pause, Step and Reset. Their presses go over the page's socket; see rbmviz/view/panel/presses.js.

/**
 * A button: its help, its key, and the reason why it is disabled ('' if it is enabled).
 * @typedef {{ help: string, key: string, held: string }} ButtonData
 * @typedef {{ socket: string, running: boolean, play: ButtonData, step: ButtonData, reset: ButtonData }} TransportData
 */

const REPORT_MS = 200; // minimum time between reports to Streamlit, which redraws Undo

/** SVG paths in a square of 24 units. */
const ICONS = {
  Pause: 'M6.5 19V5H11v14zM8 17.5h1.5v-11H8zM13 19V5h4.5v14zM14.5 17.5H16v-11h-1.5z',
  Play: 'M8 19V5l11 7zM9.5 16.25 16.2 12 9.5 7.75z',
  Step: 'M5.5 18V6l9 6zM7 15.2 11.8 12 7 8.8zM16.5 18V6H18v12z',
  Reset: 'M12 21a8 8 0 0 1-8-8h1.6A6.4 6.4 0 1 0 12 6.6h-.5l1.8 1.8-1.1 1.1L8.5 5.8 12.2 2l1.1 1.2L11.5 5h.5a8 8 0 0 1 0 16z',
};

/** @param {string} name @param {ButtonData} data @param {() => void} press @returns {HTMLButtonElement} */
const button = (name, { key }, press) => element('button', { type: 'button', class: `button ${name}`, onclick: press },
  icon(), element('span'), ' ', element('kbd', { 'aria-label': `Shortcut ${key}`, text: key }));

/** The three buttons of a page. */
class Buttons {
  /** @param {HTMLElement} root @param {TransportData} data */
  constructor(root, data) {
    this.data = data;
    this.presses = Presses.of(data.socket);
    this.presses.running = data.running;
    const press = (/** @type {string} */ name) => () => this.presses.press(name);
    this.nodes = {
      play: button('play', data.play, () => this.presses.press(this.presses.willRun ? 'pause' : 'play')),
      step: button('step', data.step, press('step')),
      reset: button('reset', data.reset, press('reset')),
    };
    this.row = element('div', { class: 'transport' }, ...Object.values(this.nodes));
    root.append(this.row); // the root also contains the style
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.pressKey(event);
    document.addEventListener('keydown', this.onKey);
  }

  // Before they reach the document, rbmviz_app/keys.js stops keys that are typed into a field or switched off.
  /** @param {KeyboardEvent} event */
  pressKey(event) {
    for (const name of /** @type {const} */ (['play', 'step', 'reset'])) {
      const held = event.repeat && name !== 'step'; // only Step repeats while its key is held
      if (!held && plainKey(event).toUpperCase() === this.data[name].key) this.nodes[name].click(); // a disabled button ignores the click
    }
  }

  draw() {
    const labels = { play: this.presses.willRun ? 'Pause' : 'Play', step: 'Step', reset: 'Reset' };
    for (const name of /** @type {const} */ (['play', 'step', 'reset'])) {
      const node = this.nodes[name], { help, held } = this.data[name], label = /** @type {keyof typeof ICONS} */ (labels[name]);
      node.disabled = held !== '';
      node.title = held || help;
      node.querySelector('path')?.setAttribute('d', ICONS[label]);
      put(/** @type {HTMLElement} */ (node.querySelector('span')), label);
    }
  }

  close() {
    document.removeEventListener('keydown', this.onKey);
    this.row.remove();
  }
}

/** @param {{ data: TransportData, parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, parentElement, setTriggerValue }) => {
  if (parentElement.rbmviz?.data.socket !== data.socket) {
    parentElement.rbmviz?.close();
    parentElement.rbmviz = new Buttons(parentElement, data);
  }
  const buttons = /** @type {Buttons} */ (parentElement.rbmviz), { presses } = buttons;
  buttons.data = data;
  presses.draw = () => buttons.draw();
  let timer = 0;
  presses.onDone = () => { timer ||= setTimeout(() => { timer = 0; setTriggerValue('done', presses.newest); }, REPORT_MS); };
  buttons.draw();
  return () => {
    clearTimeout(timer);
    presses.draw = presses.onDone = () => {};
    buttons.close();
    parentElement.rbmviz = null;
  };
};
