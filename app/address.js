// @ts-check
// Writes the parts of the address that no widget writes, without a new entry in the browser's history.

/** Milliseconds after which a part that Streamlit has written over stands there again. */
const AGAIN = 300;

/** @param {{ data: { page: string, parts: Record<string, string[]> }, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  const path = location.pathname, shared = /** @type {any} */ (window);
  const write = () => {
    if (location.pathname !== path) return; // another page is about to take this one's place
    const url = new URL(location.href), before = shared.rbmvizAddress;
    let changed = false;
    for (const key of before && before.page !== data.page ? before.keys : [])
      if (url.searchParams.has(key)) { url.searchParams.delete(key); changed = true; }
    for (const [key, values] of Object.entries(data.parts)) {
      if (JSON.stringify(url.searchParams.getAll(key)) === JSON.stringify(values)) continue;
      url.searchParams.delete(key);
      for (const value of values) url.searchParams.append(key, value);
      changed = true;
    }
    shared.rbmvizAddress = { page: data.page, keys: Object.keys(data.parts) };
    if (changed) history.replaceState(history.state, '', url);
  };
  clearInterval(parentElement.rbmvizTimer);
  parentElement.rbmvizTimer = setInterval(write, AGAIN);
  write();
  return () => clearInterval(parentElement.rbmvizTimer);
};
