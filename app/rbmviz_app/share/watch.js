// @ts-check
// The watchers' page: somebody else's panels, knob values, lesson card and charts, without controls. The server
// describes the page in JSON messages, and sends the pictures as frames of the live path.

/** @typedef {{ page: string, title: string, question: string, caption: Marked, away: boolean, copy: boolean }} PageMessage */
/** @typedef {{ scene: number, name: string, data: PageData | null }} CanvasMessage */

const SHARE_OVER = 4403; // close code: the token has expired
const UNSUPPORTED = 1003; // close code: this page has sent an invalid message; after any other code the page reconnects
const TRY_AGAIN_MS = [1000, 2000, 4000, 8000];
const ALIVE_MS = 20000; // interval between messages that tell the server that the page is alive
const SILENT_MS = 15000; // silence after which the server counts as gone, because it sends something every five seconds
const VOTE_MS = 550; // minimum time between two votes, because the server counts two a second
const SAY_MS = 2000; // minimum time between changes of the text read aloud

// @ts-expect-error The script that defines drawUnits also precedes this script.
/** @type {(component: Component) => () => void} */ const drawing = drawUnits;

// @ts-expect-error The table of all pages' panels precedes this script (rbmviz_app/share/page.py).
/** @type {Record<string, PanelClass>} */ const watchedPanels = PANEL_CLASSES;

class WatchPage {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.address = location.pathname.replace(/\/$/, '');
    this.state = element('p', { class: 'state' });
    this.copy = element('a', { class: 'copy', href: `${this.address}/copy`, target: '_blank', rel: 'noopener', hidden: true, text: 'Take a copy', title: 'Open your own copy of this page.' });
    this.question = element('h1', { text: 'rbmviz' });
    this.caption = element('div', { class: 'caption' });
    this.host = element('div', { class: 'panels' });
    this.nothing = element('p', { class: 'nothing', hidden: true });
    this.card = element('aside', { class: 'card', 'aria-label': 'Lesson', hidden: true });
    this.drawing = element('div', { class: 'drawing', hidden: true });
    this.charts = element('div', { class: 'charts' });
    this.spoken = element('p', { class: 'spoken', 'aria-live': 'polite' });
    root.append(element('header', { class: 'top' }, this.state, this.copy), this.question, this.caption,
      element('div', { class: 'shared' }, element('div', { class: 'live' }, this.nothing, this.host, this.drawing, this.charts), this.card), this.spoken);
    this.root = root;
    /** @type {ShownGrid | null} */
    this.grid = null;
    this.gridKey = '';
    /** The panels' descriptions, as sent by the server. @type {Map<number, PanelSpec>} */
    this.specs = new Map();
    /** Knobs by panel and name. @type {Record<string, Record<string, KnobValue>>} */
    this.knobs = {};
    /** @type {Curves[]} */
    this.curves = [];
    /** Charts that come with the frames, and the others. */
    this.live = new Parts();
    /** @type {CurvesSpec[]} */
    this.still = [];
    /** @type {WebSocket | null} */
    this.socket = null;
    this.tries = 0;
    this.over = false;
    this.heardAt = 0;
    /** Resolves after the last message: messages are processed in order, although frames are unpacked asynchronously. */
    this.taken = Promise.resolve();
    this.drawAsked = false;
    this.toSay = '';
    this.speak = paced(SAY_MS, () => {
      this.spoken.textContent = this.toSay;
      this.toSay = '';
    });
    this.title = '';
    /** The caption when the page was last drawn. @type {Marked} */
    this.drawnCaption = [];
    this.step = '';
    /** The chosen answer, its step, and the socket over which the vote was sent. */
    this.vote = { answer: -1, step: '', socket: /** @type {WebSocket | null} */ (null) };
    this.sendVote = paced(VOTE_MS, () => {
      if (this.vote.answer < 0) return; // the next step has begun
      this.vote.socket = this.socket?.readyState === WebSocket.OPEN ? this.socket : null; // otherwise the next card message sends the vote
      this.send(`vote ${this.vote.answer}`);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(root);
    document.addEventListener('visibilitychange', () => { if (!document.hidden && !this.socket && !this.over) this.connect(); });
    setInterval(() => this.beAlive(), ALIVE_MS / 4);
    this.aliveAt = 0;
    this.connect();
  }

  connect() {
    const socket = this.socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${this.address}/live`);
    socket.binaryType = 'arraybuffer';
    this.heardAt = performance.now();
    socket.onmessage = event => {
      this.tries = 0;
      this.heardAt = performance.now();
      this.taken = this.taken.then(() => this.take(event.data)).catch(error => { console.error(error); this.send('key'); });
    };
    socket.onclose = event => {
      if (socket !== this.socket) return;
      this.socket = null;
      if (event.code === SHARE_OVER || event.code === UNSUPPORTED) return this.end(event.reason || 'This view is no longer shared.');
      this.setState(event.reason || 'Connection lost: trying again.', 'lost');
      const wait = TRY_AGAIN_MS[Math.min(this.tries++, TRY_AGAIN_MS.length - 1)];
      if (!document.hidden) setTimeout(() => { if (!this.socket && !this.over) this.connect(); }, wait);
    };
  }

  /** @param {string} text */
  send(text) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
  }

  beAlive() {
    const now = performance.now();
    if (this.socket && now - this.heardAt > SILENT_MS) return this.socket.close();
    if (now - this.aliveAt < ALIVE_MS) return;
    this.aliveAt = now;
    this.send('alive');
  }

  /** @param {string} sentence the reason why nothing more will arrive */
  end(sentence) {
    this.over = true;
    this.copy.hidden = true;
    this.setState(sentence, 'over');
  }

  /** @param {string | ArrayBuffer} message */
  async take(message) {
    if (typeof message === 'string') {
      const [[kind, value]] = Object.entries(JSON.parse(message));
      if (kind === 'page') this.showPage(value);
      else if (kind === 'canvas') this.showCanvas(value);
      else if (kind === 'card') this.showCard(value);
      else if (kind === 'tile') this.grid?.loupe.take(value);
      else if (kind === 'drawing') this.showDrawing(value);
      else if (kind === 'knobs') {
        this.knobs = value;
        this.drawKnobs();
      } else if (kind === 'charts') {
        this.still = value;
        this.showCharts();
      }
      return;
    }
    const frame = readFrame(await inflated(message));
    this.live.take(frame.charts);
    if (frame.charts) {
      this.showCharts();
      this.showCaption();
    }
    this.grid?.show(frame.panels);
    const running = [...this.grid?.panels.values() ?? []].some(({ head }) => head && !['paused', 'finished', 'failed'].includes(head.status));
    this.setState(running ? 'Live' : 'Paused', running ? 'live' : 'paused');
  }

  /** @param {PageMessage} page */
  showPage({ title, question, caption, away, copy }) {
    const text = question || title;
    if (text !== this.question.textContent) this.question.textContent = text;
    document.title = `${title || 'rbmviz'}: watching`;
    this.drawnCaption = caption;
    this.showCaption();
    this.copy.hidden = !copy;
    if (away) this.setState('The shared page is closed at the moment. It continues when its tab is opened again.', 'away');
    else if (!this.grid) this.setState('Watching', 'paused');
    if (title && title !== this.title) this.say(`The page ${title} is open. ${text}`);
    this.title = title;
    this.showNothing();
  }

  // The caption of running panels comes with the frames.
  showCaption() {
    const said = this.live.newest.get('caption')?.notes[0];
    this.caption.replaceChildren(...(said ? [element('p', { text: said })] : blocksOf(this.drawnCaption)));
  }

  showNothing() {
    this.nothing.hidden = this.grid !== null || !this.title || this.curves.length > 0 || !this.drawing.hidden;
    this.nothing.textContent = `The page “${this.title}” is open now. It has no running panels to watch.`;
  }

  /** @param {object | null} units data for drawing the units of a small RBM */
  showDrawing(units) {
    this.drawing.hidden = units === null;
    if (units) drawing({ data: { ...units, watched: true }, parentElement: this.drawing, setTriggerValue: () => {} });
    this.showNothing();
  }

  /** @param {CanvasMessage} canvas */
  showCanvas({ scene, name, data }) {
    const key = `${scene} ${name}`;
    if (!data || !Object.hasOwn(watchedPanels, name)) {
      this.closeGrid();
      return this.showNothing();
    }
    this.specs = new Map(data.panels.map(spec => [spec.key, spec]));
    // Knobs are text here, so that nothing looks adjustable.
    const own = { ...WITHOUT_SERVER, ...data, panels: data.panels.map(spec => ({ ...spec, knobs: [], values: {} })) };
    for (const sheet of /** @type {NodeListOf<HTMLStyleElement>} */ (document.querySelectorAll('style[data-page]'))) sheet.disabled = !['', name].includes(sheet.dataset.page ?? '');
    if (key !== this.gridKey) {
      this.closeGrid();
      this.gridKey = key;
      this.grid = new ShownGrid(this.host, own, watchedPanels[name]);
      this.grid.askForTile = (panel, sample) => this.send(`tile ${panel} ${sample}`);
    } else this.grid?.configure(own);
    this.drawKnobs();
    this.showNothing();
  }

  closeGrid() {
    this.grid?.close();
    this.grid = null;
    this.gridKey = '';
    this.host.replaceChildren();
    this.live = new Parts();
    this.showCharts();
  }

  drawKnobs() {
    for (const [key, panel] of this.grid?.panels ?? []) {
      const values = this.knobs[key] ?? {}, known = (this.specs.get(key)?.knobs ?? []).filter(({ name }) => name in values);
      const shown = JSON.stringify(known.map(({ name, label }) => [label, values[name]]));
      if (panel.knobs.dataset.shown === shown) continue;
      panel.knobs.dataset.shown = shown;
      /** @param {KnobSpec[]} knobs */
      const list = knobs => element('dl', { class: 'knob-values' }, ...knobs.map(({ label, name }) => element('div', { 'data-knob': name }, element('dt', { text: label }), element('dd', { text: knobText(values[name]) }))));
      const front = known.filter(knob => knob.front).slice(0, panel.mostFront);
      panel.knobs.replaceChildren(list(front));
      panel.moreKnobs.replaceChildren(list(known.filter(knob => !front.includes(knob))));
    }
  }

  /** @param {string[]} answers @param {string} step @returns {HTMLElement} buttons to choose from */
  ballot(answers, step) {
    if (this.vote.step !== step) Object.assign(this.vote, { answer: -1, step });
    else if (this.vote.answer >= 0 && this.vote.socket !== this.socket) this.sendVote(); // the server forgets a vote when its connection ends
    const buttons = answers.map((text, i) => element('button', { type: 'button', text, 'aria-pressed': String(i === this.vote.answer) }));
    buttons.forEach((button, i) => button.addEventListener('click', () => {
      this.vote.answer = i;
      buttons.forEach((other, j) => other.setAttribute('aria-pressed', String(i === j)));
      this.sendVote();
    }));
    return element('div', { class: 'ballot', role: 'group', 'aria-label': 'Your answer; only its number is sent' }, ...buttons);
  }

  /** @param {CardMessage | null} card */
  showCard(card) {
    this.root.classList.toggle('with-card', card !== null);
    this.card.hidden = card === null;
    if (!card) { this.step = ''; return; }
    const step = `${card.head}. ${card.title}`;
    const answers = card.right < 0 && card.answers.length ? this.ballot(card.answers, step) : element('ul', { class: 'answers' }, ...card.answers.map((text, i) => element('li', { class: i === card.right ? 'right' : '', text: i === card.right ? `${text} (right)` : text })));
    this.card.replaceChildren(...cardParts(card, 'The teacher does this. ', answers));
    if (step !== this.step) this.say(step);
    this.step = step;
  }

  showCharts() {
    const live = [...this.live.newest.values()].filter(({ chart }) => chart), charts = [...live.map(({ chart }) => chart), ...this.still];
    while (this.curves.length < charts.length) this.curves.push(new Curves());
    this.curves.length = charts.length;
    charts.forEach((spec, i) => this.curves[i].show(spec, live[i]?.notes));
    if (this.charts.childElementCount !== charts.length) this.charts.replaceChildren(...this.curves.map(({ node }) => node));
    this.drawCharts();
    this.showNothing();
  }

  drawCharts() {
    const ink = rgb(this.spoken, 'var(--st-text-color)');
    for (const curves of this.curves) curves.draw(ink);
  }

  draw() {
    if (this.drawAsked) return;
    this.drawAsked = true;
    requestAnimationFrame(() => {
      this.drawAsked = false;
      this.grid?.draw();
      this.drawCharts();
    });
  }

  /** @param {string} text @param {'live' | 'paused' | 'away' | 'lost' | 'over'} kind */
  setState(text, kind) {
    if (this.over && kind !== 'over') return;
    this.root.dataset.state = kind;
    if (this.state.textContent === text) return;
    this.state.textContent = text;
    this.say(text === 'Live' || text === 'Paused' ? `${text}. You are watching: somebody else controls the page.` : text);
  }

  /** Announce a text to screen readers, at most every two seconds. @param {string} text */
  say(text) {
    this.toSay = this.toSay && this.toSay !== text ? `${this.toSay} ${text}` : text; // unspoken text remains, before the new text
    this.speak();
  }
}

new WatchPage(/** @type {HTMLElement} */ (document.getElementById('watch')));
