// @ts-check
// Streamlit draws every chart once before its rows arrive, and Vega then warns that scales have no extent. These
// warnings do not concern our charts: keep them out of the console, and pass on all other warnings.
(() => {
  const shared = /** @type {any} */ (window), warn = console.warn;
  if (shared.rbmvizWarn) return;
  shared.rbmvizWarn = true;
  const empty = /^Infinite extent for field .*\[Infinity, -Infinity\]$|^Log scale domain includes zero: \[(Infinity, ?-Infinity|,)\]$/;
  console.warn = (...words) => { if (words[0] !== 'WARN' || !empty.test(String(words[1]))) warn(...words); };
})();
