import { expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { outputOf, step, until, useBenches } from '../_setup.ts';
import { createHook } from '../primitives/hook.ts';
import type { Doorbell, RingListener } from '../doorbell.ts';
import { wrapJournal } from '../stores/wrap.ts';

/** One bell for several replicas, as a shared store gives it: each hears the others. */
function createBells(): () => Doorbell {
  const listeners = new Map<object, RingListener>();
  return () => {
    const own = {};
    return {
      ring(kind, runId, to) {
        for (const [each, listener] of listeners) if (each !== own) listener(kind, runId, to);
      },
      listen(listener) {
        listeners.set(own, listener);
        return () => void listeners.delete(own);
      },
    };
  };
}

describeOnStores('messages that come together', (newPlace) => {
  const bench = useBenches();

  test('to many runs at rest are each handled once, in one process and in two', async () => {
    const place = newPlace();
    const begun: string[] = [];
    const handle = step('handle', async (room: string, message: string) => {
      begun.push(`${room} ${message}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return message;
    });
    const code = {
      async chat(room: string) {
        const got: string[] = [];
        for await (const message of createHook<string>({ token: room })) {
          got.push(await handle(room, message));
          if (got.length === 3) return got;
        }
      },
    };
    const options = { exclusive: false, limits: { parkAfter: 0 } };
    const [first, second] = [await bench(place, code, options), await bench(place, code, options)];
    const rooms = Array.from({ length: 20 }, (_, n) => `room-${n}`);
    const runs = await Promise.all(rooms.map((room) => first.start('chat', room)));
    const ids = runs.map(({ runId }) => runId);
    await until(async () =>
      (await first.journal.getRuns(ids)).every(({ status, owner }) => status === 'waiting' && owner === null),
    );
    const send = (room: string, message: string) =>
      [first, second].at(message === 'b' ? 1 : 0)?.engine.resumeHook(room, message);
    await Promise.all(rooms.flatMap((room) => ['a', 'b', 'c'].map((message) => send(room, message))));
    const ended = await Promise.all(ids.map((runId) => first.engine.wait(runId, 20_000)));
    for (const row of ended) expect((outputOf(row) as string[]).toSorted()).toEqual(['a', 'b', 'c']);
    expect(begun.toSorted()).toEqual(
      rooms.flatMap((room) => ['a', 'b', 'c'].map((message) => `${room} ${message}`)).toSorted(),
    );
  });
});

describeOnStores('a signal for a run that another replica has', (newPlace) => {
  const bench = useBenches();

  test('is looked at by that one, and the others ask the journal nothing', async () => {
    const place = newPlace();
    const newBell = createBells();
    const calls: string[] = [];
    const open = (name: string) =>
      bench(
        {
          open: async () =>
            wrapJournal(await place.open(), (call, run) => {
              if (call.startsWith('claimRun')) calls.push(name);
              return run();
            }),
        },
        { go: async () => (await createHook<number>({ token: 't' })) * 2 },
        // What is not heard is not found by looking, either, in the time of the test.
        { exclusive: false, sweepMs: 60_000, limits: { parkAfter: 60_000 }, doorbell: newBell() },
      );
    const [home, asked] = [await open('home'), await open('asked')];
    for (const name of ['c', 'd', 'e']) await open(name);
    const { runId } = await home.start('go');
    // It stays in memory while it waits.
    await until(async () => (await asked.journal.hooks.find('t')) !== undefined);
    calls.length = 0;
    await asked.engine.resumeHook('t', 21);
    expect(await home.engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
    expect(calls.filter((name) => !['asked', 'home'].includes(name))).toStrictEqual([]);
  });
});
