// @ts-check
import { createServer } from 'node:http';

export const DIMENSION = 128;

/**
 * A provider of embeddings on a free port: texts that share words are near to each other.
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function startEmbeddings() {
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { input, model } = JSON.parse(Buffer.concat(parts).toString());
    const data = input.map((/** @type {string} */ text, /** @type {number} */ index) => ({
      index,
      embedding: toVector(text),
    }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ model, data, usage: { prompt_tokens: 1, total_tokens: 1 } }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/v1`, close: () => void server.close() };
}

/**
 * Words, each at places of its own; rare words count as common ones do.
 * @param {string} text
 */
export function toVector(text) {
  const vector = Array.from({ length: DIMENSION }, () => 0);
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
    for (const seed of [0x811c9dc5, 0x01000193, 0x9e3779b9]) {
      let hash = seed;
      for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
      vector[hash % DIMENSION] = (vector[hash % DIMENSION] ?? 0) + (hash & 0x10000 ? 1 : -1);
    }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => Math.round((value / length) * 1e5) / 1e5);
}
