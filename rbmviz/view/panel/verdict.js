// @ts-check
// The verdict on a chain: one line under a panel's numbers, with a mark; a click opens all that was found.

const SIGNS = { fine: '✓', unsure: '…', found: '!' };
const MEANINGS = { fine: 'Nothing found', unsure: 'Cannot tell yet', found: 'Found' };

/**
 * The part of a frame's head about the samples: a mark, a line, and each finding with its source.
 * @typedef {{ mark?: keyof typeof SIGNS, verdict?: string, findings?: [string, string][] }} VerdictHead
 */

class Verdict {
  /** @param {string} label of the panel */
  constructor(label) {
    this.sign = element('span', { class: 'sign' });
    this.line = element('span', { class: 'line' });
    this.button = element('button', { class: 'trust', type: 'button', hidden: true }, this.sign, this.line);
    this.list = element('dl', { class: 'found' });
    this.text = explain(this.button, `Can the samples of ${label} be trusted?`, element('h4', { text: 'Can these samples be trusted?' }), this.list);
    this.key = '';
  }

  /** @param {VerdictHead} head */
  draw({ mark = 'unsure', verdict = '', findings = [] }) {
    this.button.hidden = !verdict;
    const key = JSON.stringify([mark, verdict, findings]);
    if (key === this.key) return;
    this.key = key;
    this.button.dataset.mark = mark;
    this.button.title = findings[0]?.[0] ?? verdict;
    put(this.sign, SIGNS[mark]);
    put(this.line, verdict);
    this.button.setAttribute('aria-label', `${MEANINGS[mark]}: ${verdict}`);
    this.list.replaceChildren(...findings.flatMap(([said, source]) => [element('dt', { text: said }), element('dd', { text: source })]));
  }
}
