// @ts-check
// What this browser remembers of its reader. Browsers may deny storage, for example to an embedded page: then a value
// lasts as long as the page.

/** @type {Map<string, string>} */
const unsaved = new Map();

/** @param {string} key @returns {string} the value, '' if there is none */
const remembered = key => {
  try { return localStorage.getItem(key) ?? ''; } catch { return unsaved.get(key) ?? ''; }
};

/** @param {string} key @param {string} value */
const remember = (key, value) => {
  unsaved.set(key, value);
  try { localStorage.setItem(key, value); } catch { /* kept above */ }
};
