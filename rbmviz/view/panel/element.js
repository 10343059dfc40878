// @ts-check
// Functions that create elements of the page, and queries to the browser that all scripts share.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes] 'text' sets the text; 'onclick' and the like set listeners
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children);
  return node;
};

/**
 * Return an element of a drawing (SVG).
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
const shape = (tag, attributes, ...children) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
};

/** Return an icon, which screen readers skip. @param {string} [path] in a square of 24 @returns {SVGElement} */
const icon = (path = '') => shape('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' }, shape('path', { d: path }));

/** Set a text unless it is unchanged, because screen readers would read it again. @param {HTMLElement} node @param {string} text */
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };

/**
 * Return a function that acts with the newest arguments, but at most once per interval; it never omits the last
 * change.
 * @template {unknown[]} T
 * @param {number} ms
 * @param {(...values: T) => void} act
 * @returns {(...values: T) => void}
 */
function paced(ms, act) {
  let at = -ms, timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => { at = performance.now(); act(...values); }, Math.max(at + ms - performance.now(), 0));
  };
}

/** @returns {boolean} whether the user prefers less motion */
const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** @param {KeyboardEvent} event @returns {string} the key in lower case, or '' with a modifier, because such keys belong to the browser */
const plainKey = ({ key, ctrlKey, metaKey, altKey }) => (ctrlKey || metaKey || altKey ? '' : key.toLowerCase());

/**
 * Copy a text, and say so for a moment. Browsers offer no clipboard to unencrypted pages of other machines: then they show
 * the text.
 * @param {string} text @param {HTMLElement} said where it is said @param {string} usual what stands there otherwise
 */
const copyText = (text, said, usual = '') => (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(() => {
  put(said, 'Copied');
  setTimeout(() => put(said, usual), 2000);
}, () => prompt('This browser gives no clipboard. Copy the link here:', text));

/**
 * Return the object that all components of a page share for a socket.
 * @template T
 * @param {string} name @param {string} url of the socket @param {() => T} make
 * @returns {T}
 */
const sharedFor = (name, url, make) => {
  const all = /** @type {any} */ (window)[name] ??= new Map();
  if (!all.has(url)) all.set(url, make());
  return all.get(url);
};

/** @param {unknown} error @returns {string} the error's sentence */
const sentenceOf = error => (error instanceof Error ? error.message : String(error));
