// @ts-check
// The only script that writes the page's address: it replaces the address without adding a history entry.

/** Delay in milliseconds before an overwritten address is restored. */
const AGAIN = 300;

/** @typedef {Record<string, string[]>} Values */

/**
 * Data from Python: the parts of the address, and the names of the parts that belong to other pages.
 * @typedef {{ parts: Values, others: string[], cookie?: string }} Address
 */

/**
 * The address to keep while the page that requested it is open.
 * @typedef {{ path: string, values: Values }} Wanted
 * @typedef {{ rbmvizAddress?: Wanted | null, rbmvizPush?: History['pushState'] }} Shared
 */

const shared = /** @type {Shared} */ (/** @type {unknown} */ (window));

/**
 * Write a query without escaping characters that RFC 3986 allows: rates_fpcd:eps=0.1,k=2.
 * @param {URLSearchParams} wanted
 */
const readable = wanted => wanted.toString().replace(/%(?:3A|2C|3B|3D|40|2F)/g, decodeURIComponent);

// When Streamlit opens another page, it first adds the old page to the history once more, and Back would stay there.
const keepOneEntry = () => {
  if (shared.rbmvizPush) return;
  const push = shared.rbmvizPush = history.pushState;
  history.pushState = (state, title, url) => {
    const stays = new URL(url ?? '', location.href).pathname === location.pathname;
    (stays ? history.replaceState : push).call(history, state, title, url);
  };
};

/** @param {{ data: Address, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  keepOneEntry();
  const path = location.pathname;
  const secure = location.protocol === 'https:' ? '; Secure' : ''; // behind a TLS proxy, send the cookie over TLS only
  if (data.cookie) document.cookie = `${data.cookie}; path=/; max-age=31536000; SameSite=Strict${secure}`;
  const before = shared.rbmvizAddress?.path === path ? shared.rbmvizAddress.values : {};
  /** @type {Values} */
  const paused = 'paused_at' in before ? { paused_at: before.paused_at } : {}; // written by rbmviz/view/panel/base.js
  const address = { path, values: { ...data.parts, ...paused } };
  shared.rbmvizAddress = address;
  const write = () => {
    if (location.pathname !== path) return; // another page is about to replace this one
    const url = new URL(location.href), wanted = new URLSearchParams();
    // Use a fixed order, so that the same screen always has the same address.
    for (const [key, all] of Object.entries(address.values)) for (const value of all) wanted.append(key, value);
    const ours = new Set([...Object.keys(address.values), ...data.others]);
    for (const [key, value] of url.searchParams) if (!ours.has(key)) wanted.append(key, value);
    const search = readable(wanted);
    if (url.search.slice(1) === search) return;
    url.search = search;
    history.replaceState(history.state, '', url);
  };
  clearInterval(parentElement.rbmvizTimer);
  parentElement.rbmvizTimer = setInterval(write, AGAIN);
  write();
  return () => {
    clearInterval(parentElement.rbmvizTimer);
    if (shared.rbmvizAddress === address) shared.rbmvizAddress = null;
  };
};
