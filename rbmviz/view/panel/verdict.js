// @ts-check
// The verdict on a chain: one line under a panel's numbers, with a mark; the fold has all that was found.

const SIGNS = { fine: '✓', unsure: '…', found: '!' };

/**
 * The part of a frame's head about the samples: a mark, a line, and each finding with its source.
 * @typedef {{ mark?: keyof typeof SIGNS, verdict?: string, findings?: [string, string][] }} VerdictHead
 */

class Verdict {
  constructor() {
    this.sign = element('span', { class: 'sign', 'aria-hidden': 'true' });
    this.line = element('span', { class: 'line' });
    this.node = element('p', { class: 'trust', hidden: true }, this.sign, this.line);
    this.list = element('dl', { class: 'found' });
    this.key = '';
  }

  /** @param {VerdictHead} head */
  draw({ mark = 'unsure', verdict = '', findings = [] }) {
    this.node.hidden = !verdict;
    const key = JSON.stringify([mark, verdict, findings]);
    if (key === this.key) return;
    this.key = key;
    this.node.dataset.mark = mark;
    this.node.title = findings[0]?.[0] ?? verdict;
    put(this.sign, SIGNS[mark]);
    put(this.line, verdict);
    this.list.replaceChildren(...Array.from(findings, ([said, source]) => [element('dt', { text: said }), element('dd', { text: source })]).flat()); // '' where numbers are hidden
  }
}
