// @ts-check
// Writes the address of a page, without a new entry in the browser's history. When a user turns a widget, Streamlit
// replaces the address, which is let through and remembered. What it writes for the server is not: it is made of what
// the server knew when the page was opened, and would bring old values back. What the server wants is written here.

/** Milliseconds after which the address stands there again, if something has written over it. */
const AGAIN = 300;

/** Milliseconds in which the next page comes, after Streamlit has emptied the address of the last one. */
const LEAVING = 1000;

/** @typedef {Record<string, string[]>} Values */

/**
 * What Python gives: parts that no widget writes, the values of the page's widgets, how often the server has taken a
 * choice of each back, names of other pages.
 * @typedef {{
 *   parts: Values, settings: Values, takenBack: Record<string, number>, others: string[], cookie?: string
 * }} Address
 */

/**
 * The address as it is to be, as long as a page is there that says so; what other pages have left in it.
 * @typedef {{ path: string, values: Values, settings: Values, takenBack: Record<string, number> }} Wanted
 * @typedef {{ rbmvizAddress?: Wanted | null, rbmvizOthers?: string[] }} Shared
 */

const shared = /** @type {Shared} */ (/** @type {unknown} */ (window));

/** @param {string[]} a @param {string[]} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Write what an address says, with the characters that RFC 3986 allows there as they are: rates_fpcd:eps=0.1,k=2.
 * @param {URLSearchParams} wanted
 */
const readable = wanted => wanted.toString().replace(/%(?:3A|2C|3B|3D|40|2F)/g, decodeURIComponent);

/**
 * Let an address have these values, in this order, so that one screen has one address; return whether it has changed.
 * @param {URL} url
 * @param {Values} values
 */
const give = (url, values) => {
  const wanted = new URLSearchParams();
  for (const [key, all] of Object.entries(values)) for (const value of all) wanted.append(key, value);
  const ours = new Set([...Object.keys(values), ...shared.rbmvizOthers ?? []]);
  for (const [key, value] of url.searchParams) if (!ours.has(key)) wanted.append(key, value);
  const before = url.search.slice(1);
  url.search = readable(wanted);
  return url.search.slice(1) !== before;
};

/**
 * Let Streamlit add an entry to the browser's history for another page only, and change the address for a user only.
 *
 * It replaces the address when a user turns a widget. When the server sets one, as a preset does, it adds an entry, with
 * all that the server took for the address until then; and when a page is left it first empties that page's address.
 * Back would have to be pressed once for each, and would come to a page without its settings.
 */
const writeAlone = () => {
  if (shared.rbmvizOthers) return; // it does so already
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  history.pushState = (state, unused, given) => {
    const url = new URL(given ?? '', location.href), path = location.pathname, address = shared.rbmvizAddress;
    if (url.pathname !== path) return push(state, unused, given);
    give(url, address?.path === path ? address.values : {});
    const write = () => { if (location.pathname === path) replace(state, unused, url); };
    if (url.search) write();
    else setTimeout(write, LEAVING);
  };
  history.replaceState = (state, unused, given) => {
    const url = new URL(given ?? '', location.href), before = new URL(location.href), address = shared.rbmvizAddress;
    if (address && url.pathname === address.path && before.pathname === address.path) {
      for (const key of Object.keys(address.settings)) {
        const values = url.searchParams.getAll(key);
        if (!same(values, before.searchParams.getAll(key))) address.values[key] = values;
      }
    }
    replace(state, unused, given);
  };
};

/** @param {{ data: Address, parentElement: any }} mounted */
export default ({ data, parentElement }) => {
  writeAlone();
  const path = location.pathname;
  const secure = location.protocol === 'https:' ? '; Secure' : ''; // behind a proxy with TLS never without it
  if (data.cookie) document.cookie = `${data.cookie}; path=/; max-age=31536000; SameSite=Strict${secure}`;
  shared.rbmvizOthers = data.others;
  const before = shared.rbmvizAddress?.path === path ? shared.rbmvizAddress : null;
  /** @type {Values} */
  const values = {};
  for (const [key, now] of Object.entries(data.settings)) {
    // A user may have turned a widget while the server was drawing: what has not changed there is no news.
    const turned = before && same(before.settings[key], now) && before.takenBack[key] === data.takenBack[key];
    values[key] = turned ? before.values[key] : now;
  }
  /** @type {Values} */
  const paused = before && 'paused_at' in before.values ? { paused_at: before.values.paused_at } : {}; // by rbmviz_app/panel/base.js
  const { settings, takenBack } = data;
  const address = { path, values: { ...data.parts, ...values, ...paused }, settings, takenBack };
  shared.rbmvizAddress = address;
  const write = () => {
    if (location.pathname !== path) return; // another page is about to take this one's place
    const url = new URL(location.href);
    if (give(url, address.values)) history.replaceState(history.state, '', url);
  };
  clearInterval(parentElement.rbmvizTimer);
  parentElement.rbmvizTimer = setInterval(write, AGAIN);
  write();
  return () => {
    clearInterval(parentElement.rbmvizTimer);
    if (shared.rbmvizAddress === address) shared.rbmvizAddress = null;
  };
};
