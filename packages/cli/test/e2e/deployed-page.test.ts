import { describe, expect, it } from 'vitest';
import { signUserToken } from '../../../runtime/src/client.ts';
import { browser } from '../../../runtime/test/_browser.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { CHAT_MS, useGuidePage } from '../../../runtime/test/_guide-page.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { send, useDeployed } from './_deployed.ts';
import type { Deployed } from './_deployed.ts';
import { useRig } from './_setup.ts';

const rig = useRig();
const chatOnPage = useGuidePage();

const DESK = `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';

const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const refund = defineTool({
  description: 'Refund an order.',
  inputSchema: z.object({ order: z.string(), amount: z.number() }),
  execute: ({ amount }) => ({ paid: amount }),
});
export default defineDeepAgent({ name: 'desk', tools: { add, refund }, interruptOn: { refund: { by: 'user' } } });
`;
const CONFIG = `import { defineConfig } from '@svc/runtime';

export default defineConfig({
  model: 'scripted/one',
  secrets: ['BANK_KEY'],
  studio: { corsOrigins: ['https://desk.example.com', 'https://*.shop.example'] },
});
`;

describeWhen(bothServers, 'the pages of a deployed bundle', (servers) => {
  const files = { 'deep-agents/desk/index.ts': DESK, 'svc.config.ts': CONFIG };
  const { makeEnv, boot } = useDeployed(rig, servers, files);

  describeWhen(browser, 'in a browser', (path) => {
    it.each<[string, (key: ApiKey) => Promise<string>]>([
      ['an API key', async ({ value }) => value],
      ['a user token', (key) => signUserToken(key, { sub: 'ada' })],
    ])(
      'chat with %s, run tools, ask, go on after a reload, and stop',
      async (_, toToken) => {
        const box = await boot({ env: await makeEnv() });
        await chatOnPage(path, {
          url: `${box.url}/ui/v1/agents/desk`,
          token: await toToken(await makeKey(box)),
          isCancelled: async () => (await lastTurn(box))?.status === 'cancelled',
        });
        await box.stop('SIGTERM');
      },
      CHAT_MS,
    );
  });

  it('say at their start which secrets of svc.config.ts are not set', async () => {
    const box = await boot({ env: await makeEnv() });
    const line = box
      .stderr()
      .split('\n')
      .find((text) => text.includes('lists are not set'));
    expect(JSON.parse(line ?? 'null')).toMatchObject({
      level: 'warn',
      message: 'Secrets that svc.config.ts lists are not set.',
      secrets: ['BANK_KEY'],
    });
    await box.stop('SIGTERM');
  });

  describe('of studio.corsOrigins', () => {
    it('may read its answers, beside those of the environment', async () => {
      const box = await boot({ env: await makeEnv({ SVC_CORS_ALLOW_ORIGINS: 'https://app.example.com' }) });
      const seen: [string, string | null, string | null][] = [];
      for (const origin of [
        'https://desk.example.com',
        'https://a.shop.example',
        'https://app.example.com',
        'https://other.example.com',
      ]) {
        const preflight = await box.fetch('/ui/v1/agents/desk', {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization',
          },
        });
        const answer = await send(box, 'GET /api/runs', { headers: { origin } });
        const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');
        seen.push([origin, allowed(preflight), allowed(answer)]);
      }
      expect(seen).toEqual([
        ['https://desk.example.com', 'https://desk.example.com', 'https://desk.example.com'],
        ['https://a.shop.example', 'https://a.shop.example', 'https://a.shop.example'],
        ['https://app.example.com', 'https://app.example.com', 'https://app.example.com'],
        ['https://other.example.com', null, null],
      ]);
      await box.stop('SIGTERM');
    });
  });
});

// --- internal ---

interface ApiKey {
  id: string;
  value: string;
  userSecret: string;
}

async function makeKey(box: Deployed): Promise<ApiKey> {
  const body = { name: 'shop', users: true, grants: { agents: ['desk'], workflows: [] } };
  return (await send<Record<keyof ApiKey, string>>(box, 'POST /api/keys', { body })).body;
}

async function lastTurn(box: Deployed): Promise<{ status: string } | undefined> {
  const { body } = await send<{ items: { status: string }[] }>(box, 'GET /api/runs?kind=agent&limit=1');
  return body.items[0];
}
