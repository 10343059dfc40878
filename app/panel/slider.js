// @ts-check
// One slider by itself: its value goes to the page while it is dragged.

const SEND_MS = 100; // ten values a second are all that the charts can follow

/** @param {Component} component @returns {() => void} */
export default ({ data, parentElement, setTriggerValue }) => {
  let slider = parentElement.rbmvizSlider;
  const spec = JSON.stringify([data.knob, data.colour]);
  if (!slider || slider.spec !== spec) {
    slider?.control.node.remove();
    let timer = 0;
    /** @param {KnobValue} value */
    const send = value => { clearTimeout(timer); timer = setTimeout(() => slider.trigger('value', value), SEND_MS); };
    const control = knobControl(data.knob, data.value, 'live-slider', send);
    control.node.style.setProperty('--accent', data.colour);
    control.node.classList.add('alone');
    slider = parentElement.rbmvizSlider = { spec, control };
    parentElement.append(control.node);
  } else slider.control.set(data.value);
  slider.trigger = setTriggerValue;
  return () => { slider.control.node.remove(); parentElement.rbmvizSlider = null; };
};
