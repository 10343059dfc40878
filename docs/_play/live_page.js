// @ts-check
// The live page of the site: its models are files, and another takes the page over while the reader looks on
// (live_page.py). begin.js and live.js precede this script.

/** Read a model's file, or the engine's, perhaps one that has been asked for. @param {string} name @param {(share: number) => void} [note] */
async function fetched(name, note = () => {}) {
  const { ok, body } = await (files[name] ??= fetch(`${name}.bin`));
  delete files[name];
  if (!ok || !body) throw new Error('A file of this page is missing: load it again.');
  let got = 0;
  const counted = body.pipeThrough(new TransformStream({ transform(chunk, rest) { note((got += chunk.length) / MODEL_BYTES[name]); rest.enqueue(chunk); } }));
  return readFrame(await new Response(counted.pipeThrough(new DecompressionStream('deflate'))).arrayBuffer());
}

/** A page that draws nothing before it takes over. */
class ComingPage extends LivePage {
  draw() { if (!this.host.closest('.coming')) super.draw(); }
}

class Site {
  constructor() {
    this.root = /** @type {HTMLElement} */ (document.getElementById('replay'));
    this.engine = fetched('engine').then(withKernels);
    /** @type {LivePage | null} */
    this.page = null;
    /** The model that was asked for last, and the one that follows the first. */
    this.wanted = '';
    this.second = Object.keys(MODEL_BYTES)[1];
    /** Whether the reader has done something that another model would undo. */
    this.touched = first === asked;
    this.buttons = [...this.root.querySelectorAll('.models button')].map(button => /** @type {HTMLButtonElement} */ (button));
    for (const event of ['input', 'click', 'keydown']) addEventListener(event, () => { this.touched = true; }, { capture: true });
    for (const button of this.buttons) button.onclick = () => {
      history.replaceState(null, '', `#${[...hashParts().names, `model=${button.dataset.model}`]}`);
      this.open(button.dataset.model ?? first);
    };
  }

  /** Open a model; the page before it runs until then. @param {string} name */
  async open(name) {
    this.wanted = name;
    const button = this.buttons.find(({ dataset }) => dataset.model === name), said = button?.querySelector('small') ?? element('small'), usual = said.textContent;
    try {
      if (!runsHere()) throw new Error(`${NO_VECTORS} open it in a newer one.`);
      const engine = await this.engine, model = await fetched(name, share => { said.textContent = share < 1 ? `${Math.round(100 * share)} %` : usual; });
      if (!this.touched && name === first) files[this.second] = fetch(`${this.second}.bin`); // while the first begins
      if (this.wanted === name) await this.show(engine, model);
    } catch (error) {
      noteFailure(error);
      this.root.querySelector('.models')?.after(alertOf(error));
    }
  }

  /** @param {ReturnType<typeof readFrame>} engine @param {ReturnType<typeof readFrame>} file */
  async show(engine, { request, panels: [{ blocks }] }) {
    const { page: data, heads, live, usual } = /** @type {any} */ (request), root = element('main', { id: 'replay', class: 'coming' });
    if (hashParts().names.length) for (const values of [heads[0].spec.values, live.values[0]]) for (const name in values) values[name] = usual[name];
    const frame = /** @type {any} */ ({ request: data, panels: heads.map((/** @type {any} */ head) => ({ head, blocks: {} })) });
    choosePanels(frame);
    document.body.append(root);
    const page = new ComingPage(root, frame, /** @type {any} */ ({ request: { ...engine.request, ...live }, panels: [{ blocks: { ...blocks, ...engine.panels[0].blocks } }] }), document);
    await page.fetch(page.grid.side ** 2); // the samples of the stored picture
    page.time = page.made;
    const plays = this.page?.playing ?? true;
    this.page?.close();
    this.page = page;
    const [models, doors] = ['.models', '.doors'].map(name => /** @type {HTMLElement} */ (this.root.querySelector(name))), drawing = root.querySelector('.drawing');
    root.querySelector('h1')?.after(models);
    page.transport.after(doors, ...drawing ? [drawing] : []);
    root.classList.remove('coming');
    this.root.replaceWith(root);
    this.root = root;
    for (const button of this.buttons) button.ariaPressed = String(button.dataset.model === data.model);
    page.begin(plays);
  }
}

(async () => {
  Object.assign(window, { rbmviz: SCRIPTS });
  const site = new Site(), frame = /** @type {HTMLElement | null} */ (frameElement);
  // In a frame of another page of this site: as high as the page.
  if (frame) new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight}px`; }).observe(document.body);
  await site.open(first);
  if (SCRIPTS.error || !files[site.second]) return;
  await files[site.second];
  if (!site.touched) site.open(site.second);
})();
