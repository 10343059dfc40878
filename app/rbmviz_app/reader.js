// @ts-check
// Reports this browser's preferences, and handles the key that leaves a presentation.

// The key that closes a help text must not also leave the presentation.
const keepEscape = () => {
  const shared = /** @type {any} */ (window);
  if (shared.rbmvizEscape) return;
  shared.rbmvizEscape = true;
  window.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return;
    const components = [...document.querySelectorAll('.stBidiComponent *')];
    if (document.querySelector(':popover-open') || components.some(node => node.shadowRoot?.querySelector(':popover-open'))) event.stopPropagation();
  }, true);
};

/** @param {{ data: { reduced_motion: boolean }, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, setTriggerValue }) => {
  keepEscape();
  if (!data.reduced_motion && matchMedia('(prefers-reduced-motion: reduce)').matches) setTriggerValue('reduced_motion', true);
};
