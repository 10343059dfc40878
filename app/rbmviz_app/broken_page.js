// @ts-check
// On a machine without a free core, Streamlit may lose part of a page while another page opens. It then logs "Bad delta
// path index" and shows nothing. The address holds the state, so reload the page, at most once in ten seconds.
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
