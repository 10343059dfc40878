// @ts-check
// The pen (rbmviz/view/pen.js, which precedes this script) as a component of the Sample page.

/** @param {{ data: PenData, parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, parentElement, setTriggerValue }) => {
  (parentElement.rbmviz ??= new Pen(parentElement)).configure(data, setTriggerValue);
  return () => { parentElement.rbmviz?.close(); parentElement.rbmviz = null; };
};
