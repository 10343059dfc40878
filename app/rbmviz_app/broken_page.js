// @ts-check
// On a machine without a free core Streamlit may lose a part of a page while another one is opened. It then says "Bad delta path
// index", and shows nothing at all. The address holds the state of the screen: the page is opened again, once in ten seconds at most.
(() => {
  const shared = /** @type {any} */ (window), KEY = 'rbmviz opened again', SECONDS = 10;
  if (shared.rbmvizOpensAgain) return;
  shared.rbmvizOpensAgain = true;
  addEventListener('error', event => {
    const newest = Number(sessionStorage.getItem(KEY) ?? 0);
    if (!event.message.includes('Bad delta path') || Date.now() - newest < SECONDS * 1000) return;
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
})();
