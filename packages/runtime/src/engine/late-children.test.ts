import { expect, test } from 'vitest';
import { step, until, useBenches } from './_setup.ts';
import type { Code, Place } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { RunCancelledError } from './errors.ts';
import { startWorkflow } from './primitives/child-workflow.ts';
import { sleep } from './primitives/sleep.ts';
import { wrapJournal } from './stores/wrap.ts';

const bench = useBenches();

interface Held {
  place: Place;
  /** The second start, the child's, has come as far as it comes before `pass`. */
  reached: Promise<void>;
  pass(): void;
  /** It is in the store. */
  stored: Promise<void>;
}

/** @param when its second start waits for `pass`: before it is stored, or before it is answered; `lost`: before it is stored, and it is never answered */
function holdSecondStart(place: Place, when: 'before' | 'after' | 'lost'): Held {
  const [reached, passed, stored] = [gate(), gate(), gate()];
  let starts = 0;
  const open: Place['open'] = async () =>
    wrapJournal(await place.open(), async (name, call) => {
      if (name !== 'create' || ++starts !== 2) return call();
      const hold = async (): Promise<void> => {
        reached.pass();
        await passed.whenPassed;
      };
      if (when !== 'after') await hold();
      const answer = await call();
      stored.pass();
      if (when === 'after') await hold();
      return when === 'lost' ? new Promise<never>(() => {}) : answer;
    });
  return { place: { open }, reached: reached.whenPassed, pass: passed.pass, stored: stored.whenPassed };
}

function gate(): { pass(): void; whenPassed: Promise<void> } {
  let pass = (): void => {};
  const whenPassed = new Promise<void>((resolve) => (pass = resolve));
  return { pass, whenPassed };
}

/** Starts a child, in its body or in a step, and another one as it cleans up. */
function toCode(where: 'body' | 'step'): Code {
  const begin = step('begin', () => startWorkflow('child', 'first'));
  return {
    child: async () => sleep('1h'),
    async go() {
      try {
        await (where === 'body' ? startWorkflow('child', 'first') : begin());
        await sleep('1h');
      } finally {
        await startWorkflow('child', 'of the clean-up', { parentClosePolicy: 'abandon' });
      }
    },
  };
}

describeOnStores('a run that is cancelled while it starts a child', (newPlace) => {
  test.each(
    (['body', 'step'] as const).flatMap((where) => (['before', 'after'] as const).map((when) => ({ where, when }))),
  )(
    'in its $where takes the child along, also $when that is stored, and keeps what its clean-up starts',
    async (how) => {
      const { place, reached, pass } = holdSecondStart(newPlace(), how.when);
      const opened = await bench(place, toCode(how.where), { cleanupOf: () => 60_000 });
      const { runId } = await opened.start('go');
      await reached;
      await opened.engine.cancel(runId, new RunCancelledError(), { cleansUp: true });
      pass();
      expect((await opened.engine.wait(runId, 10_000))?.status).toBe('cancelled');
      const children = await opened.journal.listRuns({ parentRunId: runId }, { limit: 10 });
      const [later, first] = children.toSorted((a, b) => b.createdAt - a.createdAt || b.runId.localeCompare(a.runId));
      expect(children).toHaveLength(2);
      await until(async () => (await opened.journal.getRun(String(first?.runId)))?.status === 'cancelled');
      expect((await opened.journal.getRun(String(later?.runId)))?.endedAt).toBeNull();
    },
  );

  test('and has no time to clean up, never begins it', async () => {
    const { place, reached, pass } = holdSecondStart(newPlace(), 'before');
    let begun = 0;
    const opened = await bench(place, {
      child: async () => void (begun += 1),
      go: async () => startWorkflow('child', 'late'),
    });
    const { runId } = await opened.start('go');
    await reached;
    await opened.engine.cancel(runId, new RunCancelledError());
    pass();
    const children = async () => opened.journal.listRuns({ parentRunId: runId }, { limit: 10 });
    await until(async () => (await children())[0]?.status === 'cancelled');
    await until(() => opened.engine.liveRuns === 0);
    expect(begun).toBe(0);
  });

  test('takes the child along in the next process, where its own died before it could', async () => {
    const place = newPlace();
    const { place: held, reached, pass, stored } = holdSecondStart(place, 'lost');
    const code = toCode('body');
    const first = await bench(held, code, { cleanupOf: () => 60_000 });
    const { runId } = await first.start('go');
    await reached;
    await first.engine.cancel(runId, new RunCancelledError(), { cleansUp: true });
    pass();
    await stored;
    await first.kill();
    const second = await bench(place, code, { cleanupOf: () => 60_000 });
    expect((await second.engine.wait(runId, 10_000))?.status).toBe('cancelled');
    const statuses = async (): Promise<string[]> =>
      (await second.journal.listRuns({ parentRunId: runId }, { limit: 10 })).map(({ endedAt }) =>
        String(endedAt !== null),
      );
    await until(async () => (await statuses()).includes('true'));
    expect((await statuses()).toSorted()).toEqual(['false', 'true']);
  });

  test('refuses a start of a step that was cancelled', async () => {
    let tried: unknown;
    let isAborted = (): void => {};
    const aborted = new Promise<void>((resolve) => (isAborted = resolve));
    const stubborn = step('stubborn', async () => {
      await aborted;
      tried = await startWorkflow('child', 'late').catch((error: Error) => error);
    });
    const undo = step('undo', () => isAborted());
    const opened = await bench(
      newPlace(),
      {
        child: async () => sleep('1h'),
        async go() {
          try {
            await stubborn();
          } finally {
            await undo();
          }
        },
      },
      { cleanupOf: () => 60_000 },
    );
    const { runId } = await opened.start('go');
    await until(() => (opened.engine.runningSteps(runId) ?? []).length > 0);
    await opened.engine.cancel(runId, new RunCancelledError(), { cleansUp: true });
    await until(() => tried !== undefined);
    expect(RunCancelledError.is(tried)).toBe(true);
    expect(await opened.journal.listRuns({ parentRunId: runId }, { limit: 1 })).toEqual([]);
  });
});
