import { describe, expect, test } from 'vitest';
import { newJournalPath, outputOf, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { requestApproval } from './primitives/approval.ts';
import { listHooks } from './stores/contract/world.ts';

const bench = useBenches();

const waiting = (opened: Bench, runId: string) =>
  until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');

describe('an approval', () => {
  const code = {
    ask: async (timeout: string | undefined) =>
      requestApproval({ title: 'Ship it?', payload: { n: 1 }, ...(timeout ? { timeout } : {}) }),
  };

  test('answers what was decided, by whom and with what', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('ask');
    await waiting(opened, runId);
    const [hook] = await listHooks(opened.journal, runId);
    const event = { decision: 'approve', by: 'ada', note: 'fine', input: null, timedOut: false };
    await opened.engine.resumeHook(hook?.token ?? '', event);
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toEqual({ approved: true, ...event });
  });

  test('is decided by its fallback when the time is up, and a later decision says so', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('ask', '60ms');
    const row = await opened.engine.wait(runId, 20_000);
    expect(outputOf(row)).toMatchObject({ approved: false, decision: 'reject', by: null, timedOut: true });
    const [hook] = await listHooks(opened.journal, runId);
    expect((await opened.engine.resumeHook(hook?.token ?? '', {}))?.outcome).not.toBe('resumed');
  });

  test('that times out while no box runs is decided after the restart', async () => {
    const path = newJournalPath();
    const first = await bench(path, code);
    const { runId } = await first.start('ask', '1s');
    await waiting(first, runId);
    await first.kill();
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 20_000))).toMatchObject({ timedOut: true });
  });
});
