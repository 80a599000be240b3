import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { describeOnBoth } from './_both.ts';
import type { RetentionOptions } from '../src/retention/retention.ts';
import { defineConfig } from '../src/workspace-config.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

/** Two seconds, in days. */
const SOON = 2 / 86_400;

const refund = defineTool({ description: 'Pay back.', inputSchema: z.object({}), execute: () => 'paid' });

async function open(retention: RetentionOptions): Promise<{ box: TestBox; agent: string }> {
  const agent = `agent-${randomUUID().slice(0, 8)}`;
  const helper = defineDeepAgent({ name: agent, tools: { refund }, interruptOn: { refund: true } });
  const box = await boxes.open({
    agents: { [agent]: helper },
    workflows: { echo: { run: async () => 1 }, hook: { run: async () => createHook({ token: agent }) } },
    options: { retention: () => retention, retentionEveryMs: 20, engine: { sweepMs: 50 } },
  });
  return { box, agent };
}

async function say(box: TestBox, agent: string, session: string, content: string): Promise<void> {
  const headers = { 'x-api-key': 'any', 'x-svc-session': session };
  const body = { model: agent, messages: [{ role: 'user', content }] };
  await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
}

const statusOf = async (box: TestBox, path: string) => (await call(box, `GET ${path}`)).status;

describe('what is over', () => {
  test('goes with its runs once nothing has happened to a session for long enough', async () => {
    const { box, agent } = await open({ sessionDays: SOON });
    await say(box, agent, 'old', 'say:hello');
    const path = `/api/sessions/old?agent=${agent}`;
    const { sessionId } = (await call(box, `GET ${path}`)).body;
    const run = await runWorkflow(box, 'echo');
    await until(async () => (await statusOf(box, path)) === 404);
    expect((await call<{ items: object[] }>(box, `GET /api/runs?session=${sessionId}`)).body.items).toEqual([]);
    expect(await statusOf(box, `/api/runs/${run.runId}`)).toBe(200);
  });

  test('stays where a turn has not ended', async () => {
    const { box, agent } = await open({ sessionDays: SOON });
    await say(box, agent, 'open', 'tool:refund {}; say:Done.');
    await say(box, agent, 'old', 'say:hello');
    await until(async () => (await statusOf(box, `/api/sessions/old?agent=${agent}`)) === 404);
    expect(await statusOf(box, `/api/sessions/open?agent=${agent}`)).toBe(200);
  });

  test('goes when a run has ended long enough ago; one that waits stays', async () => {
    const { box } = await open({ runDays: SOON });
    const waiting = await startWorkflow(box, 'hook');
    await untilStatus(box, waiting, 'waiting');
    const run = await runWorkflow(box, 'echo');
    await until(async () => (await statusOf(box, `/api/runs/${run.runId}`)) === 404);
    expect(await statusOf(box, `/api/runs/${waiting}`)).toBe(200);
  });
});

describeOnBoth(boxes, 'a run that has ended long enough ago', (openBox) => {
  test('goes, also behind many that began as early and have not', async () => {
    const token = randomUUID();
    const hook = { run: async ({ n }: { n: number }) => createHook({ token: `${token}-${n}` }) };
    const box = await openBox({
      workflows: { hook },
      engine: { sweepMs: 50 },
      options: { retention: () => ({ runDays: 6 * SOON }), retentionEveryMs: 20 },
    });
    const resume = (n: number) => call(box, `POST /api/workflows/hooks/${token}-${n}/resume`, {});
    const old = await startWorkflow(box, 'hook', { n: -1 });
    const others = Array.from({ length: 110 }, (_, n) => n);
    const runs = await Promise.all(others.map((n) => startWorkflow(box, 'hook', { n })));
    await until(async () => (await statusesOf(box, [old, ...runs])).every((status) => status === 'waiting'));
    await resume(-1);
    const { endedAt } = await finish(box, old);
    // They end later, and most of the time is left to see them in.
    await until(() => Date.now() - Date.parse(endedAt as string) > 2_000);
    await Promise.all(others.map(resume));
    await until(async () => (await statusOf(box, `/api/runs/${old}`)) === 404);
    expect((await statusesOf(box, runs)).filter((status) => status === 'completed').length).toBeGreaterThan(100);
  });

  test('goes after a part of a day that is no whole number of milliseconds', async () => {
    const echo = { run: async () => 1 };
    const options = { retention: () => ({ runDays: SOON / 7 }), retentionEveryMs: 20 };
    const box = await openBox({ workflows: { echo }, engine: { sweepMs: 50 }, options });
    const run = await startWorkflow(box, 'echo');
    await until(async () => (await statusOf(box, `/api/runs/${run}`)) === 404);
  });
});

/** Undefined: it is gone. */
async function statusesOf(box: TestBox, runs: string[]): Promise<(string | undefined)[]> {
  return Promise.all(
    runs.map(async (runId) => (await call<{ status?: string }>(box, `GET /api/runs/${runId}`)).body.status),
  );
}

test.each([0, -1, '30'])('a retention of %j days is refused', (days) => {
  expect(() => defineConfig({ retention: { sessionDays: days as number } })).toThrow('retention.sessionDays is');
});
