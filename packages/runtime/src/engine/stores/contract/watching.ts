import { describe, expect, test } from 'vitest';
import { createWaiting, ids, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

export function describeWatching(world: World): void {
  describe('how runs stand, in one statement', () => {
    const versionOf = async (id: string): Promise<string | undefined> =>
      (await world.journal.listStandings([id])).find((one) => one.id === id)?.version;

    test('a version changes with a record, a frame, a signal, a claim and the end, and with nothing else', async () => {
      const run = await start(world.journal, newRun());
      const versions = [await versionOf(run.runId)];
      const look = async () => void versions.push(await versionOf(run.runId));
      await world.journal.renew('a', 90_000);
      expect(await versionOf(run.runId)).toBe(versions[0]);
      await world.journal.chunks.write(run.runId, 1, [{ namespace: 'a', payload: '1' }]);
      await look();
      await write(world.journal, run, 1);
      await look();
      await write(world.journal, { ...run, seq: 1 }, 0, { status: 'waiting', wakeAt: 1, release: true });
      await look();
      await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 30_000 });
      await look();
      await world.journal.cancel(run.runId, '[1]', () => 'none');
      await look();
      expect(new Set(versions).size).toBe(versions.length);
    });

    test('are notified of a queued start by its trigger, also once it is a run, and of nothing that is not there', async () => {
      const serial = { key: 'k', whenTaken: 'queue' } as const;
      const first = await start(world.journal, newRun({ serial: { ...serial, triggerId: 't1' } }));
      await world.journal.create(newRun({ serial: { ...serial, triggerId: 't2' } }));
      expect(await world.journal.listStandings(['t2', 'none'])).toMatchObject([
        { id: 't2', runId: null, status: 'queued' },
      ]);
      await world.journal.cancel(first.runId, '[1]', () => 'ee000000-0000-4000-8000-000000000001');
      const [now] = await world.journal.listStandings(['t2']);
      expect(now).toMatchObject({ id: 't2', runId: 'ee000000-0000-4000-8000-000000000001', status: 'queued' });
      expect(await world.journal.listStandings([])).toStrictEqual([]);
    });

    test('thousands at once', async () => {
      const runs = await Promise.all(Array.from({ length: 1_200 }, () => start(world.journal, newRun())));
      expect(await world.journal.listStandings(ids(runs))).toHaveLength(1_200);
    });

    test('getRuns answers those there are; listEndedSince those that ended then or later, newest first', async () => {
      const runs = await Promise.all([1, 2, 3].map(() => start(world.journal, newRun())));
      await createWaiting(world.journal, null);
      const [a, b] = runs as [(typeof runs)[0], (typeof runs)[0]];
      expect(await world.journal.getRuns([a.runId, 'none'])).toStrictEqual([a]);
      await write(world.journal, a, 0, { status: 'completed' });
      const { endedAt } = await read(world.journal, a.runId);
      while ((await world.journal.now()) <= (endedAt ?? 0)) await new Promise((resolve) => setTimeout(resolve, 1));
      await write(world.journal, b, 0, { status: 'failed' });
      expect(await world.journal.listEndedSince(0, 10)).toStrictEqual([b.runId, a.runId]);
      expect(await world.journal.listEndedSince(0, 1)).toStrictEqual([b.runId]);
      expect(await world.journal.listEndedSince((endedAt ?? 0) + 1, 10)).toStrictEqual([b.runId]);
    });
  });
}
