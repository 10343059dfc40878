// @ts-check
// Creates elements of the page, and asks the browser what all scripts ask.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes] 'text' is the text; 'onclick' and the like are listeners
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
 * Return an icon, which readers of the screen skip.
 * @param {string} [path] in a square of 24
 * @returns {SVGSVGElement}
 */
const icon = (path = '') => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const drawn = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  drawn.setAttribute('d', path);
  svg.append(drawn);
  return svg;
};

/** @returns {boolean} whether less motion is preferred */
const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** @param {KeyboardEvent} event @returns {string} the key in lower case; '' with a modifier, which the browser takes */
const plainKey = ({ key, ctrlKey, metaKey, altKey }) => (ctrlKey || metaKey || altKey ? '' : key.toLowerCase());

/** @param {unknown} error @returns {string} its sentence */
const sentenceOf = error => (error instanceof Error ? error.message : String(error));
