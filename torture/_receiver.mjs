// @ts-check
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * @typedef {object} Effect
 * @property {number} n      1, 2, 3 … in the order they happened
 * @property {string} key
 * @property {any} body
 * @typedef {Awaited<ReturnType<typeof startReceiver>>} Receiver
 */

/**
 * A service outside of the box, as a step calls it: what comes with an idempotency key it has seen has no effect again
 * and is answered as it was. A body may name a `hold`: its answers wait until that is released.
 */
export async function startReceiver() {
  /** @type {Map<string, Effect>} */
  const effects = new Map();
  /** @type {Map<string, { release(): void, released: Promise<void> }>} */
  const holds = new Map();
  let calls = 0;
  const holdOf = (/** @type {string} */ name) => {
    const known = holds.get(name);
    if (known) return known;
    let release = () => {};
    const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
    const hold = { release, released };
    holds.set(name, hold);
    return hold;
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    calls++;
    const key = String(request.headers['idempotency-key']);
    const body = JSON.parse(text);
    const effect = effects.get(key) ?? { n: effects.size + 1, key, body };
    effects.set(key, effect);
    if (body.hold !== undefined) await holdOf(body.hold).released;
    response.end(JSON.stringify({ n: effect.n }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    effects,
    /** Calls whose effect had happened before. */
    repeated: () => calls - effects.size,
    release: (/** @type {string} */ name) => holdOf(name).release(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
