// @ts-check
// The ladder of a sampler whose replicas swap their temperatures: who is where, and how easily neighbours swap.

/**
 * What the head of a frame says of a ladder: samples so far, inverse temperatures (coldest first), shares of accepted swaps of
 * neighbours (null: none proposed), trips from the hottest to the coldest place, and the communication barrier.
 * @typedef {{ samples: number, beta: number[], swaps: (number | null)[], trips: number, barrier: number }} LadderHead
 */

/** @param {number} share @returns {string} */
const percentOf = share => `${round3(100 * share)} %`;

/** @param {LadderHead} head @param {number[][]} path places of the replicas, 0 the coldest, sample by sample @returns {[CurvesSpec, string[]]} */
function ladderChart({ samples, beta, swaps, trips, barrier }, path) {
  const n = beta.length, first = samples - path.length;
  const lines = beta.map((_, r) => lineOf('', `hsl(${360 * r / n} 70% 48%)`, path.map((places, t) => /** @type {[number, number]} */ ([first + t, places[r]])), { dash: [1, 0], width: 1.5, step: true }));
  const known = swaps.flatMap((rate, i) => (rate === null ? [] : [{ rate, i }]));
  if (!known.length) return [chartOf('The place of each replica', axisOf('Sample'), axisOf('Place'), { lines }), ['No swaps yet.']];
  const least = known.reduce((low, one) => (one.rate < low.rate ? one : low)), most = Math.max(...known.map(({ rate }) => rate));
  const said = `Neighbours swap in ${percentOf(least.rate)} (at β ${round3(beta[least.i])} and ${round3(beta[least.i + 1])}) to ${percentOf(most)} of all tries: a communication barrier of ${round3(barrier)}.`;
  const trip = `${trips ? whole.format(trips) : 'No'} ${trips === 1 ? 'replica has' : 'replicas have'} come from the hottest place to the coldest.`;
  return [chartOf('The place of each replica: 0 is the model, the highest the hottest', axisOf('Sample'), axisOf('Place', { zero: true }), { lines }), [`${said} ${trip}`]];
}
