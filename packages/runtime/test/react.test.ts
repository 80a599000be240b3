import { test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createAgent } from './_agui.ts';
import { browser } from './_browser.ts';
import { CHAT_MS, useGuidePage } from './_guide-page.ts';
import { setupBoxes } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const chatOnPage = useGuidePage();
const agents = { desk: defineDeepAgent({ ...createAgent(), name: 'desk', interruptOn: { refund: { by: 'user' } } }) };

// Against a deployed bundle, with a key and with a user token: packages/cli/test/e2e/deployed-page.test.ts.
describeWhen(browser, 'the page of the guide at svc dev', (path) => {
  test('chats, runs tools, asks, goes on after a reload, and stops', { timeout: CHAT_MS }, async () => {
    const box = await boxes.open({ agents });
    await chatOnPage(path, {
      url: `${await box.listen()}/ui/v1/agents/desk`,
      token: 'dev',
      isCancelled: async () => {
        const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
        return run?.status === 'cancelled';
      },
    });
  });
});
