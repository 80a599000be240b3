import { test } from 'vitest';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createAgent } from './_agui.ts';
import { browser } from './_browser.ts';
import { CHAT_MS, useGuidePage } from './_guide-page.ts';
import { call, setupBoxes } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const chatOnPage = useGuidePage();
const agents = { desk: defineDeepAgent({ ...createAgent(), name: 'desk', interruptOn: { refund: { by: 'user' } } }) };

interface ApiKey {
  id: string;
  value: string;
  userSecret: string;
}

// Against a deployed bundle: packages/cli/test/e2e/deployed-page.test.ts.
describeWhen(browser, 'the page of the guide at svc dev', (path) => {
  test.each<[string, (key: ApiKey) => string | Promise<string>]>([
    ['any text for a key', () => 'dev'],
    ['an API key', ({ value }) => value],
    ['a user token', (key) => signUserToken(key, { sub: 'ada' })],
  ])('chats with %s, runs tools, asks, goes on after a reload, and stops', { timeout: CHAT_MS }, async (_, toToken) => {
    const box = await boxes.open({ agents });
    const body = { name: 'shop', users: true, grants: { agents: ['desk'], workflows: [] } };
    const key = (await call<ApiKey>(box, 'POST /api/keys', body)).body;
    await chatOnPage(path, {
      url: `${await box.listen()}/ui/v1/agents/desk`,
      token: await toToken(key),
      isCancelled: async () => {
        const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
        return run?.status === 'cancelled';
      },
    });
  });
});
