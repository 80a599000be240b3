// @ts-check
import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/**
 * One streamed turn: how long until its first text, and until its end.
 * @param {{ url: string, headers: Record<string, string> }} way
 * @param {string} content
 * @returns {Promise<{ ms: number, firstMs: number }>}
 */
export function sendTurn({ url, headers: own }, content) {
  const body = JSON.stringify({ model: 'helper', stream: true, messages: [{ role: 'user', content }] });
  const headers = { 'content-type': 'application/json', 'content-length': body.length, ...own };
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, method: 'POST', headers }, (incoming) => {
      let firstMs = Number.NaN;
      let tail = '';
      incoming.setEncoding('utf8').on('data', (part) => {
        if (Number.isNaN(firstMs) && /"content":"[^"]/.test(part)) firstMs = performance.now() - started;
        tail = (tail + part).slice(-20);
      });
      incoming.on('end', () => {
        if (!tail.includes('[DONE]'))
          return reject(new Error(`The answer did not end: ${incoming.statusCode} ${tail}`));
        resolve({ ms: performance.now() - started, firstMs });
      });
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
