import { describe, expect, test } from 'vitest';
import type { NewRun } from '../../journal/starts.ts';
import { newAppend, newRecord, newRun } from './records.ts';
import { start } from './world.ts';
import type { World } from './world.ts';

export function describeCode(world: World): void {
  describe('code that is kept', () => {
    const store = () => world.journal.code;
    const file = (digest: string) => ({ digest, body: `body of ${digest}` });
    const version = (codeHash: string, digests: string[], name = 'w') => ({ codeHash, name, manifest: '{}', digests });

    test('is found again, each file once whoever needs it', async () => {
      expect(await store().listMissing(['a', 'b'])).toEqual(['a', 'b']);
      expect(await store().keep(version('1', ['a', 'b']), [file('a'), file('b')])).toBe(true);
      expect(await store().listMissing(['b', 'c'])).toEqual(['c']);
      expect(await store().keep(version('2', ['b', 'c']), [file('c')])).toBe(true);
      expect(await store().find({ codeHash: '2', name: 'w' })).toEqual({ codeHash: '2', name: 'w', manifest: '{}' });
      expect(await store().find({ codeHash: '2', name: 'other' })).toBeUndefined();
      expect(await store().readFile('b')).toBe('body of b');
      expect(await store().readFile('d')).toBeUndefined();
      expect(await store().touch(['2', '3'])).toEqual([{ codeHash: '2', name: 'w', manifest: '{}' }]);
      expect(await store().touch([])).toEqual([]);
    });

    test('is listed a page at a time, and sealed anew unless that was done meanwhile', async () => {
      for (const [hash, name] of [
        ['2', 'a'],
        ['1', 'b'],
        ['1', 'a'],
      ] as const)
        await store().keep(version(hash, ['a'], name), [file('a')]);
      const idsOf = async (after?: { codeHash: string; name: string }) =>
        (await store().list({ after, limit: 2 })).map(({ codeHash, name }) => codeHash + name);
      expect(await idsOf()).toEqual(['1a', '1b']);
      expect(await idsOf({ codeHash: '1', name: 'b' })).toEqual(['2a']);
      const found = { codeHash: '1', name: 'a', manifest: '{}' };
      await store().reseal(found, 'anew');
      await store().reseal(found, 'again');
      expect(await store().find({ codeHash: '1', name: 'a' })).toEqual({ ...found, manifest: 'anew' });
      expect(await store().find({ codeHash: '1', name: 'b' })).toMatchObject({ manifest: '{}' });
    });

    test('says when a file of it is not there, and can be kept anew with it', async () => {
      expect(await store().keep(version('1', ['a', 'b']), [file('b')])).toBe(false);
      // Who died here leaves it to the next one.
      expect(await store().touch(['1'])).toEqual([]);
      expect(await store().keep(version('1', ['a', 'b']), [file('a'), file('b')])).toBe(true);
      expect(await store().readFile('a')).toBe('body of a');
      expect(await store().touch(['1'])).toHaveLength(1);
    });

    test('wakes the runs that wait for it without a time, a paused one for when it goes on', async () => {
      const { journal } = world;
      const park = async (codeHash: string, waitingFor: object, wakeAt: number | null = null) => {
        const run = await start(journal, newRun({ codeHash }));
        const patch = { status: 'waiting' as const, waitingFor: JSON.stringify(waitingFor), wakeAt, release: true };
        await journal.append(newAppend(run, { patch }));
        return run.runId;
      };
      const code = { type: 'code', code: 'code_not_kept', message: '' };
      const far = Number.MAX_SAFE_INTEGER;
      const ids = {
        served: await park('served', code),
        kept: await park('kept', code),
        nowhere: await park('nowhere', code),
        hook: await park('served', { type: 'hook', code }),
        later: await park('served', code, far),
        paused: await park('served', code),
      };
      await journal.pause(ids.paused);
      await store().keep(version('kept', ['a']), [file('a')]);
      const due = async () => {
        const rows = await journal.getRuns(Object.values(ids));
        const woken = rows.filter(({ wakeAt }) => wakeAt !== null && wakeAt < far).map(({ runId }) => runId);
        return Object.entries(ids).flatMap(([name, id]) => (woken.includes(id) ? name : []));
      };
      expect(await store().countWaiting(10)).toEqual([{ kind: 'workflow', name: expect.any(String), count: 5 }]);
      expect(await store().countWaiting(2)).toMatchObject([{ count: 2 }]);
      expect(await store().wake([])).toBe(0);
      expect(await store().wake(['served', 'other'])).toBe(2);
      expect(await due()).toEqual(['served', 'paused']);
      expect(await store().wake(['served'], { orKept: true })).toBe(1);
      expect(await due()).toEqual(['served', 'kept', 'paused']);
      const claimed = await journal.claim({ owner: 'b', leaseMs: 1_000, limit: 10 });
      expect(claimed.map(({ runId }) => runId).toSorted()).toEqual([ids.served, ids.kept].toSorted());
    });

    test('is open with any run that has not ended, whatever it does, and with a start that waits', async () => {
      const { journal } = world;
      const begin = (codeHash: string, fields: Partial<NewRun> = {}) => start(journal, newRun({ codeHash, ...fields }));
      await begin('free', { claim: null });
      await begin('held');
      for (const status of ['waiting', 'blocked', 'completed', 'failed'] as const) {
        const patch = { status, release: true };
        await journal.append(newAppend(await begin(status), { patch }));
      }
      await journal.pause((await begin('paused', { claim: null })).runId);
      await journal.pause((await begin('paused and held')).runId);
      const timing = { triggerId: 't', delayMs: 3_600_000 };
      await journal.create(newRun({ codeHash: 'delayed', claim: null, timing }));
      const open = ['blocked', 'delayed', 'free', 'held', 'paused', 'paused and held', 'waiting'];
      const all = [...open, 'completed', 'failed', 'other'];
      expect((await store().listOpen(all)).toSorted()).toEqual(open);
      for (const codeHash of all) await store().keep(version(codeHash, ['a']), [file('a')]);
      expect(await store().drop({ idleMs: -60_000 })).toBe(3);
      expect((await store().touch(all)).map(({ codeHash }) => codeHash).toSorted()).toEqual(open);
    });

    test('answers what open runs of a name have noted beside their calls', async () => {
      const { journal } = world;
      const [one, two, ended] = [
        await start(journal, newRun({ codeHash: '1', name: 'w' })),
        await start(journal, newRun({ codeHash: '2', name: 'w', claim: null })),
        await start(journal, newRun({ codeHash: '1', name: 'w' })),
      ];
      await start(journal, newRun({ codeHash: '1', name: 'other' }));
      const noted = (seq: number, stepId: string) =>
        newRecord(seq, { call: -1, kind: 'env', event: 'set', stepId, output: '1' });
      await journal.append(
        newAppend(one, { records: [noted(0, 'version=a'), noted(1, 'HOME'), noted(2, 'version=b')] }),
      );
      await journal.append(newAppend(ended, { patch: { status: 'completed' } }));
      const open = await store().listOpenRuns('w', 10);
      expect(open.toSorted((a, b) => (a.runId < b.runId ? -1 : 1))).toEqual(
        [one, two]
          .map(({ runId, codeHash }) => ({ runId, codeHash, isMoved: false }))
          .toSorted((a, b) => (a.runId < b.runId ? -1 : 1)),
      );
      expect(await store().listOpenRuns('w', 1)).toHaveLength(1);
      const all = [one.runId, two.runId, ended.runId];
      expect(await store().listNoted(all, 'version=')).toEqual(
        ['version=a', 'version=b'].map((stepId) => ({ runId: one.runId, stepId, output: '1' })),
      );
      expect(await store().listNoted([], 'version=')).toEqual([]);
    });

    test('is dropped once no open run has it, with the files that nothing else needs', async () => {
      const run = await start(world.journal, newRun({ codeHash: '1' }));
      for (const [hash, own] of [
        ['1', 'a'],
        ['2', 'b'],
        ['3', 'c'],
      ] as const)
        await store().keep(version(hash, [own, 'all']), [file(own), file('all')]);
      await world.journal.replicas.announce({ owner: 'r', leaseMs: 60_000, codes: ['3'] });
      expect(await store().listOpen(['1', '2', '3'])).toEqual(['1']);
      expect(await store().drop({ idleMs: 60_000 })).toBe(0);
      // By the store's own clock, all of them were kept before.
      const drop = () => store().drop({ idleMs: -60_000 });
      expect(await drop()).toBe(1);
      expect(await store().find({ codeHash: '2', name: 'w' })).toBeUndefined();
      expect(await store().listMissing(['a', 'b', 'c', 'all'])).toEqual(['b']);
      await world.journal.append(newAppend(run, { patch: { status: 'completed' } }));
      await world.journal.replicas.leave('r');
      expect(await drop()).toBe(2);
      expect(await store().listMissing(['a', 'c', 'all'])).toEqual(['a', 'c', 'all']);
    });
  });
}
