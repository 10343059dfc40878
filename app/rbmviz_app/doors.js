// @ts-check
// The line in the bar of the first page that leads those who are new to the lessons, until they close it.

/** Storage key of this browser's answer. */
const CLOSED = 'rbmviz doors closed';

/** @param {{ parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ parentElement, setTriggerValue }) => {
  if (remembered(CLOSED) || parentElement.querySelector('.line')) return;
  const line = document.createElement('p'), open = document.createElement('button'), close = document.createElement('button');
  line.className = 'line';
  Object.assign(open, { className: 'open', type: 'button', textContent: 'New here?' });
  Object.assign(close, { className: 'close', type: 'button', textContent: '×', title: 'Close' });
  close.setAttribute('aria-label', 'Close the line for newcomers');
  const leave = () => {
    remember(CLOSED, '1');
    line.remove();
  };
  open.onclick = () => {
    leave();
    setTriggerValue('open', true);
  };
  close.onclick = leave;
  line.append(open, close);
  parentElement.append(line);
};
