import { expect, test } from 'vitest';
import { call, finish, json, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace, describePlaces } from './_versions.ts';

// A run that goes on with the code it began with has the secrets and the configuration of today.

const boxes = setupBoxes();

/** Of a secret only its length is answered: its text would be masked. */
const READ = `const read = async () => {
  const key = await svc.secrets.get('SHOP_KEY');
  return key.length + ' ' + (await svc.config.get('carrier'));
};
`;
const FILES = (version: string) => ({
  'config.schema.ts': `import { defineDynamicConfig } from '@svc/runtime';
import { z } from 'zod';
export default defineDynamicConfig({ carrier: z.string().default('post') });
`,
  'workflows/order.workflow.ts': `import { createHook, svc } from '@svc/runtime';
${READ}
async function first() { 'use step'; return 'first-${version} ' + (await read()); }
async function last() { 'use step'; return 'last-${version} ' + (await read()); }
export async function order() {
  'use workflow';
  const done = [await first(), 'body ' + (await svc.config.get('carrier'))];
  await createHook({ token: 'go' });
  return [...done, await last(), 'body ' + (await svc.config.get('carrier'))];
}
`,
  'deep-agents/desk/index.ts': `import { defineDeepAgent, defineTool, svc } from '@svc/runtime';
import { z } from 'zod';
${READ}
const pay = defineTool({
  description: 'Pays.',
  inputSchema: z.object({}),
  execute: async () => 'pay-${version} ' + (await read()),
});
export default defineDeepAgent({ name: 'desk', tools: { pay }, interruptOn: { pay: true } });
`,
});
const OLD_KEY = 'a key of yesterday';
const NEW_KEY = 'another key, which is of today';

const setToday = async (box: TestBox, key: string, carrier: string) => {
  await box.request('/api/secrets/SHOP_KEY', { method: 'DELETE' });
  expect((await call(box, 'PUT /api/secrets/SHOP_KEY', { value: key })).status).toBeLessThan(300);
  const init = json({ value: carrier }, { method: 'PUT' });
  expect((await box.request('/api/config/carrier', init)).status).toBe(200);
};

describePlaces(boxes, 'on the code it began with', (openPlace) => {
  test('a workflow and a turn of an agent have the secret and the configuration of today', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(FILES('1'))).options });
    await setToday(first, OLD_KEY, 'rail');
    const runId = await startWorkflow(first, 'order');
    await untilStatus(first, runId, 'waiting');
    const asked = { model: 'desk', messages: [{ role: 'user', content: 'tool:pay {}; say:Done.' }] };
    await first.request('/wire-a/v1/chat/completions', json(asked, { headers: { 'x-api-key': 'any' } }));
    const { items } = (await call<{ items: { approvalId: string; runId: string }[] }>(first, 'GET /api/approvals'))
      .body;
    const [approval] = items;
    if (!approval) throw new Error('Nothing is asked.');
    await first.shut();

    const next = await open({ options: (await workspace.build(FILES('2'))).options });
    await setToday(next, NEW_KEY, 'air');
    await call(next, 'POST /api/workflows/hooks/go/resume', {});
    expect(await finish(next, runId)).toMatchObject({
      status: 'completed',
      output: [`first-1 ${OLD_KEY.length} rail`, 'body rail', `last-1 ${NEW_KEY.length} air`, 'body air'],
    });
    await call(next, `POST /api/approvals/${approval.approvalId}/decide`, { decision: 'approve' });
    expect(await finish(next, approval.runId)).toMatchObject({ status: 'completed' });
    const told = boxes.model.requests.at(-1)?.messages ?? [];
    expect(told.find(({ role }) => role === 'tool')?.content).toContain(`pay-1 ${NEW_KEY.length} air`);
  });
});
