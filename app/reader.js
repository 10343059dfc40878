// @ts-check
// Says what this browser asks for.

/** @param {{ data: { still: boolean }, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, setTriggerValue }) => {
  if (!data.still && matchMedia('(prefers-reduced-motion: reduce)').matches) setTriggerValue('still', true);
};
