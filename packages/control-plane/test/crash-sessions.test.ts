import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { addInstallation } from './_box.ts';
import { decide, isGood, poll, refresh, startDevice } from './_oauth.ts';
import { ask, signUpFirst } from './_people.ts';
import { makeStore, STORES } from './_setup.ts';
import { canDie, Victim } from './_victim.ts';

const SECRET = 'f'.repeat(64);

describeWhen(await canDie(), 'a control plane that dies at any write', () => {
  test.each(STORES)(
    'leaves no sign-in, session, box or token half done on %s',
    async (store) => {
      const plane = new Victim({ ...(await makeStore(store)), PLANE_ALLOW_PRIVATE: '1' });
      await plane.start();
      const ada = await signUpFirst(plane);
      const countRows = async (action: string) => {
        const { items } = (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, ada)).body;
        return items.filter((row: { action: string }) => row.action === action).length;
      };

      const { device_code: code, user_code: userCode } = await startDevice(plane);
      const readStatus = async () => (await ask(plane, `GET /device?user_code=${userCode}`, ada)).body.status;
      const approvals = await plane.dieAtEach(
        () => decide(plane, ada, userCode),
        async () => expect([await readStatus(), await countRows('device.approve')]).toStrictEqual(['pending', 0]),
      );
      expect([await readStatus(), await countRows('device.approve')]).toStrictEqual(['approved', 1]);
      // The answer, the row of the log, the commit; and once a minute the session of the cookie.
      expect(approvals).toBeGreaterThanOrEqual(3);

      let tokens = { access_token: '', refresh_token: '' };
      const grants = await plane.dieAtEach(
        async () => {
          const answer = await poll(plane, code);
          tokens = answer.body;
          return answer;
        },
        async () => expect(await readStatus()).toBe('approved'),
      );
      // The code, the family, both tokens, the commit.
      expect([grants, await readStatus(), await isGood(plane, tokens)]).toStrictEqual([5, 'used', true]);

      const chain = [tokens];
      const refreshes = await plane.dieAtEach(
        async () => {
          const answer = await refresh(plane, tokens.refresh_token);
          chain[1] = answer.body;
          return answer;
        },
        async () => expect(await isGood(plane, tokens)).toBe(true),
      );
      expect([refreshes, await isGood(plane, chain[1] ?? tokens)]).toStrictEqual([5, true]);
      const last = (await refresh(plane, chain[1]?.refresh_token ?? '')).body;

      const ends = await plane.dieAtEach(
        async () => {
          const { status, ...answer } = await refresh(plane, tokens.refresh_token);
          return { ...answer, status: status === 400 ? 200 : 500 };
        },
        async () => expect([await isGood(plane, last), await countRows('cli.reuse')]).toStrictEqual([true, 0]),
      );
      expect([ends, await isGood(plane, last), await countRows('cli.reuse')]).toStrictEqual([5, false, 1]);

      const id = await addInstallation(plane, ada.cookie);
      const readDeployment = async () => (await ask(plane, `GET /api/v1/installations/${id}`, ada)).body.deployment;
      const body = { url: await serveBox(id), hmacSecret: SECRET, imageTag: 'shop:12' };
      const links = await plane.dieAtEach(
        () => ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body }),
        async () => expect([await readDeployment(), await countRows('installations.link')]).toStrictEqual([null, 0]),
      );
      expect(await countRows('installations.link')).toBe(1);
      expect(links).toBeGreaterThanOrEqual(3);
      expect(await readDeployment()).toMatchObject({ url: body.url, imageTag: 'shop:12', contract: 15 });

      const keys = (await ask(plane, 'GET /.well-known/jwks.json')).body;
      const mints = await plane.dieAtEach(
        () => ask(plane, `POST /api/v1/installations/${id}/token`, { ...ada, body: { use: 'operate' } }),
        async () => expect((await ask(plane, 'GET /.well-known/jwks.json')).body).toStrictEqual(keys),
      );
      expect(await countRows('identity.mint')).toBe(1);
      expect(mints).toBeGreaterThanOrEqual(1);
    },
    300_000,
  );
});

// --- internal ---

/** What a box says to whoever registers it. */
async function serveBox(installationId: string): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { nonce = '' } = JSON.parse(body || '{}') as { nonce?: string };
      const proof = createHmac('sha256', SECRET)
        .update(nonce + installationId)
        .digest('hex');
      response.end(JSON.stringify(nonce === '' ? { version: 15 } : { installationId, proof }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
