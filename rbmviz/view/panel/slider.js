// @ts-check
// A single slider that sends its value to the page while dragged.

const SEND_MS = 100; // the charts can follow at most ten values a second

/** @param {Component} component @returns {() => void} */
export default ({ data, parentElement, setTriggerValue }) => {
  let slider = parentElement.rbmvizSlider;
  const spec = JSON.stringify([data.knob, data.colour, data.equation]);
  if (!slider || slider.spec !== spec) {
    slider?.host.remove();
    let timer = 0, newest = data.value;
    const hand = () => { timer = 0; slider.trigger('value', newest); };
    /** @param {KnobValue} value */
    const send = value => { newest = value; timer ||= setTimeout(hand, SEND_MS); }; // a drag without a rest must not put it off
    const control = knobControl(data.knob, data.value, 'live-slider', send);
    control.node.classList.add('alone');
    const host = document.createElement('div');
    host.style.setProperty('--accent', data.colour);
    const formulas = element('div', { class: 'formulas' }, ...data.equation.map((/** @type {string} */ mathml) => element('div', {}, formula(mathml))));
    linkTerms(formulas, { [data.knob.name]: control });
    markTerms(control.node, data.knob.name, formulas);
    host.append(control.node, formulas);
    slider = parentElement.rbmvizSlider = { spec, control, host };
    parentElement.append(host);
  } else if (!slider.control.node.matches(':focus-within')) slider.control.set(data.value);
  slider.host.classList.toggle('present', data.present);
  slider.trigger = setTriggerValue;
  return () => { slider.host.remove(); parentElement.rbmvizSlider = null; };
};
