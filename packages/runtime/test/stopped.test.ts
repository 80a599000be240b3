import { expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { parseMetrics } from './_otlp.ts';
import { call, giveNewest, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const one = toStep('one', () => 1);
const other = toStep('other', () => 1);
const failAs = (code: string) => async () => {
  throw Object.assign(new Error('The card was declined.'), { code });
};
const waitAfter = (step: () => Promise<number>) => async () => {
  await step();
  return createHook({ token: 'go' });
};

/** A box with a run that other code has blocked. */
async function openBlocked(): Promise<{ box: TestBox; runId: string }> {
  const before = await boxes.open({ workflows: { patient: { run: waitAfter(one) } } });
  const runId = await startWorkflow(before, 'patient');
  await untilStatus(before, runId, 'waiting');
  const box = await before.restart({ workflows: { patient: { run: waitAfter(other) } }, hash: 'edited' });
  await call(box, 'POST /api/workflows/hooks/go/resume', null);
  await giveNewest(box, runId);
  await untilStatus(box, runId, 'blocked');
  return { box, runId };
}

const stopsOf = ({ logs }: TestBox) => logs.filter(({ event }) => /^runs?\./.test(String(event)));

test('of 300 runs that fail at once the log says one, and how many it left out', async () => {
  const box = await boxes.open({ workflows: { pay: { run: failAs('card_declined') } } });
  const ids = await Promise.all(Array.from({ length: 300 }, () => startWorkflow(box, 'pay')));
  await Promise.all(ids.map((runId) => untilStatus(box, runId, 'failed')));
  await box.shut();
  const [first, rest, ...more] = stopsOf(box);
  expect(first).toMatchObject({
    level: 'error',
    message: 'The run of "pay" has failed: The card was declined.',
    event: 'run.failed',
    name: 'pay',
    code: 'card_declined',
    next: `svc why ${String(first?.runId)}; then svc runs retry ${String(first?.runId)}`,
  });
  expect(ids).toContain(first?.runId);
  expect(rest).toMatchObject({
    level: 'error',
    message: '299 more runs of "pay" failed or were blocked.',
    count: 299,
    next: 'svc runs list --name pay',
  });
  expect(more).toEqual([]);
});

test('the log says that a run waits for its code; given other code, that it is blocked, by what, and what resumes it', async () => {
  const { box, runId } = await openBlocked();
  await until(() => stopsOf(box).length > 1);
  expect(stopsOf(box)).toMatchObject([
    {
      level: 'warn',
      event: 'run.waits_for_code',
      runId,
      code: 'code_not_kept',
      next: `svc why ${runId}; then svc upgrade --check`,
    },
    {
      event: 'run.blocked',
      runId,
      code: 'code_changed',
      message: expect.stringContaining('The run of "patient" is blocked: Call 0 of this run was recorded as') as string,
      next: `svc why ${runId}; then svc runs resume ${runId}`,
    },
  ]);
});

test('metrics tell poisoned runs from failed ones', async () => {
  const box = await boxes.open({
    workflows: { killed: { run: failAs('run_poisoned') }, pay: { run: failAs('card_declined') } },
  });
  for (const name of ['killed', 'pay']) await untilStatus(box, await startWorkflow(box, name), 'failed');
  const stopped = (name: string, reason: string) =>
    `svc_runs_stopped_total{svc_run_kind="workflow",svc_run_name="${name}",svc_run_reason="${reason}"}`;
  const metrics = async () => parseMetrics(await (await box.request('/metrics')).text());
  await until(async () => (await metrics()).has(stopped('pay', 'failed')));
  const found = await metrics();
  expect(found.get(stopped('killed', 'poisoned'))).toBe(1);
  expect(found.has(stopped('killed', 'failed'))).toBe(false);
});

test('metrics count what fails and is blocked, and how many are blocked now', async () => {
  const { box } = await openBlocked();
  const metrics = async () => parseMetrics(await (await box.request('/metrics')).text());
  const stopped = (reason: string) =>
    `svc_runs_stopped_total{svc_run_kind="workflow",svc_run_name="patient",svc_run_reason="${reason}"}`;
  await until(async () => (await metrics()).has(stopped('blocked')));
  const found = await metrics();
  expect(found.get(stopped('blocked'))).toBe(1);
  expect(found.get('svc_runs_blocked{svc_run_kind="workflow",svc_run_name="patient"}')).toBe(1);
});
