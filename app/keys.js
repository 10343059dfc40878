// @ts-check
// The switch of the single-key shortcuts, and where they count: everywhere but in text fields, unless they are off.
// The buttons of the page say their keys themselves (Streamlit's `shortcut`), and Streamlit listens on the document.
// It hears nothing from sliders and boxes, and hears what is typed into the fields of our panels: so what must not
// come there is stopped one step before, and what must is sent again from the body of the page.

/** Where the browser remembers that they are off. */
const OFF = 'rbmviz single keys off';

/** Inside of another page browsers may keep nothing for us: then the switch holds as long as the page is there. */
let offHere = false;

const isOff = () => {
  try { return Boolean(localStorage.getItem(OFF)); } catch { return offHere; }
};

/** @param {boolean} off */
const setOff = off => {
  offHere = off;
  try {
    if (off) localStorage.setItem(OFF, '1');
    else localStorage.removeItem(OFF);
  } catch { /* it is remembered here */ }
};

const NO_TEXT = ['button', 'checkbox', 'color', 'file', 'radio', 'range', 'reset', 'submit'];

/** @param {EventTarget | undefined} target @returns {boolean} whether keys are typed there */
const takesText = target => {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !NO_TEXT.includes(target.type);
  // The cells of a table are drawn on a canvas.
  return target.isContentEditable || target.matches('textarea, select, canvas[data-testid=data-grid-canvas]');
};

/** @param {EventTarget | undefined} target @returns {boolean} whether arrows move something there */
const takesArrows = target => takesText(target) || target instanceof Element && target.closest('input, audio, video, [role=slider], [role=radiogroup], [role=listbox], [role=tablist], [role=menu], [aria-haspopup=listbox]') !== null;

const listen = () => {
  const shared = /** @type {any} */ (window);
  if (shared.rbmvizKeys) return;
  shared.rbmvizKeys = true;
  /** @param {KeyboardEvent} event */
  const pass = event => {
    // The card of a lesson has arrows as keys; they belong to the control that has the focus, if it moves by them.
    const alone = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    if ((event.key === 'ArrowLeft' || event.key === 'ArrowRight') && alone) {
      if (localStorage.getItem(OFF) || takesArrows(event.composedPath()[0])) event.stopPropagation();
      return;
    }
    // Tab, Enter and the space bar belong to it, too.
    if (event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey) return;
    // The path tells of controls inside of our panels, too, which the document cannot see into.
    const target = event.composedPath()[0];
    if (isOff() || takesText(target)) event.stopPropagation();
    else if (target instanceof HTMLInputElement) {
      event.stopPropagation();
      const { key, code, keyCode, shiftKey, repeat } = event;
      document.body.dispatchEvent(new KeyboardEvent(event.type, { key, code, keyCode, shiftKey, repeat, bubbles: true }));
    }
  };
  document.documentElement.addEventListener('keydown', pass);
  document.documentElement.addEventListener('keyup', pass);
};

/** @param {{ data: { label: string, help: string }, parentElement: HTMLElement }} mounted */
export default ({ data, parentElement }) => {
  listen();
  const box = document.createElement('input'), label = document.createElement('label');
  box.type = 'checkbox';
  box.checked = !isOff();
  box.addEventListener('change', () => setOff(!box.checked));
  label.append(box, ` ${data.label}`);
  label.title = data.help;
  parentElement.querySelector('label')?.remove(); // and nothing else: the style is in there, too
  parentElement.append(label);
};
