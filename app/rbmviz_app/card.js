// @ts-check
// Puts a ring around the target of a lesson's card. Also tells screen readers when the effect becomes visible, folds the
// card on a phone, and stores the reader's progress in each lesson in this browser.

/** Storage key of the farthest step reached in each lesson. */
const KEPT = 'rbmviz lessons';

/** Milliseconds between updates of the ring; the page may rebuild its target. */
const AGAIN = 500;

const MAX_STEPS = 40;

/** Parts that a step hides until it is answered: the algorithm (in a quiz), or the numbers and charts. */
const HIDING = ['blind', 'asks'];

/** Height of the bar at the top of the page, in pixels. */
const BAR = 60;

/** Window width in pixels below which the card is a sheet at the bottom (card.css). */
const NARROW = 1000;

/** Window width in pixels below which, on a phone, panels reorder their parts (panel.css). */
const PHONE = 640;

/** Time in milliseconds during which a page being built may still move the card's target. */
const SETTLE_MS = 4000;

/** Gap between the card's target and its neighbours, in pixels. */
const ROOM = 12;

/** Milliseconds between two looks for the answer, which is drawn after the head, and number of looks. */
const REVEAL_MS = 300, LOOKS = 10;

const shared = /** @type {{ rbmvizWentTo?: string, rbmvizPush?: History['pushState'] }} */ (/** @type {unknown} */ (window));

/** @returns {Record<string, number>} */
const kept = () => {
  try {
    const found = JSON.parse(remembered(KEPT) || '{}');
    return Object.fromEntries(Object.entries(found).filter(([name, step]) => /^[a-z][a-z0-9-]{0,39}$/.test(name) && Number.isInteger(step) && step > 0 && step <= MAX_STEPS));
  } catch {
    return {};
  }
};

/** @returns {HTMLElement[]} the panels of the page, inside their components */
const panels = () => [...document.querySelectorAll('.stBidiComponent *')].flatMap(node => [...node.shadowRoot?.querySelectorAll('section.panel') ?? []]).map(node => /** @type {HTMLElement} */ (node));

/** @type {Record<string, string>} */
const CONTROLS = {
  play: '.transport .play',
  step: ':is(.transport .step, .st-key-units_step button)',
  reset: ':is(.transport .reset, .st-key-units_reset button)',
  speed: '.st-key-toolbar [data-testid=stSlider]',
  presets: '.st-key-toolbar [class*=-presets-] button',
  start: '.st-key-tune-start button',
  map: '.st-key-tune-map',
  drawing: '.st-key-chain-units',
  eigenvalues: '.st-key-numbers',
};

/** @param {string} name @returns {HTMLElement | null} the visible element of a control; Streamlit keeps a hidden duplicate of some controls */
const control = name => [...document.querySelectorAll(CONTROLS[name])].map(node => /** @type {HTMLElement} */ (node)).find(node => node.checkVisibility()) ?? null;

/** @returns {boolean} whether the sweep of the Tune page has started, which removes its Start button */
const hasBegun = () => document.querySelector('.st-key-sweep_row') !== null && !control('start');

/** @param {string} look @returns {HTMLElement | null} the visible part of a step's target */
const target = look => {
  const [name, part] = look.split('.');
  if (name === 'start' && hasBegun()) return control('map');
  if (name in CONTROLS) return control(name);
  const chart = /^chart([2-9]?)$/.exec(name);
  if (chart) { // hidden until the question is answered
    const found = /** @type {HTMLElement | undefined} */ (document.querySelectorAll('[class*=st-key-plot-]')[Number(chart[1] || 1) - 1]);
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

/** @param {any} parent @param {string} html @returns {any} the root element of a part of the card, created on first use */
const hostOf = (parent, html) => {
  let host = parent.querySelector('.host');
  if (!host) {
    parent.append(host = element('div', { class: 'host' }));
    host.innerHTML = html;
  }
  return host;
};

/** Set an attribute that says whether the card has more text below its edge. @param {HTMLElement} card @param {any} parent */
const markMore = (card, parent) => {
  const scrolled = card.parentElement;
  if (!scrolled || parent.rbmvizUnmark) return;
  const mark = () => card.toggleAttribute('data-more', scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight > ROOM);
  const resized = new ResizeObserver(mark);
  resized.observe(card);
  resized.observe(scrolled);
  scrolled.addEventListener('scroll', mark);
  parent.rbmvizUnmark = () => { resized.disconnect(); scrolled.removeEventListener('scroll', mark); };
};

/** Scroll to the answer as soon as it is there. @param {HTMLElement | null} card @param {number} [looks] */
const bringAnswer = (card, looks = LOOKS) => {
  const answer = card?.querySelector('.st-key-lesson_reveal');
  if (answer) answer.scrollIntoView({ block: 'nearest' }); // card.css keeps room for what stays above and below
  else if (looks) setTimeout(() => bringAnswer(card, looks - 1), REVEAL_MS);
};

/** Draw the head of the card: progress, the effect to look for and, on a phone, the fold button. @param {any} data @param {any} parent */
const drawHead = (data, parent) => {
  const progress = kept();
  progress[data.lesson] = Math.max(progress[data.lesson] ?? 0, data.step);
  remember(KEPT, JSON.stringify(progress));
  const root = parent.getRootNode();
  const card = (root instanceof ShadowRoot ? root.host : parent).closest('.st-key-lesson');
  card?.toggleAttribute('data-seen', data.seen);
  const place = `${data.lesson} ${data.step}`;
  if (card && card.getAttribute('data-place') !== place) { // a new step starts at the top
    const isNext = card.hasAttribute('data-place') && card.getAttribute('data-path') === location.pathname && shared.rbmvizWentTo !== place;
    card.setAttribute('data-place', place);
    card.setAttribute('data-path', location.pathname);
    shared.rbmvizWentTo = '';
    card.removeAttribute('data-folded');
    const url = new URL(location.href); // app/address.js adds the rest with the panels; Back may be pressed before that
    for (const name of ['lesson', 'step']) url.searchParams.set(name, String(data[name]));
    // Each step is an entry of the history; Streamlit adds the entry of a step on another page.
    if (isNext) (shared.rbmvizPush ?? history.pushState).call(history, history.state, '', url);
    else history.replaceState(history.state, '', url);
    if (card.parentElement) card.parentElement.scrollTop = 0;
    document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0); // the page starts at the top, too
  }
  for (const what of HIDING) card?.toggleAttribute(`data-${what}`, data[what]); // card.css hides the charts
  card?.toggleAttribute('data-playing', data.playing);
  clearInterval(parent.rbmvizHides);
  const hide = () => panels().forEach(panel => HIDING.forEach(what => panel.toggleAttribute(`data-${what}`, data[what])));
  hide();
  if (HIDING.some(what => data[what])) parent.rbmvizHides = setInterval(hide, AGAIN); // panels are built later, and may be rebuilt
  if (card) markMore(card, parent);
  const host = hostOf(parent, '<button class="fold" type="button"></button><span class="head"></span><button class="copy" type="button">Copy link</button><p class="said" role="status"></p>');
  const fold = host.querySelector('.fold'), copy = host.querySelector('.copy');
  copy.onclick = () => copyText(new URL(`learn?lesson=${data.lesson}&step=${data.step}`, location.href).href, copy, 'Copy link');
  // The answer is at the end of the card: scroll to it once if it is below the edge.
  if (data.revealed && parent.rbmvizRevealed !== place) setTimeout(() => bringAnswer(card), REVEAL_MS);
  parent.rbmvizRevealed = data.revealed ? place : '';
  const name = () => { fold.textContent = card?.hasAttribute('data-folded') ? 'Open' : 'Fold'; };
  fold.onclick = () => {
    card?.toggleAttribute('data-folded');
    name();
    if (data.revealed && !card?.hasAttribute('data-folded')) bringAnswer(card); // the answer may have arrived while the card was folded
  };
  name();
  host.querySelector('.head').textContent = data.head;
  put(host.querySelector('.said'), data.seen ? 'You can now see what this step claims.' : '');
};

/** Draw a ring around the card's target, and a button that scrolls to the target. @param {any} data @param {any} parent */
const drawLook = (data, parent) => {
  const button = hostOf(parent, '<button type="button"></button>').querySelector('button');
  /** @param {HTMLElement | null} found */
  const bring = found => {
    if (!found) return;
    // Fit the target between the row of controls (or the bar) and, on a phone, the card; a taller panel starts at the top.
    const bar = document.querySelector('[data-testid=stLayoutWrapper]:has(> .st-key-toolbar)'), sheet = document.querySelector('[data-testid=stLayoutWrapper]:has(> .st-key-lesson)');
    const stays = bar !== null && getComputedStyle(bar).position === 'sticky';
    const top = stays ? parseFloat(getComputedStyle(bar).top) + bar.getBoundingClientRect().height : BAR;
    const bottom = innerWidth < NARROW && sheet ? innerHeight - sheet.getBoundingClientRect().top : 0;
    found.style.scrollMarginTop = `${top + ROOM}px`;
    found.style.scrollMarginBottom = `${bottom + ROOM}px`;
    const tall = found.getBoundingClientRect().height > innerHeight - top - bottom - 2 * ROOM;
    found.scrollIntoView({ block: tall ? 'start' : 'nearest' });
  };
  // A new step scrolls to its target, and again while the page is being built, but never against the user's scrolling.
  if (parent.rbmvizPlace !== data.place) parent.rbmvizBringsUntil = Infinity;
  parent.rbmvizPlace = data.place;
  /** @param {Event} event */
  const leave = event => {
    const inCard = event.target instanceof Element && event.target.closest('.st-key-lesson');
    const scrolls = event.type === 'wheel' || event.type === 'touchmove'; // not a press: Play may create the chart that is the target
    if (!inCard && (ringed || scrolls)) parent.rbmvizBringsUntil = 0;
  };
  const byHand = /** @type {const} */ (['wheel', 'touchmove', 'pointerdown', 'keydown']);
  byHand.forEach(name => addEventListener(name, leave, { passive: true }));
  // On a phone, keep related parts visible together: numbers above their picture, or a knob below it.
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
    const fold = aimed?.closest('details');
    if (fold && performance.now() < parent.rbmvizBringsUntil) fold.open = true;
    const found = aimed?.checkVisibility({ visibilityProperty: true }) ? aimed : null, first = panels()[0]; // hidden until the question is answered
    const named = found && part ? panelOf()?.querySelector(`:has(> [data-readout="${part}"]) > dt button, .knob:has([id$="-${part}"]) label`) : null;
    const label = named?.getAttribute('aria-description') ?? named?.textContent; // a large number's button shows only a question mark
    const begun = data.look === 'start' && hasBegun();
    const whole = begun ? 'the map' : data.words;
    put(button, `Look here: ${label ? `“${label}” in ${whole}` : whole}`);
    if (found && performance.now() < parent.rbmvizBringsUntil) {
      parent.rbmvizBringsUntil = Math.min(parent.rbmvizBringsUntil, performance.now() + SETTLE_MS);
      // On a phone, Play, Step and Reset are always visible: scroll to the panel that they control.
      const stays = innerWidth <= PHONE && ['play', 'step', 'reset'].includes(data.look) && first;
      bring(ofNumber() && innerWidth <= PHONE ? panelOf() : stays || found);
    }
    if (found === ringed) return;
    if (data.look === 'start' && ringed) bring(found); // move from the pressed button to the element that it fills
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
    // Back and Forward in the browser open the step in the address.
    const go = () => {
      const asked = new URLSearchParams(location.search), lesson = asked.get('lesson'), step = asked.get('step') ?? '';
      if (location.pathname !== path || !lesson || `${lesson} ${step}` === `${data.lesson} ${data.step}`) return;
      shared.rbmvizWentTo = `${lesson} ${step}`;
      setTriggerValue('step', [lesson, step]);
    };
    const path = location.pathname;
    removeEventListener('popstate', parentElement.rbmvizGo);
    addEventListener('popstate', parentElement.rbmvizGo = go);
    return () => { // the card closes: show the hidden parts
      removeEventListener('popstate', parentElement.rbmvizGo);
      clearInterval(parentElement.rbmvizHides);
      parentElement.rbmvizUnmark?.();
      panels().forEach(panel => HIDING.forEach(what => panel.removeAttribute(`data-${what}`)));
    };
  }
  // On the Learn page, report the progress stored in this browser once.
  if (!parentElement.rbmvizSent && Object.entries(kept()).some(([name, step]) => step > (data.progress[name] ?? 0))) {
    parentElement.rbmvizSent = true;
    setTriggerValue('progress', kept());
  }
  // A finished lesson's message is at the top, and the previous page may have been scrolled.
  if (data.finished && !parentElement.rbmvizAtTop) document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0);
  parentElement.rbmvizAtTop = data.finished;
  return () => {};
};
