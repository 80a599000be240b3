import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { errorOf, goOnAfterKill, outputOf, step, until, useBenches } from './_setup.ts';
import type { Place } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { FatalError, RetryableError } from './errors.ts';
import type { JournalRecord } from './journal/record.ts';
import { createHook } from './primitives/hook.ts';
import { getStepMetadata } from './primitives/metadata.ts';
import { sleep } from './primitives/sleep.ts';
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE, registerClass } from './values/classes.ts';

// What people write without a thought: none of it ends the process, repeats a step without limit or blocks a run.

const bench = useBenches();
const quick = { backoff: { initial: 1 } };

describeOnStores('a record that the store refuses for what it holds', (newPlace) => {
  // No value of a body is known to be one: a number that no column takes stands for it, and a value of no type.
  const withRefused = (place: Place): Place => ({
    async open() {
      const journal = await place.open();
      const attempt = journal.adapter === 'sqlite' ? (new Date() as never) : 2 ** 40;
      const spoil = (record: JournalRecord): JournalRecord =>
        record.output?.includes('unstorable') ? { ...record, attempt } : record;
      return {
        ...journal,
        append: async (entry) => journal.append({ ...entry, records: entry.records.map(spoil) }),
      };
    },
  });

  test('blocks its run at once, and is done once; others go on, and so does the run once it can be', async () => {
    let done = 0;
    let isBad = true;
    const work = step('work', async () => {
      done += 1;
      return isBad ? 'unstorable' : 'fine';
    });
    const place = newPlace();
    const { start, run, engine, journal } = await bench(withRefused(place), {
      bad: async () => [await work(), 'bad'],
      good: async () => 'good',
    });
    const { runId } = await start('bad');
    await until(async () => (await journal.getRun(runId))?.status === 'blocked');
    const blocked = await journal.getRun(runId);
    expect(JSON.parse(blocked?.waitingFor ?? '{}')).toMatchObject({
      message: expect.stringContaining('The store cannot hold it') as string,
    });
    expect(done).toBe(1);
    expect(await journal.getRecords(runId)).toEqual([]);
    expect(outputOf(await run('good'))).toBe('good');
    isBad = false;
    expect(await engine.unblock(runId)).toBe(true);
    expect(outputOf(await engine.wait(runId, 10_000))).toEqual(['fine', 'bad']);
  });
});

describeOnStores('times', (newPlace) => {
  test.each([0.5, 20.4, '0.0301 seconds'])('a sleep of %s ms ends, and not early', async (duration) => {
    const { run, journal } = await bench(newPlace(), { go: async () => sleep(duration) });
    const row = await run('go');
    expect(row.status).toBe('completed');
    const [set, done] = await journal.getRecords(row.runId);
    const wakeAt = Number(set?.output?.slice(1));
    expect(Number.isInteger(wakeAt)).toBe(true);
    expect(done?.at).toBeGreaterThanOrEqual(wakeAt);
  });

  test('a backoff and a retryAfter of fractions are waited for, and attempts are counted', async () => {
    let attempts = 0;
    const flaky = step(
      'flaky',
      () => {
        attempts += 1;
        if (attempts < 3) throw attempts === 1 ? new Error('no') : new RetryableError('no', { retryAfter: 3.7 });
        return attempts;
      },
      { backoff: { initial: 1.5, factor: 1.5 } },
    );
    const { run } = await bench(newPlace(), { go: async () => flaky() });
    expect(outputOf(await run('go'))).toBe(3);
  });

  test.each([Number.MAX_SAFE_INTEGER, '101 years', Infinity, -1, Number.NaN])(
    'a sleep of %s is refused by name, and the run ends',
    async (duration) => {
      const { run } = await bench(newPlace(), { go: async () => sleep(duration) });
      const row = await run('go');
      expect(row.status).toBe('failed');
      expect(errorOf(row)?.message).toContain(String(duration));
    },
  );

  test('runs that failed together do not come back together', async () => {
    const broken = step('broken', () => Promise.reject(new Error('no')), { maxRetries: 1, backoff: { initial: 40 } });
    const { start, engine, journal } = await bench(newPlace(), { go: async () => broken() });
    const runs = await Promise.all(Array.from({ length: 20 }, () => start('go')));
    const rows = await Promise.all(runs.map(({ runId }) => engine.wait(runId, 10_000)));
    expect(rows.map((row) => row?.status)).toEqual(runs.map(() => 'failed'));
    const waits = await Promise.all(
      runs.map(async ({ runId }) => {
        const [retry] = await journal.getRecords(runId);
        return Number(retry?.output?.slice(1)) - (retry?.at ?? 0);
      }),
    );
    expect(new Set(waits).size).toBeGreaterThan(3);
    expect(Math.max(...waits)).toBeLessThanOrEqual(41);
  });
});

describeOnStores('a step that is not awaited', (newPlace) => {
  test('may fail before the body awaits it', async () => {
    const check = step('check', () => Promise.reject(new FatalError('declined')), quick);
    const compute = step('compute', () => new Promise<number>((resolve) => setTimeout(resolve, 30, 5)));
    const { run, logged } = await bench(newPlace(), {
      go: async () => {
        const checked = check();
        const total = await compute();
        return checked.catch((error: Error) => `${error.message} ${total}`);
      },
    });
    expect(outputOf(await run('go'))).toBe('declined 5');
    expect(logged).toEqual([]);
  });

  test('runs to its end before the run does, with its retries; that it failed is logged', async () => {
    const done: string[] = [];
    const note = step(
      'note',
      async (text: string) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (getStepMetadata().attempt === 1) throw new Error('not yet');
        done.push(text);
        if (text === 'b') throw new FatalError('no b');
      },
      quick,
    );
    const { run, logged, journal } = await bench(newPlace(), {
      go: async () => {
        void note('a');
        void note('b');
        return 1;
      },
    });
    const row = await run('go');
    expect([row.status, outputOf(row), done.toSorted()]).toEqual(['completed', 1, ['a', 'b']]);
    expect((await journal.getRecords(row.runId)).map(({ event }) => event).toSorted()).toEqual([
      'done',
      'failed',
      'retry',
      'retry',
    ]);
    expect(logged).toEqual(['warn "test.workflow.ts#note" failed, and nothing awaited it.']);
  });

  test('that lost a race does not hold up the end of its run', async () => {
    let isOver = false;
    const slow = step('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      isOver = true;
    });
    const { run } = await bench(newPlace(), {
      go: async () => Promise.race([slow(), sleep(30).then(() => 'timeout')]),
    });
    expect([outputOf(await run('go')), isOver]).toEqual(['timeout', false]);
  });
});

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
  static [WORKFLOW_SERIALIZE](money: Money): number {
    return money.cents;
  }
  static [WORKFLOW_DESERIALIZE](cents: number): Money {
    return new Money(cents);
  }
}

/** Values that throw while they are recorded, by what a step does with them. */
const HOSTILE: Record<string, () => unknown> = {
  'a value of 20,000 levels': () => Array.from({ length: 20_000 }).reduce<object>((inner) => ({ inner }), {}),
  'a value of 5,000 levels': () => Array.from({ length: 5_000 }).reduce<object>((inner) => ({ inner }), {}),
  'a getter that throws': () => ({
    get boom(): never {
      throw new Error('boom');
    },
  }),
  'a proxy that refuses everything': () =>
    new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('no prototype');
        },
        ownKeys: () => {
          throw new Error('no keys');
        },
      },
    ),
};

const HOSTILE_ERRORS: Record<string, () => unknown> = {
  'an error whose cause has no text': () =>
    new Error('outer', { cause: Object.assign(Object.create(null), { f() {} }) }),
  'an error whose name throws': () =>
    Object.defineProperty(new Error('x'), 'name', {
      get: () => {
        throw new Error('name');
      },
    }),
  'an object whose fatal throws': () => ({
    get fatal(): never {
      throw new Error('fatal');
    },
  }),
  'an object without text': () => Object.create(null) as object,
  'a proxy that refuses everything': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  nothing: () => undefined,
};

describeOnStores('values that cannot be recorded', (newPlace) => {
  describe.each(Object.entries(HOSTILE))('%s', (_, make) => {
    test.each([
      ['as it is', () => make()],
      ['later', async () => (await new Promise((resolve) => setTimeout(resolve, 1)), make())],
    ])('returned %s fails the step once', async (__, give) => {
      let attempts = 0;
      const risky = step(
        'risky',
        () => {
          attempts += 1;
          return give();
        },
        quick,
      );
      const { run } = await bench(newPlace(), {
        go: async () =>
          risky().then(
            () => 'no',
            (error: Error) => error.message,
          ),
      });
      const row = await run('go');
      expect([row.status, attempts]).toEqual(['completed', 1]);
      expect(outputOf(row)).toMatch(/levels deep|boom|no prototype|no keys/);
    });

    test('returned by the body, or handed to a step, fails the run', async () => {
      const take = step('take', (_value: unknown) => 1);
      const { run } = await bench(newPlace(), { give: async () => make(), hand: async () => take(make()) });
      expect((await run('give')).status).toBe('failed');
      expect((await run('hand')).status).toBe('failed');
    });
  });

  test.each(Object.entries(HOSTILE_ERRORS))('%s is thrown by a step and by a body', async (_, make) => {
    let attempts = 0;
    const risky = step(
      'risky',
      () => {
        attempts += 1;
        throw make();
      },
      { ...quick, maxRetries: 1 },
    );
    const { run } = await bench(newPlace(), {
      step: async () => risky(),
      body: async () => {
        throw make();
      },
    });
    expect([(await run('step')).status, attempts]).toEqual(['failed', 2]);
    expect((await run('body')).status).toBe('failed');
  });

  test('an instance whose class is gone blocks the run, and says which', async () => {
    class Gone extends Money {}
    registerClass(Gone, 'gone.ts#Gone');
    const place = newPlace();
    const pay = step('pay', () => new Gone(5));
    const code = {
      go: async () => {
        const paid = await pay();
        await createHook({ token: 'go-on' });
        return paid;
      },
    };
    const first = await bench(place, code);
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    registerClass(Object, 'gone.ts#Gone');
    const second = await bench(place, code, { exclusive: true });
    await second.engine.resumeHook('go-on', 1);
    await until(async () => (await second.journal.getRun(runId))?.status === 'blocked');
    const row = await second.journal.getRun(runId);
    expect(JSON.parse(row?.waitingFor ?? '{}')).toMatchObject({
      call: 0,
      message: expect.stringContaining('"gone.ts#Gone"') as string,
    });
    expect(row?.epoch).toBeLessThan(4);
  });
});

describeOnStores('metadata', (newPlace) => {
  test('says when the first attempt began, also after a restart, and can be returned', async () => {
    const seen: Date[] = [];
    const place = newPlace();
    const flaky = step(
      'flaky',
      () => {
        seen.push(getStepMetadata().stepStartedAt);
        if (seen.length < 3) throw new Error('again');
        return getStepMetadata();
      },
      { backoff: { initial: 30, factor: 1 } },
    );
    const first = await bench(place, { go: async () => flaky() });
    const { runId } = await first.start('go');
    await until(() => seen.length === 2);
    await first.kill();
    const second = await bench(place, { go: async () => flaky() });
    const row = await second.engine.wait(runId, 10_000);
    expect(outputOf(row)).toMatchObject({ stepName: 'flaky', stepStartedAt: seen[0] });
    expect(new Set(seen.map(Number)).size).toBe(1);
  });
});

/** What a body awaits that is no call, and is done when it is done. */
const PLATFORM: Record<string, () => Promise<unknown>> = {
  'a digest': async () => Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('x'))).toString('hex'),
  'a digest of the library': async () => createHash('sha256').update('x').digest('hex'),
};

describeOnStores('a body that awaits the platform', (newPlace) => {
  test.each(Object.entries(PLATFORM))('%s: replays, and is not parked meanwhile', async (_, work) => {
    const place = newPlace();
    const effects: string[] = [];
    const note = step('note', (text: unknown) => void effects.push(String(text)));
    const code = {
      go: async () => {
        await note(await work());
        await createHook({ token: 'go-on' });
        await note(await work());
        return 'end';
      },
    };
    const { second, runId } = await goOnAfterKill(bench, place, code);
    const row = await second.engine.wait(runId, 15_000);
    expect([row?.status, outputOf(row), effects.length]).toEqual(['completed', 'end', 2]);
  });
});
