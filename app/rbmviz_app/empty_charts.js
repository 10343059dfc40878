// @ts-check
// Streamlit draws every chart once before its rows are there, and Vega then warns that scales have no extent. These warnings
// say nothing about our charts, and are left out of the console; all others come through.
(() => {
  const shared = /** @type {any} */ (window), warn = console.warn;
  if (shared.rbmvizWarn) return;
  shared.rbmvizWarn = true;
  const empty = /^Infinite extent for field .*\[Infinity, -Infinity\]$|^Log scale domain includes zero: \[(Infinity, ?-Infinity|,)\]$/;
  console.warn = (...words) => { if (words[0] !== 'WARN' || !empty.test(String(words[1]))) warn(...words); };
})();
