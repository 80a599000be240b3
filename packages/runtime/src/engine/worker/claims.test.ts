import { expect, test } from 'vitest';
import { outputOf, step, until, useBenches } from '../_setup.ts';
import type { Bench, Code, Place } from '../_setup.ts';
import { describeOnStores } from '../_stores.ts';
import type { Journal } from '../journal.ts';
import { createHook } from '../primitives/hook.ts';
import { encode } from '../serialize.ts';
import { createLiveRuns } from './live-runs.ts';

const bench = useBenches();

/** Something that happens once. */
function createMoment(): { passed: Promise<void>; pass(): void } {
  let pass = (): void => {};
  const passed = new Promise<void>((resolve) => (pass = resolve));
  return { passed, pass };
}

/** The code of a run that ends with the second message of its hook; each life notes that it has begun. */
function listening(lives: string[], life: string): Code {
  return {
    go: async () => {
      lives.push(life);
      const seen: unknown[] = [];
      for await (const message of createHook({ token: 'messages' })) if (seen.push(message) === 2) return seen;
    },
  };
}

async function listenAndDie(place: Place, lives: string[]): Promise<string> {
  const first = await bench(place, listening(lives, 'first'));
  const { runId } = await first.start('go');
  await until(async () => (await first.journal.getRun(runId))?.waitingFor?.includes('hook') === true);
  await first.kill();
  return runId;
}

/** The place, as one process sees it whose journal differs in what is given. */
function placeOf(place: Place, change: (journal: Journal) => Partial<Journal>): Place {
  return {
    async open() {
      const journal = await place.open();
      return { ...journal, ...change(journal) };
    },
  };
}

const send = (opened: Bench, message: number) =>
  opened.journal.hooks.resume('messages', encode(message, 'message'), {});

describeOnStores('a run that is resumed while its process takes it up', (newPlace) => {
  test('is begun once, as the answer of the claim is on its way', async () => {
    const [taken, go] = [createMoment(), createMoment()];
    const place = newPlace();
    const lives: string[] = [];
    const runId = await listenAndDie(place, lives);
    const late = placeOf(place, (journal) => ({
      async claim(given) {
        const runs = await journal.claim(given);
        if (runs.length > 0) taken.pass();
        if (runs.length > 0) await go.passed;
        return runs;
      },
    }));
    const second = await bench(late, listening(lives, 'second'));
    await send(second, 1);
    await taken.passed;
    const resumed = second.engine.resumeHook('messages', 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    go.pass();
    await resumed;
    expect(outputOf(await second.engine.wait(runId, 20_000))).toEqual([1, 2]);
    expect(lives).toEqual(['first', 'second']);
    expect((await second.journal.getRun(runId))?.epoch).toBe(2);
  });

  test('is begun once, as the sweep has claimed it before the claim by its name is made', async () => {
    const taken = createMoment();
    const place = newPlace();
    const lives: string[] = [];
    const runId = await listenAndDie(place, lives);
    const crossed = placeOf(place, (journal) => ({
      async claim(given) {
        const runs = await journal.claim(given);
        if (runs.length > 0) taken.pass();
        return runs;
      },
      async claimRun(...given) {
        await taken.passed;
        return journal.claimRun(...given);
      },
    }));
    const second = await bench(crossed, listening(lives, 'second'));
    await second.engine.resumeHook('messages', 1);
    await second.engine.resumeHook('messages', 2);
    expect(outputOf(await second.engine.wait(runId, 20_000))).toEqual([1, 2]);
    expect(lives).toEqual(['first', 'second']);
  });

  test('is begun once, as its code is loaded', async () => {
    const [reading, go] = [createMoment(), createMoment()];
    const place = newPlace();
    const lives: string[] = [];
    const runId = await listenAndDie(place, lives);
    const code = listening(lives, 'second');
    const second = await bench(place, code, {
      async resolve() {
        reading.pass();
        await go.passed;
        return { run: code.go as never, codeHash: 'hash', durability: 'process' };
      },
    });
    await second.engine.resumeHook('messages', 1);
    await reading.passed;
    await second.engine.resumeHook('messages', 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    go.pass();
    expect(outputOf(await second.engine.wait(runId, 20_000))).toEqual([1, 2]);
    expect(lives).toEqual(['first', 'second']);
  });

  test('is begun once, as two resumes have waited for a claim that does not bring it', async () => {
    const [asked, go] = [createMoment(), createMoment()];
    const place = newPlace();
    const lives: string[] = [];
    const runId = await listenAndDie(place, lives);
    let isHeld = false;
    const late = placeOf(place, (journal) => ({
      async claim(given) {
        const runs = await journal.claim(given);
        if (!isHeld) return runs;
        asked.pass();
        await go.passed;
        return runs;
      },
    }));
    const code = { ...listening(lives, 'second'), quick: async () => 'quick' };
    const second = await bench(late, code, { sweepMs: 60_000 });
    const other = await bench(place, code, { exclusive: false, maxLive: 0, sweepMs: 60_000 });
    isHeld = true;
    await other.start('quick');
    const sweeping = second.engine.tick();
    await asked.passed;
    const resumed = [1, 2].map((message) => second.engine.resumeHook('messages', message));
    await Promise.all(resumed);
    go.pass();
    await sweeping;
    expect(outputOf(await second.engine.wait(runId, 20_000))).toEqual([1, 2]);
    expect(lives).toEqual(['first', 'second']);
  });

  test('is cancelled without waiting for the next sweep, where that was asked for as its code is loaded', async () => {
    const [reading, go] = [createMoment(), createMoment()];
    const place = newPlace();
    const runId = await listenAndDie(place, []);
    const tidy = step('tidy', () => 'tidied');
    const run = async (): Promise<void> => {
      try {
        await createHook({ token: 'messages' });
      } finally {
        await tidy();
      }
    };
    const second = await bench(
      place,
      { go: run },
      {
        sweepMs: 60_000,
        async resolve() {
          reading.pass();
          await go.passed;
          return { run: run as never, codeHash: 'hash', durability: 'process' };
        },
      },
    );
    await second.engine.resumeHook('messages', 1);
    await reading.passed;
    const cancelled = second.engine.cancel(runId, new Error('enough'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    go.pass();
    await cancelled;
    expect(await second.engine.wait(runId, 20_000)).toMatchObject({ status: 'cancelled' });
  });
});

test('an arrival is over once the last of those that bring the run is, in whatever order they end', async () => {
  const live = createLiveRuns({ journal: { getRun: async () => undefined }, isolated: undefined });
  const [first, second] = [createMoment(), createMoment()];
  const arriving = [first, second].map(({ passed }) => live.arrive('run', () => passed));
  let isOver = false;
  void live.arrival('run')?.then(() => (isOver = true));
  second.pass();
  await arriving[1];
  await new Promise(setImmediate);
  expect([isOver, live.isHere('run')]).toEqual([false, true]);
  first.pass();
  await arriving[0];
  await new Promise(setImmediate);
  expect([isOver, live.isHere('run'), live.arrival('run')]).toEqual([true, false, undefined]);
});
