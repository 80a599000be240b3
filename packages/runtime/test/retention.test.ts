import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { evalRunCases, evalRuns } from '../src/evals/table.ts';
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

describe('a run of a suite', () => {
  const toCase = (agent: string) => ({ name: 'greets', target: { kind: 'agent', name: agent }, input: 'say:hello' });
  const launch = async (box: TestBox, agent: string) => {
    const made = await call(box, 'POST /api/evals/cases', { ...toCase(agent), expected: 'hello' });
    const suite = `suite-${agent}`;
    const scorers = [{ type: 'exact' }];
    await call(box, 'POST /api/evals/suites', { name: suite, cases: [made.body.id], scorers });
    const { status, body } = await call(box, `POST /api/evals/suites/${suite}/run`, {});
    expect(status).toBe(202);
    return { run: `/api/evals/runs/${String(body.id)}`, suite: `/api/evals/suites/${suite}` };
  };
  /** Of live turns, of a day that has ended some minutes ago. */
  const addOnline = async (agent: string) => {
    const [id, position] = [randomUUID(), 0];
    const plan = { gates: { passRate: 1, scorers: [] }, samples: 1, concurrency: 1, timeoutMs: 1_000, model: null };
    const online = { agent, share: 1 };
    const createdAt = new Date(Date.now() - 86_400_000 - 600_000);
    const values = { id, suiteName: agent, plan: { ...plan, prompts: [], note: null, online }, planned: 1, createdAt };
    const snapshot = { ...toCase(agent), input: { message: '' }, expected: null, scorers: [], tags: [] };
    // At once: it is old enough to go.
    await boxes.db.transaction(async (tx) => {
      await tx.insert(evalRuns).values({ ...values, status: 'running', startedBy: 'the box' });
      await tx.insert(evalRunCases).values({ evalRunId: id, position, caseId: id, snapshot } as never);
    });
    return { id, run: `/api/evals/runs/${id}` };
  };
  const casesOf = (id: string) => boxes.db.select().from(evalRunCases).where(eq(evalRunCases.evalRunId, id));

  test('goes with its results when it has ended long enough ago; its suite and its cases stay', async () => {
    const { box, agent } = await open({ evalDays: SOON });
    const { run, suite } = await launch(box, agent);
    const online = await addOnline(agent);
    await until(async () => (await statusOf(box, run)) === 404 && (await statusOf(box, online.run)) === 404);
    expect(await casesOf(online.id)).toEqual([]);
    expect((await call(box, `GET ${suite}`)).body).toMatchObject({ cases: [expect.any(String)] });
  });

  test('stays where only runs go, but for one of live turns, which names what they said', async () => {
    const { box, agent } = await open({ runDays: SOON });
    const { run } = await launch(box, agent);
    const online = await addOnline(agent);
    await until(async () => (await statusOf(box, online.run)) === 404);
    await until(async () => (await statusOf(box, run.replace('/evals', ''))) === 404);
    expect((await call(box, `GET ${run}`)).body).toMatchObject({ status: 'completed', summary: { passed: 1 } });
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
    await until(() => Date.now() - Date.parse(endedAt as string) > 5_000);
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
