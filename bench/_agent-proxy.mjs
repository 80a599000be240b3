// @ts-check
/** The least a server in front of a provider can do: hand the request on, and the stream back. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { listen } from '../packages/runtime/dist/host.mjs';
import { readConfig, serve } from './_child.mjs';

const require = createRequire(new URL('../packages/runtime/package.json', import.meta.url));
const { H3 } = await import(pathToFileURL(require.resolve('h3')).href);
const { provider } = /** @type {{ provider: string }} */ (readConfig());

const app = new H3().post('/wire-a/v1/chat/completions', async (/** @type {any} */ event) => {
  const body = await event.req.text();
  const answer = await fetch(`${provider}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return new Response(answer.body, { headers: { 'content-type': 'text/event-stream' } });
});

serve({ open: async () => (await listen(app, { port: 0, host: '127.0.0.1' })).url });
