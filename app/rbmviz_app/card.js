// @ts-check
// What the card of a lesson marks on the page: a ring around what to look at. It also says aloud that it is to be seen,
// folds the card on a phone, and remembers in this browser how far each lesson has been read.

/** Where the browser remembers the steps that have been reached, by lesson. */
const KEPT = 'rbmviz lessons';

/** Milliseconds after which the ring is put again around what the page has built anew. */
const AGAIN = 500;

const MAX_STEPS = 40;

/** What a step hides until it is answered: who draws (a quiz), or what its numbers and charts say already. */
const HIDING = ['blind', 'asks'];

/** Pixels of the bar at the top of the page. */
const BAR = 60;

/** Pixels: in a narrower window the card is a sheet at its lower edge (card.css). */
const NARROW = 1000;

/** Pixels: in a window as narrow as that of a phone the parts of a panel have another order (panel.css). */
const PHONE = 640;

/** Milliseconds for which the button says that the link has been copied. */
const COPIED_MS = 2000;

/** Milliseconds for which a page that is being built may still move what the card points at. */
const SETTLE_MS = 4000;

/** Pixels between what the card points at and what stands beside it. */
const ROOM = 12;

/** Milliseconds after which the answer, which is drawn after the head, is there; on a busy machine later. */
const REVEAL_MS = [300, 1000, 2500];

/** Pixels of the line above the answer, which says whether one was right; with card.css. */
const ABOVE_ANSWER = 64;

/** @returns {Record<string, number>} */
const kept = () => {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? '{}');
    return Object.fromEntries(Object.entries(found).filter(([name, step]) => /^[a-z][a-z0-9-]{0,39}$/.test(name) && Number.isInteger(step) && step > 0 && step <= MAX_STEPS));
  } catch {
    return {};
  }
};

/** @returns {HTMLElement[]} the panels of the page, which are within components */
const panels = () => [...document.querySelectorAll('.stBidiComponent *')].flatMap(node => [...node.shadowRoot?.querySelectorAll('section.panel') ?? []]).map(node => /** @type {HTMLElement} */ (node));

/** @type {Record<string, string>} */
const CONTROLS = {
  play: '.st-key-toolbar [class*=_play] button',
  step: '.st-key-toolbar [class*=_step] button',
  reset: '.st-key-toolbar [class*=_reset] button',
  speed: '.st-key-toolbar [data-testid=stSlider]',
  presets: '.st-key-toolbar [class*=-presets-] button',
  start: '.st-key-tune-start button',
  map: '.st-key-tune-map',
  drawing: '.st-key-chain-units',
  eigenvalues: '.st-key-numbers',
};

/** @param {string} name @returns {HTMLElement | null} what is seen of a control: Streamlit keeps a hidden one beside some */
const control = name => [...document.querySelectorAll(CONTROLS[name])].map(node => /** @type {HTMLElement} */ (node)).find(node => node.checkVisibility()) ?? null;

/** @returns {boolean} whether the sweep of the page Tune has begun: what began it has gone from its row */
const hasBegun = () => document.querySelector('.st-key-sweep_row') !== null && !control('start');

/** @param {string} look @returns {HTMLElement | null} what a step points at, or what can be seen of it */
const target = look => {
  const [name, part] = look.split('.');
  if (name === 'start' && hasBegun()) return control('map');
  if (name in CONTROLS) return control(name);
  const chart = /^chart([2-9]?)$/.exec(name);
  if (chart) { // hidden, as long as the question waits for an answer
    const found = /** @type {HTMLElement | undefined} */ (document.querySelectorAll('[data-testid=stVegaLiteChart]')[Number(chart[1] || 1) - 1]);
    return found?.checkVisibility({ visibilityProperty: true }) ? found : null;
  }
  const panel = panels()[Number(name.replace('panel', '')) - 1];
  if (!panel || !part) return panel ?? null;
  const number = panel.querySelector(`[data-readout="${part}"]`)?.parentElement;
  const knob = panel.querySelector(`[id$="-${part}"]`)?.closest('.knob');
  let found = /** @type {HTMLElement | null | undefined} */ (number ?? knob);
  while (found && found !== panel && !found.checkVisibility()) found = found.parentElement;
  return found ?? panel;
};

/** @param {any} parent @param {string} html @returns {any} the element of a part of the card, made once */
const hostOf = (parent, html) => {
  let host = parent.querySelector('.host');
  if (!host) {
    host = document.createElement('div');
    host.className = 'host';
    host.innerHTML = html;
    parent.append(host);
  }
  return host;
};

/** Say by an attribute whether the card goes on below its edge. @param {HTMLElement} card @param {any} parent */
const markMore = (card, parent) => {
  const scrolled = card.parentElement;
  if (!scrolled || parent.rbmvizMore) return;
  const mark = () => card.toggleAttribute('data-more', scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight > ROOM);
  parent.rbmvizMore = new ResizeObserver(mark);
  parent.rbmvizMore.observe(card);
  parent.rbmvizMore.observe(scrolled);
  scrolled.addEventListener('scroll', mark);
};

/** Bring the answer into sight; one that is higher than the card, from its beginning. @param {HTMLElement | null} card */
const bringAnswer = card => {
  const answer = card?.querySelector('.st-key-lesson_reveal'), moves = card?.querySelector('.st-key-lesson_moves');
  if (!card?.parentElement || !answer || !moves) return;
  const room = card.parentElement.clientHeight - moves.getBoundingClientRect().height - ABOVE_ANSWER;
  answer.scrollIntoView({ block: answer.getBoundingClientRect().height > room ? 'start' : 'nearest' });
};

/** Bring the answer into sight once it is there, unless the card has been scrolled by hand since. @param {HTMLElement | null} card */
const bringAnswerOnce = card => {
  const scrolled = card?.parentElement;
  let at = scrolled?.scrollTop;
  for (const ms of REVEAL_MS) {
    setTimeout(() => {
      if (!scrolled || scrolled.scrollTop !== at) return;
      bringAnswer(card);
      at = scrolled.scrollTop;
    }, ms);
  }
};

/** The head of the card: how far the lesson is, what is to be seen, and on a phone what folds it. @param {any} data @param {any} parent */
const drawHead = (data, parent) => {
  const progress = kept();
  progress[data.lesson] = Math.max(progress[data.lesson] ?? 0, data.step);
  localStorage.setItem(KEPT, JSON.stringify(progress));
  const root = parent.getRootNode();
  const card = (root instanceof ShadowRoot ? root.host : parent).closest('.st-key-lesson');
  card?.toggleAttribute('data-seen', data.seen);
  const place = `${data.lesson} ${data.step}`;
  if (card && card.getAttribute('data-place') !== place) { // another step opens from its beginning
    card.setAttribute('data-place', place);
    card.removeAttribute('data-folded');
    if (card.parentElement) card.parentElement.scrollTop = 0;
    document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0); // so does its page
  }
  for (const what of HIDING) card?.toggleAttribute(`data-${what}`, data[what]); // card.css hides the charts
  card?.toggleAttribute('data-playing', data.playing);
  clearInterval(parent.rbmvizHides);
  const hide = () => panels().forEach(panel => HIDING.forEach(what => panel.toggleAttribute(`data-${what}`, data[what])));
  hide();
  if (HIDING.some(what => data[what])) parent.rbmvizHides = setInterval(hide, AGAIN); // panels are built later, and anew
  if (card) markMore(card, parent);
  const host = hostOf(parent, '<button class="fold" type="button"></button><span class="head"></span><button class="copy" type="button">Copy link</button><p class="said" role="status"></p>');
  const fold = host.querySelector('.fold'), copy = host.querySelector('.copy');
  copy.onclick = () => {
    const link = new URL(`learn?lesson=${data.lesson}&step=${data.step}`, location.href).href;
    // Where the page is not from this machine and not encrypted, browsers give no clipboard.
    const copied = navigator.clipboard ? navigator.clipboard.writeText(link) : Promise.reject();
    copied.then(() => { copy.textContent = 'Copied'; setTimeout(() => { copy.textContent = 'Copy link'; }, COPIED_MS); }, () => prompt('The link of this step', link));
  };
  // The answer comes at the end of the card: bring it into sight, once, where it would be below the edge.
  if (data.revealed && parent.rbmvizRevealed !== place) bringAnswerOnce(card);
  parent.rbmvizRevealed = data.revealed ? place : '';
  const name = () => { fold.textContent = card?.hasAttribute('data-folded') ? 'Open' : 'Fold'; };
  fold.onclick = () => {
    card?.toggleAttribute('data-folded');
    name();
    if (data.revealed && !card?.hasAttribute('data-folded')) bringAnswer(card); // it may have come while it was folded
  };
  name();
  host.querySelector('.head').textContent = data.head;
  const said = data.seen ? 'What this step claims is to be seen now.' : '';
  const status = host.querySelector('.said');
  if (status.textContent !== said) status.textContent = said;
};

/** What the card points at: a ring on the page, and a button that brings it into sight. @param {any} data @param {any} parent */
const drawLook = (data, parent) => {
  const button = hostOf(parent, '<button type="button"></button>').querySelector('button');
  /** @param {HTMLElement | null} found */
  const bring = found => {
    if (!found) return;
    // Between the row of controls, or the bar, and on a phone the card; a panel that is higher begins at the upper edge.
    const bar = document.querySelector('[data-testid=stLayoutWrapper]:has(> .st-key-toolbar)'), sheet = document.querySelector('[data-testid=stLayoutWrapper]:has(> .st-key-lesson)');
    const stays = bar !== null && getComputedStyle(bar).position === 'sticky';
    const top = stays ? parseFloat(getComputedStyle(bar).top) + bar.getBoundingClientRect().height : BAR;
    const bottom = innerWidth < NARROW && sheet ? innerHeight - sheet.getBoundingClientRect().top : 0;
    found.style.scrollMarginTop = `${top + ROOM}px`;
    found.style.scrollMarginBottom = `${bottom + ROOM}px`;
    const tall = found.getBoundingClientRect().height > innerHeight - top - bottom - 2 * ROOM;
    found.scrollIntoView({ block: tall ? 'start' : 'nearest' });
  };
  // A step brings it into sight by itself, and again while the page is being built; no page moves under a hand.
  if (parent.rbmvizPlace !== data.place) Object.assign(parent, { rbmvizBringsUntil: Infinity, rbmvizWaitsUntil: Infinity, rbmvizBrought: false });
  parent.rbmvizPlace = data.place;
  /** @param {Event} event */
  const leave = event => {
    const inCard = event.target instanceof Element && event.target.closest('.st-key-lesson');
    const scrolls = event.type === 'wheel' || event.type === 'touchmove'; // and Play may be what makes a chart
    if (!inCard && (ringed || scrolls)) Object.assign(parent, { rbmvizBringsUntil: 0, rbmvizWaitsUntil: 0 });
  };
  const byHand = /** @type {const} */ (['wheel', 'touchmove', 'pointerdown', 'keydown']);
  byHand.forEach(name => addEventListener(name, leave, { passive: true }));
  // On a phone what is looked at stands in sight together: numbers above their picture, or a knob below it.
  const [name, part] = data.look.split('.');
  const panelOf = () => panels()[Number(name.replace('panel', '')) - 1];
  const ofNumber = () => Boolean(part && panelOf()?.querySelector(`[data-readout="${part}"]`));
  const ofKnob = () => Boolean(part && !ofNumber());
  const order = () => panels().forEach(panel => { panel.dataset.lookAt = ofKnob() ? 'knob' : ofNumber() ? 'numbers' : 'pictures'; });
  /** @type {HTMLElement | null} */
  let ringed = null;
  const unring = () => { if (ringed) { ringed.style.outline = ''; ringed.style.outlineOffset = ''; } ringed = null; };
  button.onclick = () => bring(ofNumber() && innerWidth <= PHONE ? panelOf() : target(data.look));
  const ring = () => {
    order();
    const aimed = target(data.look);
    // What waits for an answer is hidden: until then the first panel is in sight, without a ring.
    const found = aimed?.checkVisibility({ visibilityProperty: true }) ? aimed : null;
    const first = panels()[0];
    if (aimed && !found && first && performance.now() < parent.rbmvizWaitsUntil) {
      parent.rbmvizWaitsUntil = Math.min(parent.rbmvizWaitsUntil, performance.now() + SETTLE_MS);
      bring(first);
    }
    const label = data.look.includes('.') ? (found?.querySelector('dt button') ?? found?.querySelector('label'))?.textContent : '';
    const begun = data.look === 'start' && hasBegun();
    const whole = begun ? 'the map' : data.words;
    const words = `Look here: ${label ? `“${label}” in ${whole}` : whole}`;
    if (button.textContent !== words) button.textContent = words;
    if (found && performance.now() < parent.rbmvizBringsUntil) {
      parent.rbmvizBringsUntil = Math.min(parent.rbmvizBringsUntil, performance.now() + SETTLE_MS);
      // Play, Step and Reset of a phone are always in sight: what they move is brought there.
      const stays = innerWidth <= PHONE && ['play', 'step', 'reset'].includes(data.look) && first;
      bring(ofNumber() && innerWidth <= PHONE ? panelOf() : stays || found);
      parent.rbmvizBrought = true;
    }
    // A chart of the step before is there for a moment.
    if (!aimed && parent.rbmvizBrought && performance.now() < parent.rbmvizBringsUntil) {
      parent.rbmvizBringsUntil = Infinity;
      parent.rbmvizBrought = false;
      document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0);
    }
    if (found === ringed) return;
    if (data.look === 'start' && ringed) bring(found); // from the button that has been pressed to what it fills
    unring();
    ringed = found;
    if (!found) return;
    found.style.outline = '3px solid #d97706';
    found.style.outlineOffset = '3px';
  };
  parent.rbmvizUnring?.();
  const timer = setInterval(ring, AGAIN);
  ring();
  parent.rbmvizUnring = () => { clearInterval(timer); unring(); panels().forEach(panel => { delete panel.dataset.lookAt; }); byHand.forEach(name => removeEventListener(name, leave)); };
  return () => parent.rbmvizUnring?.();
};

/** @param {{ data: any, parentElement: any, setTriggerValue: (name: string, value: unknown) => void }} mounted */
export default ({ data, parentElement, setTriggerValue }) => {
  if (data.look) return drawLook(data, parentElement);
  if (data.head) {
    drawHead(data, parentElement);
    return () => { // the card goes: what it has hidden is shown
      clearInterval(parentElement.rbmvizHides);
      panels().forEach(panel => HIDING.forEach(what => panel.removeAttribute(`data-${what}`)));
    };
  }
  // On the page of all lessons: say once what this browser remembers.
  if (!parentElement.rbmvizSent && Object.entries(kept()).some(([name, step]) => step > (data.progress[name] ?? 0))) {
    parentElement.rbmvizSent = true;
    setTriggerValue('progress', kept());
  }
  // What is said of the end of a lesson stands at the top, and the page before may have been scrolled.
  if (data.finished && !parentElement.rbmvizAtTop) document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0);
  parentElement.rbmvizAtTop = data.finished;
  return () => {};
};
