import { describe, expect, onTestFinished, test } from 'vitest';
import { BUCKET, KEYS, startFixture, startServer } from '../../dev-s3/src/_setup.ts';
import { describeOnStores } from '../src/engine/_stores.ts';
import { errorOf, outputOf, runOf, step, until, useBenches } from '../src/engine/_setup.ts';
import type { Bench, Code, Place } from '../src/engine/_setup.ts';
import type { EngineOptions } from '../src/engine/engine.ts';
import type { Journal } from '../src/engine/journal.ts';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import { startWorkflow, startWorkflowAndWait, toWaitCall } from '../src/engine/primitives/child-workflow.ts';
import { bodyOf, createHook } from '../src/engine/primitives/hook.ts';
import { decode } from '../src/engine/serialize.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { newJournalPath } from '../src/engine/_setup.ts';
import { createLog } from '../src/log.ts';
import { createLargeStore, withoutOwn } from '../src/storage/large-store.ts';
import type { BoxLargeStore } from '../src/storage/large-store.ts';
import { createStorage } from '../src/storage/storage.ts';
import type { Storage } from '../src/storage/storage.ts';

const LOG = createLog({ level: 'silent', write: () => {} });
const letters = (letter: string, count = 100_000): string => letter.repeat(count);

interface Objects {
  storage: Storage;
  /** Keys of values, as `<run>/…`. */
  listRuns(): Promise<string[]>;
  /** The server is gone, until `heal`. */
  break(): Promise<void>;
  heal(): Promise<void>;
}

/** Storage on a server that is stopped and started. */
async function openObjects(): Promise<Objects> {
  const { dir, server } = await startFixture();
  const port = Number(new URL(server.url).port);
  const at = { endpoint: server.url, bucket: BUCKET, region: 'us-east-1', ...KEYS, forcePathStyle: true };
  const storage = createStorage({ ...at, prefix: 'acme/box/' });
  let running = server;
  return {
    storage,
    async listRuns() {
      const { items } = await storage.list({ prefix: '.svc/values/' });
      return [...new Set(items.map(({ key }) => key.split('/')[2] ?? ''))];
    },
    break: () => running.close(),
    async heal() {
      running = await startServer(dir, { port });
    },
  };
}

interface Counted extends BoxLargeStore {
  puts: number;
  gets: number;
}

function toStore(storage: Storage, journal: Pick<Journal, 'listStandings'>, leftMs?: number): Counted {
  const store = createLargeStore({
    storage,
    journal,
    log: LOG,
    ...(leftMs === undefined ? {} : { leftMs, everyMs: 0 }),
  });
  const counted: Counted = {
    ...store,
    puts: 0,
    gets: 0,
    put(...args) {
      counted.puts += 1;
      return store.put(...args);
    },
    get(...args) {
      counted.gets += 1;
      return store.get(...args);
    },
  };
  onTestFinished(() => counted.close());
  return counted;
}

describeOnStores('values that are kept in object storage', (newPlace) => {
  const open = useBenches();
  const openWith = async (
    place: Place,
    storage: Storage,
    code: Code,
    options: Partial<EngineOptions> = {},
  ): Promise<{ bench: Bench; store: Counted }> => {
    const journal = await place.open();
    onTestFinished(() => journal.close());
    const store = toStore(storage, journal);
    return { bench: await open(place, code, { largeStore: store, ...options }), store };
  };
  const waits = (bench: Bench, runId: string) =>
    until(async () => (await bench.journal.getRun(runId))?.status === 'waiting');
  const recorded = async (bench: Bench, runId: string, count: number) => {
    await until(async () => (await bench.journal.getRecords(runId)).length === count);
    await waits(bench, runId);
  };
  /** Characters of the largest text the journal has of the run. */
  const largest = async ({ journal }: Bench, runId: string): Promise<number> => {
    const row = await journal.getRun(runId);
    const texts = [row, ...(await journal.getRecords(runId))].flatMap((of) => [of?.input, of?.output]);
    return Math.max(...texts.map((text) => text?.length ?? 0));
  };

  test('input, arguments, results, payloads and output of 5 MB go through a run, and through its replay', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const big = letters('x', 5_000_000);
    const begun: number[] = [];
    const grow = step('grow', (text: string) => {
      begun.push(text.length);
      return `${text}y`;
    });
    const code: Code = {
      go: async (input: { text: string }) => {
        const grown = await grow(input.text);
        const payload = (await createHook({ token: 'first' })) as string;
        await createHook({ token: 'second' });
        return [input.text.length, grown.length, payload.length, grown + payload];
      },
    };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go', { text: big });
    await waits(first.bench, runId);
    await first.bench.engine.resumeHook('first', big);
    await recorded(first.bench, runId, 4);
    expect(first.store.gets).toBe(0);
    await first.bench.kill();
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('second', 1);
    const row = await second.bench.engine.wait(runId, 20_000);
    const output = outputOf(row) as [number, number, number, string];
    expect(output.slice(0, 3)).toStrictEqual([5_000_000, 5_000_001, 5_000_000]);
    expect(output[3].length).toBe(10_000_001);
    expect(begun).toStrictEqual([5_000_000]);
    // The input, what the step has answered, and the payload: not what the step was called with.
    expect(second.store.gets).toBe(3);
    expect(await largest(second.bench, runId)).toBeLessThan(300);
    const kept = await second.bench.journal.getRun(runId);
    expect(decode(await second.bench.engine.whole(kept?.output ?? ''))).toStrictEqual(output);
  });

  test('what is small stays in the journal, and no object is made', async () => {
    const objects = await openObjects();
    const echo = step('echo', (text: string) => text);
    const { bench, store } = await openWith(newPlace(), objects.storage, { go: (text: string) => echo(text) });
    const row = await bench.run('go', letters('x', 60_000));
    expect([row.status, store.puts, store.gets]).toStrictEqual(['completed', 0, 0]);
  });

  test('a process that dies between the object and the journal leaves one that goes with the run', async () => {
    const objects = await openObjects();
    const place = newPlace();
    let dies = true;
    const made: string[] = [];
    const make = step('make', () => {
      made.push('made');
      return letters(dies ? 'a' : 'b');
    });
    const code: Code = { go: async () => (await make()).slice(0, 3) };
    const journal = await place.open();
    onTestFinished(() => journal.close());
    const inner = toStore(objects.storage, journal);
    let first: Bench | undefined;
    const dying = {
      ...inner,
      async put(...args: Parameters<typeof inner.put>) {
        await inner.put(...args);
        if (dies) await first?.kill();
      },
    };
    first = await open(place, code, { largeStore: dying });
    const { runId } = await first.start('go');
    await until(async () => (await objects.listRuns()).includes(runId));
    await until(async () => first?.engine.liveRuns === 1);
    dies = false;
    const second = await openWith(place, objects.storage, code);
    expect(outputOf(await second.bench.engine.wait(runId, 20_000))).toBe('bbb');
    expect(made).toStrictEqual(['made', 'made']);
    expect((await objects.storage.list({ prefix: '.svc/values/' })).items).toHaveLength(2);
    expect(await second.bench.journal.deleteRun(runId)).toBe(true);
    await second.store.drop([runId]);
    expect(await objects.listRuns()).toStrictEqual([]);
  });

  test('a store that is away when a result is put is waited for: the step is done once', async () => {
    const objects = await openObjects();
    let begun = 0;
    const make = step('make', async () => {
      begun += 1;
      await objects.break();
      return letters('x');
    });
    const { bench, store } = await openWith(
      newPlace(),
      objects.storage,
      { go: async () => (await make()).length },
      { leaseMs: 300 },
    );
    const { runId } = await bench.start('go');
    await until(() => store.puts >= 4);
    expect(await bench.journal.getRun(runId)).toMatchObject({ status: 'running', seq: 0 });
    await objects.heal();
    const row = await bench.engine.wait(runId, 20_000);
    expect([outputOf(row), begun, row?.epoch]).toStrictEqual([100_000, 1, 1]);
    expect(bench.logged.filter((line) => line.startsWith('warn') && line.includes('object storage'))).toHaveLength(1);
  });

  test('a start while the store is away is refused, and nothing of it is there', async () => {
    const objects = await openObjects();
    const { bench } = await openWith(newPlace(), objects.storage, { go: async (text: string) => text.length });
    await objects.break();
    await expect(bench.create('go', letters('x'))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await bench.journal.listRuns({}, { limit: 9 })).toStrictEqual([]);
    expect(outputOf(await bench.run('go', 'small'))).toBe(5);
  });

  test('a store that is away when a value is read is waited for', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const make = step('make', () => letters('x'));
    const code: Code = {
      go: async () => {
        const made = await make();
        await createHook({ token: 'go-on' });
        return made.length;
      },
    };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go');
    await waits(first.bench, runId);
    await first.bench.kill();
    await objects.break();
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('go-on', 1);
    await until(() => second.store.gets >= 3);
    expect((await second.bench.journal.getRun(runId))?.status).toBe('running');
    await objects.heal();
    expect(outputOf(await second.bench.engine.wait(runId, 20_000))).toBe(100_000);
  });

  test('a value whose object is gone blocks its run', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const make = step('make', () => letters('x'));
    const code: Code = { go: async () => [(await make()).length, await createHook({ token: 'go-on' })] };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go');
    await waits(first.bench, runId);
    await first.bench.kill();
    await first.store.drop([runId]);
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('go-on', 1);
    await until(async () => (await second.bench.journal.getRun(runId))?.status === 'blocked');
    expect((await second.bench.journal.getRun(runId))?.waitingFor).toMatch(/cannot be read/);
  });

  test('a child whose output is gone blocks the run above, once', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const journal = await place.open();
    onTestFinished(() => journal.close());
    const store = toStore(objects.storage, journal);
    const losing: BoxLargeStore = {
      ...store,
      async put(runId, ...rest) {
        await store.put(runId, ...rest);
        await store.drop([runId]);
      },
    };
    const code: Code = {
      child: async () => letters('x'),
      go: async () => ((await startWorkflowAndWait('child', 1)) as string).length,
    };
    const bench = await open(place, code, { largeStore: losing });
    const { runId } = await bench.start('go');
    await until(async () => (await bench.journal.getRun(runId))?.status === 'blocked');
    expect(await bench.journal.getRun(runId)).toMatchObject({
      epoch: 1,
      waitingFor: expect.stringMatching(/cannot be read/),
    });
  });

  test('a run whose input cannot be read waits while the store is away, and is blocked once the object is gone', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const code: Code = { go: async (text: string) => [text.length, await createHook({ token: 'go-on' })] };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go', letters('x'));
    await waits(first.bench, runId);
    await first.bench.kill();
    await objects.break();
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('go-on', 1);
    const waitingFor = async () => (await second.bench.journal.getRun(runId))?.waitingFor ?? '';
    await until(async () => (await waitingFor()).includes('does not answer'));
    await objects.heal();
    await second.store.drop([runId]);
    await second.bench.engine.pause(runId);
    await second.bench.engine.unpause(runId);
    await until(async () => (await second.bench.journal.getRun(runId))?.status === 'blocked');
    expect(await waitingFor()).toMatch(/input of the run cannot be read/);
  });

  test('arguments written in another order are the same, others block the run by path', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const send = step('send', (given: object) => Object.keys(given).length);
    const codeWith = (given: () => object): Code => ({
      go: async () => [await send(given()), await createHook({ token: 'go-on' }), await createHook({ token: 'again' })],
    });
    const first = await openWith(
      place,
      objects.storage,
      codeWith(() => ({ a: 1, text: letters('x') })),
    );
    const { runId } = await first.bench.start('go');
    await waits(first.bench, runId);
    await first.bench.kill();
    const second = await openWith(
      place,
      objects.storage,
      codeWith(() => ({ text: letters('x'), a: 1 })),
    );
    await second.bench.engine.resumeHook('go-on', 1);
    await recorded(second.bench, runId, 4);
    await second.bench.kill();
    const third = await openWith(
      place,
      objects.storage,
      codeWith(() => ({ text: letters('x'), a: 2 })),
    );
    await third.bench.engine.resumeHook('again', 1);
    await until(async () => (await third.bench.journal.getRun(runId))?.status === 'blocked');
    const { difference, at } = JSON.parse((await third.bench.journal.getRun(runId))?.waitingFor ?? '') as {
      difference: object;
      at: string;
    };
    expect(difference).toMatchObject({ path: 'args[0].a', recorded: '1', called: '2' });
    expect(at).toMatch(/large-store\.test\.ts:\d+$/);
  });

  test('a retry has its own objects: the run it repeats may be deleted', async () => {
    const objects = await openObjects();
    let isBroken = true;
    let made = 0;
    const make = step('make', (text: string) => {
      made += 1;
      return text + letters('y');
    });
    const use = step('use', () => {
      if (isBroken) throw Object.assign(new Error('broken'), { fatal: true });
    });
    const { bench, store } = await openWith(newPlace(), objects.storage, {
      go: async (text: string) => {
        const result = await make(text);
        const go = await createHook({ token: 'go-on' });
        await use();
        return [result.length, go];
      },
    });
    const { runId } = await bench.start('go', letters('x'));
    await waits(bench, runId);
    await bench.engine.resumeHook('go-on', 1);
    const failed = await bench.engine.wait(runId, 20_000);
    expect(failed?.status).toBe('failed');
    const stored = await bench.journal.getRun(runId);
    isBroken = false;
    const again = runOf(await bench.engine.retry(stored as NonNullable<typeof stored>, 'failed-step'));
    expect(outputOf(await bench.engine.wait(again.runId, 20_000))).toStrictEqual([200_000, 1]);
    expect(await bench.journal.deleteRun(runId)).toBe(true);
    await store.drop([runId]);
    expect(await objects.listRuns()).toStrictEqual([again.runId]);
    const row = await bench.journal.getRun(again.runId);
    expect(decode(await bench.engine.whole(row?.input ?? ''))).toBe(letters('x'));
    const [record] = await bench.journal.getRecords(again.runId);
    expect(decode(await bench.engine.whole(record?.output ?? ''))).toBe(letters('x') + letters('y'));
    expect(made).toBe(1);
  });

  test('a child that is deleted leaves its parent what it has answered', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const code: Code = {
      child: async (text: string) => text + letters('y'),
      go: async () => {
        const answer = (await startWorkflowAndWait('child', letters('x'))) as string;
        await createHook({ token: 'go-on' });
        return answer.length;
      },
    };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go');
    await recorded(first.bench, runId, 3);
    const [child] = await first.bench.journal.listRuns({ parentRunId: runId }, { limit: 9 });
    expect(await first.bench.journal.deleteRun(child?.runId ?? '')).toBe(true);
    await first.store.drop([child?.runId ?? '']);
    await first.bench.kill();
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('go-on', 1);
    expect(outputOf(await second.bench.engine.wait(runId, 20_000))).toBe(200_000);
  });

  test('a process without a store records none of them: what needs one waits for a process that has it', async () => {
    const objects = await openObjects();
    const place = newPlace();
    let isBroken = true;
    const use = step('use', () => {
      if (isBroken) throw Object.assign(new Error('broken'), { fatal: true });
    });
    const code: Code = {
      child: async (text: string) => text + letters('y'),
      go: async () => {
        const { runId } = (await startWorkflow('child', letters('x'))) as { runId: string };
        await createHook({ token: 'go-on' });
        return ((await bodyOf('go').invoke(toWaitCall('child', { runId }))) as string).length;
      },
      retried: async () => {
        await startWorkflowAndWait('child', letters('x'));
        await use();
      },
    };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go');
    const failed = await first.bench.run('retried');
    await recorded(first.bench, runId, 2);
    await first.bench.kill();

    const without = await open(place, code);
    await without.engine.resumeHook('go-on', 1);
    await until(async () => (await without.journal.getRun(runId))?.status === 'blocked');
    expect((await without.journal.getRun(runId))?.waitingFor).toMatch(/this box has none configured/);
    expect(await without.journal.getRecords(runId)).toHaveLength(3);
    await expect(without.engine.retry(failed, 'failed-step')).rejects.toMatchObject({ code: 'storage_missing' });
    await without.kill();

    isBroken = false;
    const second = await openWith(place, objects.storage, code);
    const again = runOf(await second.bench.engine.retry(failed, 'failed-step'));
    expect((await second.bench.engine.wait(again.runId, 20_000))?.status).toBe('completed');
    expect(await second.bench.engine.unblock(runId)).toBe(true);
    expect(outputOf(await second.bench.engine.wait(runId, 20_000))).toBe(200_000);
  });

  test('the next run of a chain has its input when the one before is deleted', async () => {
    const objects = await openObjects();
    const place = newPlace();
    const code: Code = {
      go: async ({ text, n }: { text: string; n: number }) => {
        if (n === 0) continueAsNew({ text: text + letters('y'), n: 1 });
        await createHook({ token: 'go-on' });
        return text.length;
      },
    };
    const first = await openWith(place, objects.storage, code);
    const { runId } = await first.bench.start('go', { text: letters('x'), n: 0 });
    await until(async () => (await first.bench.journal.getLastRun(runId))?.status === 'waiting');
    const last = await first.bench.journal.getLastRun(runId);
    expect(await first.bench.journal.deleteRun(runId)).toBe(true);
    await first.store.drop([runId]);
    await first.bench.kill();
    const second = await openWith(place, objects.storage, code);
    await second.bench.engine.resumeHook('go-on', 1);
    expect(outputOf(await second.bench.engine.wait(last?.runId ?? '', 20_000))).toBe(200_000);
  });

  test('what is larger than may be kept at all is refused by path', async () => {
    const objects = await openObjects();
    const limits = { resultBytes: 200_000, givenBytes: 200_000 };
    const make = step('make', () => ({ rows: [letters('x', 300_000)] }));
    const send = step('send', (given: { rows: string[] }) => given.rows.length);
    const { bench, store } = await openWith(
      newPlace(),
      objects.storage,
      {
        make: () => make(),
        send: () => send({ rows: [letters('x', 300_000)] }),
        start: () => startWorkflow('make', { big: letters('x', 300_000) }),
      },
      { limits },
    );
    await expect(bench.create('make', { a: letters('x', 300_000) })).rejects.toMatchObject({
      code: 'payload_too_large',
      details: { path: 'input.a', limit: 200_000 },
    });
    expect(errorOf(await bench.run('make'))).toMatchObject({ code: 'result_too_large', path: 'result.rows[0]' });
    expect(errorOf(await bench.run('send'))).toMatchObject({ code: 'payload_too_large' });
    expect(errorOf(await bench.run('start'))).toMatchObject({ code: 'payload_too_large' });
    expect(store.puts).toBe(0);
  });
});

describe('the objects of the box itself', () => {
  test('those of runs that are not there go, once they are old enough', async () => {
    const objects = await openObjects();
    const journal = await openSqliteJournal({ path: newJournalPath() });
    onTestFinished(() => journal.close());
    const young = toStore(objects.storage, journal);
    await young.put('11111111-1111-7111-8111-111111111111', 'a', letters('x'));
    young.sweep();
    await young.close();
    expect(await objects.listRuns()).toHaveLength(1);
    const old = toStore(objects.storage, journal, 0);
    old.sweep();
    await until(async () => (await objects.listRuns()).length === 0);
  });

  test('authors neither see nor reach them', async () => {
    const objects = await openObjects();
    await objects.storage.put('.svc/values/run/digest', 'x');
    const own = withoutOwn(objects.storage);
    await own.put('report', 'theirs');
    expect((await own.list()).items.map(({ key }) => key)).toStrictEqual(['report']);
    const key = '.svc/values/run/digest';
    for (const call of [own.get, own.delete, own.url, (name: string) => own.put(name, '')])
      await expect(call(key)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
