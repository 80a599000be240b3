import { beforeEach, expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { outputOf, step, until, useBenches } from '../_setup.ts';
import type { Code } from '../_setup.ts';
import { CodeNotKeptError } from '../errors.ts';
import { createHook } from '../primitives/hook.ts';

const LEASE = { exclusive: false, leaseMs: 6_000, limits: { parkAfter: 50 } };

describeOnStores('replicas of two releases on one journal', (newPlace) => {
  const open = useBenches();
  let ranIn: string[] = [];
  beforeEach(() => void (ranIn = []));
  /** Two releases of a workflow: to one, the history of the other is nondeterministic. */
  const release = (name: string): { code: Code; options: object } => {
    const before = step(`before ${name}`, async () => name);
    const after = step(`after ${name}`, async () => void ranIn.push(name));
    return {
      code: {
        async order(token: string) {
          await before();
          await createHook({ token });
          await after();
          return name;
        },
      },
      options: { ...LEASE, codeHash: name, codes: () => [name] },
    };
  };
  const [old, next] = [release('old'), release('next')];

  test('each goes on with its own runs, whichever replica is asked to resume them', async () => {
    const place = newPlace();
    const a = await open(place, old.code, old.options);
    const b = await open(place, next.code, next.options);
    const runs = await Promise.all([0, 1, 2, 3].map((n) => (n % 2 ? b : a).start('order', `t${n}`)));
    const isParked = async (): Promise<boolean> =>
      (await a.journal.getRuns(runs.map(({ runId }) => runId))).every((run) => run.owner === null);
    await until(isParked);
    // Each resume reaches the replica that has not got the code.
    for (const n of [0, 1, 2, 3]) await (n % 2 ? a : b).engine.resumeHook(`t${n}`, null);
    const ended = await Promise.all(runs.map(({ runId }) => a.engine.wait(runId, 20_000)));
    expect(ended.map((row) => [row?.status, outputOf(row)])).toStrictEqual([
      ['completed', 'old'],
      ['completed', 'next'],
      ['completed', 'old'],
      ['completed', 'next'],
    ]);
  });

  test('neither moves a run of the other to its own code, until the other has left', async () => {
    const place = newPlace();
    const resting: Code = {
      async order(token: string) {
        await createHook({ token });
        return 'over';
      },
    };
    const a = await open(place, resting, old.options);
    const b = await open(place, resting, next.options);
    const runs = [await b.start('order', 't'), await a.start('order', 'u')];
    const isParked = async (): Promise<boolean> =>
      (await a.journal.getRuns(runs.map(({ runId }) => runId))).every((run) => run.owner === null);
    await until(isParked);
    const listed = (await a.engine.listOld({ limit: 10 })).concat(await b.engine.listOld({ limit: 10 }));
    expect(listed).toEqual([]);
    const differs = { outcome: 'busy', stop: { code: 'replicas_differ' } };
    const { runId } = runs[0] as { runId: string };
    expect(await a.engine.checkMove(runId)).toMatchObject(differs);
    expect(await a.engine.move(runId)).toMatchObject(differs);
    expect(await a.journal.getRun(runId)).toMatchObject({ codeHash: 'next', movedAt: null });
    await b.close();
    expect((await a.engine.listOld({ limit: 10 })).map((run) => run.runId)).toEqual([runId]);
    expect(await a.engine.move(runId)).toMatchObject({ outcome: 'moved', codeHash: 'old' });
  });

  test.each(['closes', 'dies'] as const)(
    'once the last that has the code %s, the others take its runs',
    async (how) => {
      const place = newPlace();
      const a = await open(place, old.code, { ...old.options, ...(how === 'dies' ? { leaseMs: 1_200 } : {}) });
      const b = await open(place, next.code, next.options);
      const { runId } = await a.start('order', 't');
      await until(async () => (await b.journal.getRun(runId))?.owner === null);
      await (how === 'closes' ? a.close() : a.kill());
      await b.engine.resumeHook('t', null);
      await until(async () => (await b.journal.getRun(runId))?.status === 'blocked', 20_000);
      // It went on there, on code that is not its own.
      expect(ranIn).not.toContain('next');
    },
  );

  test('a run that waits for its code goes on where that comes up, though nothing wakes it there', async () => {
    const place = newPlace();
    const a = await open(place, old.code, old.options);
    const { runId } = await a.start('order', 't');
    await until(async () => (await a.journal.getRun(runId))?.owner === null);
    await a.close();
    const b = await open(place, next.code, {
      ...next.options,
      resolve: async ({ codeHash }: { codeHash?: string | null }) => {
        if (codeHash === 'old') throw new CodeNotKeptError('It is nowhere.');
        return { run: next.code.order as never, codeHash: 'next', durability: 'process' };
      },
    });
    await b.engine.resumeHook('t', null);
    await until(async () => (await b.journal.getRun(runId))?.waitingFor?.includes('code_not_kept') === true);
    const back = await open(place, old.code, old.options);
    expect(outputOf(await back.engine.wait(runId, 20_000))).toBe('old');
  });

  test('a run of code that no other replica has either is taken as ever', async () => {
    const place = newPlace();
    const a = await open(place, old.code, old.options);
    const { runId } = await a.start('order', 't');
    await until(async () => (await a.journal.getRun(runId))?.owner === null);
    await a.close();
    const b = await open(place, old.code, { ...old.options, codeHash: 'same', codes: () => ['same'] });
    await b.engine.resumeHook('t', null);
    expect(outputOf(await b.engine.wait(runId, 20_000))).toBe('old');
  });
});
