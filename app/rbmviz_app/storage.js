// @ts-check
// Values that this browser stores about its reader. Browsers may deny storage, for example to an embedded page; a value
// then lasts as long as the page.

/** @type {Map<string, string>} */
const unsaved = new Map();

/** @param {string} key @returns {string} the stored value, or '' */
const remembered = key => {
  try { return localStorage.getItem(key) ?? ''; } catch { return unsaved.get(key) ?? ''; }
};

/** @param {string} key @param {string} value */
const remember = (key, value) => {
  unsaved.set(key, value);
  try { localStorage.setItem(key, value); } catch { /* kept above */ }
};
