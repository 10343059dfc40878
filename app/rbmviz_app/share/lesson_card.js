// @ts-check
// The card of a lesson's step on pages without Streamlit: the watchers' page, and lessons as files.

/** @typedef {[string, string]} StyledText a style ("text", "strong", "em", "code" or "math") and a text, which is MathML if the style is "math" */
/** @typedef {{ list: '' | 'ul' | 'ol', items: StyledText[][] }[]} Marked Markdown as converted by rbmviz_app/share/prose.py */
/** @typedef {{ head: string, title: string, text: Marked, question: Marked, answers: string[], right: number, do: Marked, reveal: Marked, claims: { text: string, value: string, seen: boolean }[] }} CardMessage */

/** @param {StyledText[]} texts @returns {(Node | string)[]} */
const proseOf = texts => texts.map(([style, text]) => (style === 'math' ? formula(text) : style === 'text' ? text : element(/** @type {'em'} */ (style), { text })));

/** @param {Marked} blocks @returns {HTMLElement[]} */
const blocksOf = blocks => blocks.map(({ list, items }) => (list ? element(list, {}, ...items.map(item => element('li', {}, ...proseOf(item)))) : element('p', {}, ...proseOf(items[0]))));

/** @param {CardMessage['claims']} claims @returns {HTMLElement[]} */
const claimLines = claims => claims.map(({ text, value, seen }) => element('li', { class: seen ? 'seen' : '' }, `${seen ? '✓' : '○'} ${text}`, value ? element('strong', { text: `: ${value}` }) : ''));

/**
 * Return the parts of a card.
 * @param {CardMessage} card
 * @param {string} lead words before the task
 * @param {HTMLElement} answers
 * @returns {HTMLElement[]}
 */
const cardParts = (card, lead, answers) => [
  element('p', { class: 'head', text: card.head }), element('h2', { text: card.title }), ...blocksOf(card.text),
  element('div', { class: 'question' }, ...blocksOf(card.question)), ...(card.answers.length ? [answers] : []),
  ...(card.do.length ? [element('div', { class: 'do' }, element('strong', { text: lead }), ...blocksOf(card.do))] : []),
  ...(card.claims.length ? [element('ul', { class: 'claims' }, ...claimLines(card.claims))] : []),
  ...(card.reveal.length ? [element('div', { class: 'reveal' }, ...blocksOf(card.reveal))] : []),
];
