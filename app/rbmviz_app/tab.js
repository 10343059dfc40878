// @ts-check
// Gives this tab a key, and sends it with each connection to the server, which so finds the tab's page again after a
// reload (tabs.py). A duplicated tab gets the stored values of one that is still open, and needs a key of its own.
(() => {
  const KEY = 'rbmviz tab', LEFT = 'rbmviz tab left';
  let key = '';
  try {
    const known = sessionStorage.getItem(LEFT) || /** @type {any} */ (document).wasDiscarded ? sessionStorage.getItem(KEY) : null;
    key = known ?? [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
    sessionStorage.setItem(KEY, key);
    sessionStorage.removeItem(LEFT);
  } catch { return; } // without storage, a reload begins anew
  addEventListener('pagehide', () => sessionStorage.setItem(LEFT, 'yes'));
  addEventListener('pageshow', () => sessionStorage.removeItem(LEFT));
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    /** @param {string | URL} url @param {string | string[]} [protocols] */
    constructor(url, protocols) {
      document.cookie = `rbmviz_tab=${key}; path=/; SameSite=Strict`; // now, because all tabs have one cookie
      super(url, protocols);
    }
  };
})();
