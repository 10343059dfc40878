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

/** Milliseconds for which the button says that the link has been copied. */
const COPIED_MS = 2000;

/** Milliseconds for which a page that is being built may still move what the card points at. */
const SETTLE_MS = 4000;

/** Pixels between what the card points at and what stands beside it. */
const ROOM = 12;

/** Milliseconds until the answer, which is drawn after the head, is there. */
const REVEAL_MS = 300;

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
};

/** @param {string} look @returns {HTMLElement | null} what a step points at, or what can be seen of it */
const target = look => {
  const [name, part] = look.split('.');
  if (name in CONTROLS) return document.querySelector(CONTROLS[name]);
  const chart = /^chart([2-9]?)$/.exec(name);
  if (chart) return /** @type {HTMLElement | null} */ (document.querySelectorAll('[data-testid=stVegaLiteChart]')[Number(chart[1] || 1) - 1] ?? null);
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
  }
  for (const what of HIDING) card?.toggleAttribute(`data-${what}`, data[what]); // card.css hides the charts
  card?.toggleAttribute('data-playing', data.playing);
  clearInterval(parent.rbmvizHides);
  const hide = () => panels().forEach(panel => HIDING.forEach(what => panel.toggleAttribute(`data-${what}`, data[what])));
  hide();
  if (HIDING.some(what => data[what])) parent.rbmvizHides = setInterval(hide, AGAIN); // panels are built later, and anew
  if (card) markMore(card, parent);
  const host = hostOf(parent, '<button class="fold" type="button"></button><span class="head"></span> <button class="copy" type="button">Copy link</button><p class="said" role="status"></p>');
  const fold = host.querySelector('.fold'), copy = host.querySelector('.copy');
  copy.onclick = () => {
    const result = data.result ? `&result=${data.result}` : ''; // of a challenge: its characters need no quotes
    const link = new URL(`learn?lesson=${data.lesson}&step=${data.step}${result}`, location.href).href;
    // Where the page is not from this machine and not encrypted, browsers give no clipboard.
    const copied = navigator.clipboard ? navigator.clipboard.writeText(link) : Promise.reject();
    copied.then(() => { copy.textContent = 'Copied'; setTimeout(() => { copy.textContent = 'Copy link'; }, COPIED_MS); }, () => prompt('The link of this step', link));
  };
  // The answer comes at the end of the card: bring it into sight, once, where it would be below the edge.
  if (data.revealed && parent.rbmvizRevealed !== place) setTimeout(() => card?.querySelector('.st-key-lesson_reveal')?.scrollIntoView({ block: 'nearest' }), REVEAL_MS);
  parent.rbmvizRevealed = data.revealed ? place : '';
  const name = () => { fold.textContent = card?.hasAttribute('data-folded') ? 'Open' : 'Fold'; };
  fold.onclick = () => { card?.toggleAttribute('data-folded'); name(); };
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
  button.onclick = () => bring(target(data.look));
  // A step brings it into sight by itself, and again while the page is being built; no page moves under a hand.
  if (parent.rbmvizPlace !== data.place) parent.rbmvizBringsUntil = Infinity;
  parent.rbmvizPlace = data.place;
  const leave = () => { parent.rbmvizBringsUntil = 0; };
  const byHand = /** @type {const} */ (['wheel', 'touchstart', 'pointerdown', 'keydown']);
  byHand.forEach(name => addEventListener(name, leave, { passive: true }));
  /** @type {HTMLElement | null} */
  let ringed = null;
  const unring = () => { if (ringed) { ringed.style.outline = ''; ringed.style.outlineOffset = ''; } ringed = null; };
  const ring = () => {
    const found = target(data.look);
    const label = data.look.includes('.') ? (found?.querySelector('dt button') ?? found?.querySelector('label'))?.textContent : '';
    const words = `Look here: ${label ? `${label} of ${data.words}` : data.words}`;
    if (button.textContent !== words) button.textContent = words;
    if (found && performance.now() < parent.rbmvizBringsUntil) {
      parent.rbmvizBringsUntil = Math.min(parent.rbmvizBringsUntil, performance.now() + SETTLE_MS);
      bring(found);
    }
    if (found === ringed) return;
    unring();
    ringed = found;
    if (!found) return;
    found.style.outline = '3px solid #d97706';
    found.style.outlineOffset = '3px';
  };
  parent.rbmvizUnring?.();
  const timer = setInterval(ring, AGAIN);
  ring();
  parent.rbmvizUnring = () => { clearInterval(timer); unring(); byHand.forEach(name => removeEventListener(name, leave)); };
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
  return () => {};
};
