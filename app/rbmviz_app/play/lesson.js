// @ts-check
// A lesson without a server: its card and, beside it, the step's live page or a picture. lesson_card.js, live.js and
// rbmviz/browser/claims.js precede this script.

/**
 * The card of a step (rbmviz_app/play/lesson.py).
 * @typedef {object} StepCard
 * @property {string} title
 * @property {Marked} text
 * @property {Marked} question
 * @property {string[]} answers
 * @property {number} right index of the right answer; -1 if no answer is right
 * @property {boolean} hold whether Play waits for an answer
 * @property {boolean} blind whether names are hidden until the answer
 * @property {Marked} do
 * @property {string} look
 * @property {string} look_words
 * @property {Marked} reveal
 * @property {string} formula MathML
 * @property {(any & { before: string, after: string, unit: string })[]} claims
 */
/** @typedef {{ part: 'live' | 'pairs' | 'matrix' | 'units' | 'chart', card: StepCard, page: any, heads: any[], live: any, chart: CurvesSpec }} LessonStep */

const CARD_MS = 250; // minimum time between changes of the numbers on the card

/** Format a number for the card like value_words (rbmviz_app/card.py). @param {number} value */
const numberText = value => (Math.abs(value) >= 100 || Number.isInteger(value) ? whole.format(Math.round(value)) : round3(value)).replace('-', '−');

/** The live page of one step; its card waits for answers and watches its numbers. @param {any} Page @returns {any} */
const ofStep = Page => class extends Page {
  /** @type {LessonCard | null} */
  card = null;

  get waits() { return this.card?.waits ?? false; }

  /** @param {boolean} playing */
  play(playing) { super.play(playing && !this.waits); }

  /** @param {number} samples */
  step(samples) { if (!this.waits) super.step(samples); }

  draw() {
    super.draw();
    this.card?.note();
    this.card?.lesson.root.toggleAttribute('data-playing', this.playing && !this.card.allSeen);
  }
};

const StepPage = ofStep(LivePage), StepPairs = ofStep(PairsPage);

/** The card of one step, and its reader's actions. */
class LessonCard {
  /** @param {LessonPage} lesson @param {LessonStep} step @param {string} head */
  constructor(lesson, step, head) {
    this.lesson = lesson;
    this.data = step.card;
    this.head = head;
    this.node = lesson.cardNode;
    this.answer = -1;
    this.revealed = false;
    this.watched = new WatchedClaims(step.card.claims);
    this.notedAt = -CARD_MS;
    /** @type {HTMLElement | null} */
    this.ringed = null;
    this.draw();
  }

  get asks() { return this.data.answers.length > 0 && this.answer < 0; }

  get waits() { return this.data.hold && this.asks; }

  get allSeen() { return this.data.claims.length > 0 && this.watched.allSeen; }

  get showsReveal() { return this.data.reveal.length > 0 && !this.asks && (this.revealed || this.allSeen); }

  /** @returns {{ text: string, value: string, seen: boolean }[]} the numbers to watch, which could reveal the answer */
  get lines() {
    if (this.asks) return [];
    const lines = this.data.claims.map(({ before, after, unit }, i) => {
      const { seen: { [i]: seen }, values: { [i]: value } } = this.watched;
      return { text: seen ? after : before, value: value === null ? '' : numberText(value) + (unit ? `\u00a0${unit}` : ''), seen };
    });
    return lines.filter((line, i) => lines.findIndex(other => JSON.stringify(other) === JSON.stringify(line)) === i); // two claims may concern the same number
  }

  /** Read the page's numbers. */
  note() {
    const { page } = this.lesson, now = performance.now();
    if (!page || this.asks) return;
    const revealed = this.showsReveal;
    this.watched.note(page.liveRuns.map((/** @type {LiveRun} */ { last, numbers }) => ({
      n: last, numbers: Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value])),
    })));
    if (this.showsReveal !== revealed) return this.reveal();
    if (page.playing && now - this.notedAt < CARD_MS) return;
    this.notedAt = now;
    const list = this.node.querySelector('.claims'), text = JSON.stringify(this.lines);
    if (!(list instanceof HTMLElement) || list.dataset.shown === text) return;
    list.dataset.shown = text;
    list.replaceChildren(...claimLines(this.lines));
  }

  /** Draw the card, and scroll it to the verdict, which may be below what a reader sees. */
  reveal() {
    this.draw();
    const said = this.node.querySelector('.verdict, .reveal');
    if (said instanceof HTMLElement) this.node.scrollTop = said.offsetTop - this.node.clientHeight / 4;
  }

  draw() {
    const { data, lesson, showsReveal } = this, focused = document.activeElement?.id;
    const answers = element('div', { class: 'ballot', role: 'radiogroup', 'aria-label': 'Your answer' }, ...data.answers.map((text, i) => element('button', {
      type: 'button', id: `answer-${i}`, role: 'radio', text, 'aria-checked': String(i === this.answer), 'aria-pressed': String(i === this.answer), disabled: showsReveal,
      onclick: () => { this.answer = i; this.draw(); lesson.page?.draw(); },
    })), ...(this.waits ? [element('p', { class: 'small', text: `${lesson.page ? 'Play, the numbers and the charts wait' : 'The chart waits'} for your answer.` })] : []));
    const verdict = this.answer === data.right ? 'You were right.' : `You chose “${data.answers[this.answer]}”; the answer is “${data.answers[data.right]}”.`;
    const parts = cardParts({ ...data, head: this.head, claims: this.lines, reveal: showsReveal ? data.reveal : [] }, 'Do this. ', answers);
    this.node.replaceChildren(element('button', { type: 'button', class: 'fold', text: this.node.classList.contains('folded') ? 'Unfold' : 'Fold', onclick: () => { this.node.classList.toggle('folded'); this.draw(); } }), ...parts);
    const reveal = this.node.querySelector('.reveal'), doing = this.node.querySelector('.do');
    if (reveal && data.answers.length && data.right >= 0) reveal.before(element('p', { class: this.answer === data.right ? 'verdict seen' : 'verdict', text: verdict }));
    if (reveal && data.formula) reveal.append(element('details', {}, element('summary', { text: 'Formula' }), formula(data.formula)));
    if (doing && data.look) doing.after(element('button', { type: 'button', class: 'look', text: `Look here: ${data.look_words}`, onclick: () => this.target?.scrollIntoView({ block: 'center', behavior: isCalm() ? 'auto' : 'smooth' }) }));
    if (data.reveal.length && !showsReveal && !this.asks) this.node.append(element('button', { type: 'button', class: 'reveal-button', id: 'reveal', text: 'Reveal', onclick: () => { this.revealed = true; this.reveal(); } }));
    this.node.append(lesson.moves());
    this.node.classList.toggle('all-seen', this.allSeen);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    this.hide();
    this.ring();
  }

  /** The target of the step. @returns {HTMLElement | null} */
  get target() {
    const [name, part] = this.data.look.split('.'), { page } = this.lesson;
    if (!name) return null;
    if (!name.startsWith('panel')) return this.lesson.live.querySelector(`.${name}`);
    const panel = [...page?.grid.panels.values() ?? []][Number(name.slice('panel'.length)) - 1]?.node;
    return part ? panel?.querySelector(`[data-readout="${part}"]`)?.parentElement ?? panel?.querySelector(`.knob:has([id$="-${part}"])`) ?? null : panel ?? null;
  }

  ring() {
    if (this.ringed) this.ringed.style.outline = '';
    this.ringed = this.asks ? null : this.target;
    const fold = this.ringed?.closest('details');
    if (fold) fold.open = true;
    if (this.ringed) Object.assign(this.ringed.style, { outline: '3px solid #d97706', outlineOffset: '3px' });
  }

  /** Hide numbers and names that would reveal the answer. */
  hide() {
    for (const { node } of this.lesson.page?.grid.panels.values() ?? []) {
      node.toggleAttribute('data-asks', this.waits);
      node.toggleAttribute('data-blind', this.data.blind && this.asks);
    }
    this.lesson.root.toggleAttribute('data-asks', this.waits || (this.data.blind && this.asks));
  }
}

// @ts-expect-error The script that defines drawUnits also precedes this script.
/** @type {(component: Component) => () => void} */ const drawnUnits = drawUnits;

/** A small model drawn unit by unit. */
class UnitsPage {
  /** @param {HTMLElement} root @param {UnitsSpec} spec */
  constructor(root, spec) {
    this.spec = spec;
    this.units = new DrawnUnits(spec);
    this.host = element('div', { class: 'drawing' });
    this.closing = new AbortController();
    /** @param {string} text @param {string} title @param {() => void} act */
    const button = (text, title, act) => element('button', { type: 'button', text, title, onclick: () => { act(); this.draw(); } });
    const step = () => this.units.draw(...this.units.next), again = () => { this.units = new DrawnUnits(this.spec); };
    root.append(this.host, element('div', { class: 'transport', role: 'group', 'aria-label': 'Draw' }, button('Step', 'Draw the next unit of the sweep, the one with a thick border.', step),
      button('Sweep', 'Draw all units to the end of the sweep.', () => this.units.sweep()), button('Begin again', 'Restart with the same random numbers.', again)));
    document.addEventListener('keydown', event => {
      const act = { s: step, r: again }[plainKey(event)];
      act?.();
      if (act) this.draw();
    }, { signal: this.closing.signal });
    this.draw();
  }

  draw() {
    const draw = (/** @type {string} */ _name, /** @type {any} */ { layer, unit }) => { this.units.draw(layer, unit); this.draw(); };
    drawnUnits({ data: this.units.data, parentElement: this.host, setTriggerValue: /** @type {any} */ (draw) });
  }

  close() { this.closing.abort(); }
}

class LessonPage {
  /** @param {HTMLElement} root @param {ReturnType<typeof readFrame>} frame */
  constructor(root, frame) {
    const { steps, title, contains, matrix, units, ...engine } = /** @type {any} */ (frame.request);
    /** @type {LessonStep[]} */
    this.steps = steps;
    this.title = title;
    this.contains = contains;
    this.matrix = matrix;
    this.units = units;
    this.engine = engine;
    this.frame = frame;
    this.root = root;
    root.replaceChildren();
    this.at = -1;
    /** A page of LivePage or PairsPage. @type {any} */
    this.page = null;
    /** @type {UnitsPage | null} */
    this.drawn = null;
    /** @type {LessonCard | null} */
    this.card = null;
    this.live = element('div', { class: 'live' });
    this.cardNode = element('aside', { class: 'card', 'aria-label': 'Lesson' });
    root.classList.add('with-card');
    root.append(element('div', { class: 'shared' }, this.live, this.cardNode));
    addEventListener('hashchange', () => { if (this.asked !== this.at) this.open(this.asked); });
    document.addEventListener('keydown', event => {
      const step = { b: -1, n: 1 }[plainKey(event)], onControl = event.target instanceof Element && event.target.matches('select, input');
      if (step && !onControl) this.go(this.at + step);
    });
    this.open(this.asked);
  }

  /** The step in the address, such as #3, so that a link can lead to it. */
  get asked() { return Math.min(Math.max(parseInt(location.hash.slice(1), 10) || 1, 1), this.steps.length) - 1; }

  /** @param {number} step */
  go(step) { if (step >= 0 && step < this.steps.length) location.hash = `#${step + 1}`; }

  /** Show a step in its initial state. @param {number} at */
  open(at) {
    this.page?.close();
    this.drawn?.close();
    this.page = this.drawn = null;
    this.root.toggleAttribute('data-playing', false);
    this.at = at;
    const step = this.steps[at], { page, heads, live } = step;
    this.live.replaceChildren();
    if (step.part === 'live' || step.part === 'pairs') {
      /** @type {any} */
      const data = { request: { contains: this.contains, ...page, title: this.title }, panels: heads.map((/** @type {any} */ head) => ({ head: structuredClone(head), blocks: {} })) };
      this.page = new (step.part === 'live' ? StepPage : StepPairs)(this.live, data, /** @type {any} */ ({ request: { ...this.engine, ...live }, panels: this.frame.panels }));
    } else {
      document.title = this.title;
      this.live.append(element('h1', { text: this.title }));
      if (step.part === 'units') this.drawn = new UnitsPage(this.live, this.units);
      else if (step.part === 'matrix') this.showPicture();
      else this.showChart(step.chart);
    }
    this.card = new LessonCard(this, step, `${this.title} · step\u00a0${at + 1}\u00a0of\u00a0${this.steps.length}`);
    if (this.page) {
      this.page.card = this.card;
      this.page.show(0);
    }
    scrollTo(0, 0);
    this.cardNode.scrollTop = 0;
  }

  showPicture() {
    this.live.append(element('img', { class: 'matrix', src: this.matrix, alt: 'The page How it works: a matrix, the matrix with less on its diagonal, their eigenvalues, and how both forget where they began' }),
      element('p', { class: 'small', text: 'A recorded picture of this step: in rbmviz, λ is dragged.' }));
  }

  /** @param {CurvesSpec} chart */
  showChart(chart) {
    const curves = new Curves();
    this.live.append(curves.node, element('p', { class: 'small', text: 'A recorded chart of 1,000 pairs: in rbmviz it grows as pairs are counted.' }));
    curves.show(chart);
    curves.draw(rgb(this.live, 'var(--st-text-color)'));
  }

  moves() {
    /** @param {string} text @param {number} step */
    const move = (text, step) => element('button', { type: 'button', id: text, text, disabled: step < 0 || step >= this.steps.length, onclick: () => this.go(step) });
    return element('div', { class: 'moves' }, move('Back', this.at - 1), move('Next', this.at + 1), element('button', { type: 'button', id: 'again', text: 'Again', title: 'Set the page back to the beginning of this step.', onclick: () => this.open(this.at) }));
  }
}

async function showLesson() {
  /** @type {any} */ (window).rbmviz = SCRIPTS;
  const root = /** @type {HTMLElement} */ (document.getElementById('replay'));
  try {
    if (!runsHere()) throw new Error(`${NO_VECTORS} open the lesson in a newer one.`);
    /** @type {any} */ (SCRIPTS).lesson = new LessonPage(root, await withKernels(readFrame(await unpackedFrame('lesson'))));
  } catch (error) {
    noteFailure(error);
    root.replaceChildren(alertOf(error));
  }
}

showLesson();
