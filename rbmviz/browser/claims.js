// @ts-check
// Claims of a lesson's step, evaluated on the page: StepClaim.is_so and compared_with (rbmviz/lessons/claims.py), and
// _note_seen (rbmviz_app/card.py), tested against them. Python has parsed them.

/** @typedef {{ panel: number, metric: string, operator: '>' | '<' | '>=' | '<=' | '=', number: number, of: [panel: number, metric: string] | null, n: number }} Claim see StepClaim */
/** @typedef {{ n: number, numbers: Record<string, number | null> }} PanelNumbers a panel's samples, and its numbers */

/** @type {Record<Claim['operator'], (a: number, b: number) => boolean>} */
const COMPARED = { '>': (a, b) => a > b, '<': (a, b) => a < b, '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '=': (a, b) => a === b };

/** Return whether a claim holds; an unknown number holds nothing. @param {Claim} claim @param {PanelNumbers[]} panels @returns {boolean} */
function claimHolds({ panel, metric, operator, number, of }, panels) {
  const value = panels[panel].numbers[metric] ?? null, other = of ? panels[of[0]].numbers[of[1]] ?? null : 0;
  return value !== null && other !== null && COMPARED[operator](value, other + number);
}

/** The claims of one step: the number of each as it is now, or when the claim was seen to hold. */
class WatchedClaims {
  /** @param {Claim[]} claims */
  constructor(claims) {
    this.claims = claims;
    /** @type {(number | null)[]} */
    this.values = claims.map(() => null);
    this.seen = claims.map(() => false);
  }

  /** Note what the panels show: a claim is seen once all its panels have made its samples, and it holds. @param {PanelNumbers[]} panels */
  note(panels) {
    if (!panels.some(({ n }) => n)) return;
    this.claims.forEach((claim, i) => {
      if (this.seen[i]) return;
      const passed = [claim.panel, ...(claim.of ? [claim.of[0]] : [])].every(panel => panels[panel].n >= claim.n);
      this.values[i] = panels[claim.panel].numbers[claim.metric] ?? null;
      this.seen[i] = passed && claimHolds(claim, panels);
    });
  }

  get allSeen() { return this.seen.every(seen => seen); }
}
