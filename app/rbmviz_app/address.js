// @ts-check
// Writes the address of a page in place, without a new entry in the browser's history. Nothing else writes it.

/** Milliseconds after which the address stands there again, if something has written over it. */
const AGAIN = 300;

/** @typedef {Record<string, string[]>} Values */

/**
 * What Python gives: what the address is to say, and names of other pages.
 * @typedef {{ parts: Values, others: string[], cookie?: string }} Address
 */

/**
 * The address as it is to be, as long as a page is there that says so.
 * @typedef {{ path: string, values: Values }} Wanted
 * @typedef {{ rbmvizAddress?: Wanted | null }} Shared
 */

const shared = /** @type {Shared} */ (/** @type {unknown} */ (window));

/**
 * Write what an address says, with the characters that RFC 3986 allows there as they are: rates_fpcd:eps=0.1,k=2.
 * @param {URLSearchParams} wanted
 */
const readable = wanted => wanted.toString().replace(/%(?:3A|2C|3B|3D|40|2F)/g, decodeURIComponent);

/** @param {{ data: Address, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  const path = location.pathname;
  const secure = location.protocol === 'https:' ? '; Secure' : ''; // behind a proxy with TLS never without it
  if (data.cookie) document.cookie = `${data.cookie}; path=/; max-age=31536000; SameSite=Strict${secure}`;
  const before = shared.rbmvizAddress?.path === path ? shared.rbmvizAddress.values : {};
  /** @type {Values} */
  const paused = 'paused_at' in before ? { paused_at: before.paused_at } : {}; // by rbmviz_app/panel/base.js
  const address = { path, values: { ...data.parts, ...paused } };
  shared.rbmvizAddress = address;
  const write = () => {
    if (location.pathname !== path) return; // another page is about to take this one's place
    const url = new URL(location.href), wanted = new URLSearchParams();
    // In this order, so that one screen has one address.
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
