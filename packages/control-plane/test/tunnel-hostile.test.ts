import { request as send } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ask, signUpFirst } from './_people.ts';
import { attachFlood, attachRawBox } from './_raw-box.ts';
import { startPlane } from './_setup.ts';

describe('an answer with a status that is none', () => {
  test.each([
    ['099', false],
    ['000', false],
    ['099', true],
    ['103', true],
    ['600', false],
    ['999', true],
  ])(
    'of %s, being all of it: %s, is told as one that did not come, and the control plane goes on',
    async (status, isEnd) => {
      const plane = await startPlane();
      const { cookie } = await signUpFirst(plane);
      const { id } = (await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'desk' } })).body;
      const { body } = await ask(plane, `POST /api/v1/installations/${id}/tunnel`, { cookie });
      await attachRawBox({ ...body, status, isEnd });
      for (let n = 0; n < 2; n++)
        expect(await askHost(plane.url, body.publicUrl)).toEqual([
          502,
          'tunnel_closed',
          'application/json; charset=utf-8',
        ]);
      expect((await ask(plane, 'GET /live')).status).toBe(200);
    },
  );
});

describe('a box that sends without an end', () => {
  test.each(['headers', 'settings', 'pings'] as const)(
    '%s is cut off, and costs others neither time nor memory',
    async (flood) => {
      const plane = await startPlane();
      const { cookie } = await signUpFirst(plane);
      const { id } = (await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'desk' } })).body;
      const { body } = await ask(plane, `POST /api/v1/installations/${id}/tunnel`, { cookie });
      const begunAt = performance.now();
      expect((await ask(plane, 'GET /live')).status).toBe(200);
      const usual = performance.now() - begunAt;
      const before = process.memoryUsage().rss;
      const { ended } = await attachFlood(body, { flood, most: 512 * 1_048_576 });
      const asked = askHost(plane.url, body.publicUrl);
      const over = new AbortController();
      let longest = 0;
      const watched = (async () => {
        while (!over.signal.aborted) {
          const began = performance.now();
          expect((await ask(plane, 'GET /live')).status).toBe(200);
          longest = Math.max(longest, performance.now() - began);
          await new Promise((done) => setTimeout(done, 10));
        }
      })();
      const { isClosed } = await ended.finally(() => over.abort());
      await watched;
      expect(isClosed).toBe(true);
      expect(longest).toBeLessThan(Math.max(2_000, 50 * usual));
      expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1_048_576);
      expect((await asked)[0]).toBe(502);
      expect((await ask(plane, 'GET /live')).status).toBe(200);
    },
  );
});

// --- internal ---

/** What the host of a tunnel answers: status, code and type. */
function askHost(url: string, publicUrl: string): Promise<[number, string, string]> {
  return new Promise((resolve, reject) => {
    const headers = { host: new URL(publicUrl).host };
    const request = send(`${url}/live`, { headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.once('error', reject);
      response.once('end', () => {
        const { code } = JSON.parse(text || '{}') as { code: string };
        resolve([response.statusCode ?? 0, code, response.headers['content-type'] ?? '']);
      });
    });
    request.once('error', reject);
    request.end();
  });
}
