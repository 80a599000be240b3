import { afterEach, expect, test } from 'vitest';
import { newJournalPath, outputOf, step, until, useBenches } from '../_setup.ts';
import { sleep } from '../primitives/sleep.ts';

const bench = useBenches();
const NAME = 'SVC_VARIABLES_TEST';
afterEach(() => void delete process.env[NAME]);

/** Starts `go`, kills its process while it sleeps, and lets another one finish it with `then`. */
async function across(first: string | undefined, then: string | undefined, again: () => Promise<unknown> = body) {
  const path = newJournalPath();
  setVariable(first);
  const one = await bench(path, { go: body });
  const { runId } = await one.start('go');
  await until(async () => (await one.journal.getRun(runId))?.status === 'waiting');
  await one.kill();
  setVariable(then);
  const two = await bench(path, { go: again }, again === body ? {} : { codeHash: 'other' });
  const row = await two.engine.wait(runId, 10_000);
  return { row, records: await two.journal.getRecords(runId) };
}

const seen = step('seen', () => process.env[NAME] ?? 'none');
const body = async () => {
  const before = process.env[NAME];
  await sleep(200);
  return [before, process.env[NAME], await seen()];
};

test('a body reads what it first read, in every process that runs it; its steps read what is there', async () => {
  const { row, records } = await across('first', 'second');
  expect(outputOf(row)).toEqual(['first', 'first', 'second']);
  expect(records.map(({ kind, call, seq }) => [kind, call, seq])).toEqual([
    ['env', -1, 0],
    ['sleep', 0, 1],
    ['sleep', 0, 2],
    ['step', 1, 3],
  ]);
});

test('a variable that was missing stays missing', async () => {
  expect(outputOf((await across(undefined, 'late')).row)).toEqual([undefined, undefined, 'late']);
});

test('code that reads one more, or none, replays all the same', async () => {
  const more = async () => {
    const added = process.env['SVC_VARIABLES_ADDED'] ?? 'nothing';
    return [added, ...(await body())];
  };
  const none = async () => sleep(200).then(seen);
  expect(outputOf((await across('first', 'second', more)).row)).toEqual(['nothing', 'first', 'first', 'second']);
  expect(outputOf((await across('first', 'second', none)).row)).toBe('second');
});

test('a body that reads none records none', async () => {
  const { run, journal } = await bench(newJournalPath(), { go: async () => seen() });
  const { runId } = await run('go');
  expect((await journal.getRecords(runId)).map(({ kind }) => kind)).toEqual(['step']);
});

function setVariable(value: string | undefined): void {
  if (value === undefined) delete process.env[NAME];
  else process.env[NAME] = value;
}
