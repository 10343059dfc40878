// @ts-check
// Writes the parts of the address that no widget writes, without a new entry in the browser's history.

/** Milliseconds after which a part that Streamlit has written over stands there again. */
const AGAIN = 300;

/** Milliseconds in which the next page comes, after Streamlit has emptied the address of the last one. */
const LEAVING = 1000;

/**
 * Let Streamlit add an entry to the browser's history for another page only.
 *
 * It adds one, too, when the server sets a widget that is bound to the address, as a preset does; and when a page
 * is left it first empties that page's address. Back would have to be pressed once for each, and would come to a
 * page without its settings.
 */
const oneEntryPerPage = () => {
  const shared = /** @type {any} */ (window);
  if (shared.rbmvizOthers) return;
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  history.pushState = (state, unused, given) => {
    const url = new URL(given ?? '', location.href), path = location.pathname;
    if (url.pathname !== path) return push(state, unused, given);
    for (const key of shared.rbmvizOthers) url.searchParams.delete(key);
    const write = () => { if (location.pathname === path) replace(state, unused, url); };
    if (url.search) write();
    else setTimeout(write, LEAVING);
  };
};

/** @typedef {{ parts: Record<string, string[]>, others: string[], cookie?: string }} Address */

/** @param {{ data: Address, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  oneEntryPerPage();
  const path = location.pathname;
  const secure = location.protocol === 'https:' ? '; Secure' : ''; // behind a proxy with TLS never without it
  if (data.cookie) document.cookie = `${data.cookie}; path=/; max-age=31536000; SameSite=Strict${secure}`;
  /** @type {any} */ (window).rbmvizOthers = data.others;
  const write = () => {
    if (location.pathname !== path) return; // another page is about to take this one's place
    const url = new URL(location.href);
    let changed = false;
    for (const key of data.others) if (url.searchParams.has(key)) { url.searchParams.delete(key); changed = true; }
    for (const [key, values] of Object.entries(data.parts)) {
      if (JSON.stringify(url.searchParams.getAll(key)) === JSON.stringify(values)) continue;
      url.searchParams.delete(key);
      for (const value of values) url.searchParams.append(key, value);
      changed = true;
    }
    if (changed) history.replaceState(history.state, '', url);
  };
  clearInterval(parentElement.rbmvizTimer);
  parentElement.rbmvizTimer = setInterval(write, AGAIN);
  write();
  return () => clearInterval(parentElement.rbmvizTimer);
};
