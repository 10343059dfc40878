// @ts-check
// A live page in a notebook, shown by anywidget: the page is in a shadow root, and reports the user's actions to Python.
// The scripts of the page precede this one, within one function (rbmviz/view/widget.py).

/** @typedef {{ get(name: string): any, set(name: string, value: any): void, save_changes(): void, on(event: string, then: () => void): void }} WidgetModel */

const REPORT_MS = 400; // time between two checks for changes that Python does not know yet
const STILL_MS = 10_000; // time between two pictures for the saved notebook while the page plays

/** Give the page the notebook's theme, which is dark if its text is light. @param {HTMLElement} host */
function takeTheme(host) {
  const paint = document.createElement('canvas').getContext('2d');
  if (!host.parentElement || !paint) return;
  paint.fillStyle = getComputedStyle(host.parentElement).color;
  paint.fillRect(0, 0, 1, 1);
  const [r, g, b] = paint.getImageData(0, 0, 1, 1).data; // this reads a colour in any notation
  host.dataset.theme = 0.3 * r + 0.6 * g + 0.1 * b > 127 ? 'dark' : 'light';
}

/** The page of a widget; there is only one, however often the widget is displayed. */
class NotebookPage {
  /** @param {WidgetModel} model @param {string} style */
  constructor(model, style) {
    this.model = model;
    // Keep JupyterLab's shortcuts from taking keys that are pressed here.
    this.host = element('div', { 'data-lm-suppress-shortcuts': 'true' });
    this.root = element('div', { id: 'replay' });
    /** @type {any} */ (this.host).rbmviz = SCRIPTS; // for scripts, like window.rbmviz on a page
    this.host.attachShadow({ mode: 'open' }).append(element('style', { text: style }), this.root);
    /** @type {ReplayPage | LivePage | null} */
    this.page = null;
    this.closed = false;
    this.made = ''; // what the last picture for the saved notebook shows, and when it was taken
    this.stilled = 0;
    // What stands in for the page in a saved notebook is hidden while there is a page.
    this.hiding = element('style', { text: `.${model.get('_stand_in')} { display: none !important; }` });
    document.head.append(this.hiding);
    this.opened = this.open();
    this.themes = new MutationObserver(() => this.changeTheme());
    for (const node of [document.documentElement, document.body]) this.themes.observe(node, { attributes: true });
  }

  async open() {
    const { model, root } = this;
    try {
      this.page = await livePage(root, readFrame(await inflated(model.get('_run'))), () => inflated(model.get('_live')), root);
      if (this.live) { // Python may have set seed and knobs before the page existed
        this.reseed(this.live);
        this.turn(this.live);
      }
      this.page.begin(model.get('playing'));
    } catch (error) {
      noteFailure(error);
      root.append(alertOf(error));
    }
    if (this.closed) return this.close(); // the widget was closed while the page opened
    model.on('change:knobs', () => this.obey(page => this.turn(page)));
    model.on('change:seed', () => this.obey(page => this.reseed(page)));
    model.on('change:playing', () => this.obey(page => page.play(model.get('playing'))));
    this.reporting = setInterval(() => this.report(), REPORT_MS);
  }

  get live() { return this.page instanceof LivePage ? this.page : null; }

  /** Apply a change from Python, unless the page itself caused it. @param {(page: LivePage) => void} what */
  obey(what) { if (this.live && !this.reports) what(this.live); }

  /** @param {LivePage} page */
  reseed(page) { if (page.liveRuns[0].seed !== this.model.get('seed')) page.restart(page.seeds.indexOf(this.model.get('seed'))); }

  /** @param {LivePage} page */
  turn(page) {
    page.liveRuns.forEach((run, i) => {
      for (const [name, value] of Object.entries(this.model.get('knobs')[i])) if (run.knobs[name] !== value) page.scripts[i].set(name, value);
    });
  }

  /** Report changes to Python. */
  report() {
    const { model, live } = this;
    /** @type {Record<string, any>} */
    const now = { error: SCRIPTS.error ?? '', playing: this.page?.playing ?? false };
    if (live) {
      now.knobs = live.liveRuns.map(({ knobs, head }) => Object.fromEntries(head.spec.knobs.map(({ name }) => [name, knobs[name]])));
      now.seed = live.liveRuns[0].seed;
      const made = live.liveRuns.map(({ last }) => last);
      if (made.join() !== this.made && (!now.playing || performance.now() - this.stilled > STILL_MS)) {
        const canvases = [...this.root.querySelectorAll('.panel')].map(panel => /** @type {HTMLCanvasElement} */ (panel.querySelector('canvas')));
        if (canvases.every(({ width, height }) => width && height)) now._still = canvases.map((canvas, i) => [made[i], canvas.toDataURL()]);
        [this.made, this.stilled] = [made.join(), performance.now()];
      }
    }
    const changed = Object.entries(now).filter(([name, value]) => JSON.stringify(model.get(name)) !== JSON.stringify(value));
    if (!changed.length) return;
    this.reports = true;
    for (const [name, value] of changed) model.set(name, value);
    this.reports = false;
    model.save_changes();
  }

  changeTheme() {
    takeTheme(this.host);
    this.page?.show(this.page.time);
  }

  /** Move to this place in the notebook. @param {HTMLElement} place @returns {() => void} function that leaves the place */
  stand(place) {
    place.append(this.host);
    this.changeTheme();
    return () => {
      if (this.host.parentElement !== place) return; // the page is displayed elsewhere by now
      this.page?.play(false);
      this.host.remove();
    };
  }

  close() {
    this.closed = true;
    clearInterval(this.reporting);
    this.themes.disconnect();
    this.page?.close();
    this.host.remove();
    this.hiding.remove();
  }
}

/** @param {string} style */
function notebookWidget(style) {
  /** @type {NotebookPage | null} */
  let shown = null;
  return {
    initialize() { return () => shown?.close(); },
    /** @param {{ model: WidgetModel, el: HTMLElement }} view */
    async render({ model, el }) {
      shown ??= new NotebookPage(model, style);
      await shown.opened;
      return shown.stand(el);
    },
  };
}
