// @ts-check
// A single slider that sends its value to the page while dragged.

const SEND_MS = 100; // minimum time between values: the charts can follow at most ten a second

/** @param {Component} component @returns {() => void} */
export default ({ data, parentElement, setTriggerValue }) => {
  let slider = parentElement.rbmvizSlider;
  const spec = JSON.stringify([data.knob, data.colour, data.equation]);
  if (!slider || slider.spec !== spec) {
    slider?.host.remove();
    const send = paced(SEND_MS, (/** @type {KnobValue} */ value) => slider.trigger('value', value));
    const control = knobControl(data.knob, data.value, 'live-slider', send);
    control.node.classList.add('alone');
    const equation = new Equation(), host = element('div', {}, control.node, equation.node);
    equation.declare(data.equation, { [data.knob.name]: control });
    markTerms(control.node, data.knob.name, equation.formulas);
    host.style.setProperty('--accent', data.colour);
    slider = parentElement.rbmvizSlider = { spec, control, host };
    parentElement.append(host);
  } else if (!slider.control.node.matches(':focus-within')) slider.control.set(data.value);
  slider.host.classList.toggle('present', data.present);
  slider.trigger = setTriggerValue;
  return () => { slider.host.remove(); parentElement.rbmvizSlider = null; };
};
