// @ts-check
// The equation of an algorithm, in which the terms that knobs change are marked.

/**
 * Mark a knob's terms while its control has the focus or the pointer.
 * @param {HTMLElement} control
 * @param {string} knob
 * @param {HTMLElement} node the formulas; its content may change
 */
function markTerms(control, knob, node) {
  const mark = () => {
    const on = control.matches(':hover, :focus-within');
    control.classList.toggle('marked', on);
    for (const term of node.querySelectorAll(`[data-knob="${knob}"]`)) term.classList.toggle('marked', on);
  };
  for (const name of ['focusin', 'pointerenter', 'input']) control.addEventListener(name, mark);
  // The new focus is known only after the event.
  for (const name of ['focusout', 'pointerleave']) control.addEventListener(name, () => setTimeout(mark));
}

/** An equation; formulas are side by side if there is room. */
class Equation {
  constructor() {
    this.formulas = element('div', { class: 'formulas' });
    this.node = element('div', { class: 'equation' }, this.formulas);
    this.shown = '';
    // Formulas wider than the panel can be scrolled, even with the arrow keys.
    new ResizeObserver(() => {
      if (this.formulas.scrollWidth > this.formulas.clientWidth) this.formulas.tabIndex = 0;
      else this.formulas.removeAttribute('tabindex');
    }).observe(this.formulas);
  }

  /** Show formulas, and underline the terms that these controls change. @param {string[]} formulas as MathML @param {Record<string, object>} controls by knob name */
  declare(formulas, controls) {
    this.node.hidden = !formulas.length;
    const key = formulas.join();
    if (key === this.shown) return;
    this.shown = key;
    this.formulas.replaceChildren(...formulas.map(mathml => element('div', {}, formula(mathml))));
    for (const term of this.formulas.querySelectorAll('[data-knob]')) term.classList.toggle('term', (term.getAttribute('data-knob') ?? '') in controls);
  }
}
