// One live slider: its value goes to the page while it is dragged.

export default ({ data, parentElement, setTriggerValue }) => {
  let dial = parentElement.rbmvizDial;
  const spec = JSON.stringify([data.knob, data.colour]);
  if (!dial || dial.spec !== spec) {
    dial?.control.node.remove();
    let timer = null;
    // Ten values a second are all that the figures can follow.
    const tell = value => { clearTimeout(timer); timer = setTimeout(() => dial.tell('value', value), 100); };
    const control = knobControl(data.knob, data.value, 'dial', tell);
    control.node.style.setProperty('--accent', data.colour);
    control.node.classList.add('alone');
    dial = parentElement.rbmvizDial = { spec, control };
    parentElement.append(control.node);
  } else dial.control.set(data.value);
  dial.tell = setTriggerValue;
  return () => { dial.control.node.remove(); parentElement.rbmvizDial = null; };
};
