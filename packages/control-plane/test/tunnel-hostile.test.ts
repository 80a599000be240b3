import { request as send } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ask, signUpFirst } from './_people.ts';
import { attachRawBox } from './_raw-box.ts';
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
