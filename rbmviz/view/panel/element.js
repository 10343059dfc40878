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

/** @returns {boolean} whether the user prefers less motion */
const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** @param {KeyboardEvent} event @returns {string} the key in lower case, or '' with a modifier, because such keys belong to the browser */
const plainKey = ({ key, ctrlKey, metaKey, altKey }) => (ctrlKey || metaKey || altKey ? '' : key.toLowerCase());

/** @param {string} text @returns {Promise<void>} rejected without a clipboard, which browsers do not offer to unencrypted pages of other machines */
const copyText = text => (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject());

/** @param {unknown} error @returns {string} the error's sentence */
const sentenceOf = error => (error instanceof Error ? error.message : String(error));
