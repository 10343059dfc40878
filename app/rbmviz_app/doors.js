// @ts-check
// The line in the first page's bar that leads newcomers to the lessons, until they close it.

/** Storage key set in this browser once the line is closed. */
const CLOSED = 'rbmviz doors closed';

/** @param {{ parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ parentElement, setTriggerValue }) => {
  if (remembered(CLOSED) || parentElement.querySelector('.line')) return;
  const leave = () => {
    remember(CLOSED, '1');
    line.remove();
  };
  const line = element('p', { class: 'line' },
    element('button', { type: 'button', class: 'open', text: 'New here?', onclick: () => { leave(); setTriggerValue('open', true); } }),
    element('button', { type: 'button', class: 'close', text: '×', title: 'Close', 'aria-label': 'Close the line for newcomers', onclick: leave }));
  parentElement.append(line);
};
