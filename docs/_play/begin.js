// @ts-check
// The beginning of the site's page, which is in its HTML: it asks for the first files and unpacks the other scripts.

'use strict';
/** Bytes of each model's file. @type {Record<string, number>} */
// @ts-expect-error live_page.py writes them here.
const MODEL_BYTES = SIZES;
const asked = /[#,]model=(\w+)/.exec(location.hash)?.[1] ?? '', first = asked in MODEL_BYTES ? asked : Object.keys(MODEL_BYTES)[0];
const files = /** @type {Record<string, Promise<Response>>} */ (Object.fromEntries(['page', 'engine', first].map(name => [name, fetch(`${name}.bin`)])));
if (self !== top) document.documentElement.classList.add('embedded');
const chosen = location.hash.slice(1).split(','), stills = [...document.querySelectorAll('.still .panel')].map(panel => /** @type {HTMLElement} */ (panel));
if (stills.some(({ dataset }) => chosen.includes(dataset.sampler ?? ''))) {
  document.documentElement.classList.add('some');
  for (const still of stills) still.hidden = !chosen.includes(still.dataset.sampler ?? '');
}
document.querySelector('.still')?.classList.toggle('other', first === asked);

files.page.then(async ({ ok, body }) => {
  if (!ok || !body) throw new Error();
  const script = await new Response(body.pipeThrough(new DecompressionStream('deflate'))).blob();
  document.head.append(Object.assign(document.createElement('script'), { src: URL.createObjectURL(new Blob([script], { type: 'text/javascript' })) }));
}).catch(() => {
  document.querySelector('.still')?.append('These are stored samples: the ones that move need a web server and a browser from 2023 or later.');
});
