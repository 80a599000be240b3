import { dirname } from 'node:path';
import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newJournalPath } from '../src/engine/_setup.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { EDITS, filesOf, PARKS } from './_version-edits.ts';
import type { Asked } from './_version-edits.ts';
import { expectedMoved, finishAll, parkAll, toldOf, verdictOf } from './_version-matrix.ts';
import { createBuiltWorkspace } from './_versions.ts';

// Every kind of edit, for runs that wait in every way: what a check says of each, and how those end that are moved and those that
// are not.

const boxes = setupBoxes();
/** Less than an hour: that is the timeout of a run. */
const SLEEP_MS = 1_800_000;

interface Item {
  runId: string;
  kind: string;
  name: string;
  outcome: string;
  stop: { code: string } | null;
}

test(`${EDITS.length} kinds of edits x ${PARKS.length} ways to wait: those that are safe are moved and end by the new code, the others by their own`, async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const workspace = createBuiltWorkspace();
  const [v1, v2] = [await workspace.build(filesOf(1)), await workspace.build(filesOf(2))];
  const path = newJournalPath();
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }));
  let ahead = 0;
  const now = (): number => Date.now() + ahead;
  const openBox = async ({ options }: typeof v1) =>
    boxes.open({
      journal: await openSqliteJournal({ path, clock: now }),
      options: { ...options, engine: { sweepMs: 100, clock: { now, sync: async () => {} } } },
    });
  const sendTo = (box: TestBox) => async (route: string, body?: unknown) => (await call(box, route, body)).body;
  vi.stubEnv('SVC_MATRIX_TODAY', 'yesterday');
  const first = await openBox(v1);
  const runs = await parkAll(sendTo(first), EDITS, { sleepMs: SLEEP_MS });
  await first.shut();
  vi.stubEnv('SVC_MATRIX_TODAY', 'today');
  const box = await openBox(v2);
  const before = box.model.requests.length;
  const readAll = async (ask: (cursor: string | null) => Promise<{ items: Item[]; nextCursor: string | null }>) => {
    const items: Item[] = [];
    let cursor: string | null = null;
    do {
      const page = await ask(cursor);
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return items;
  };
  const check = () =>
    readAll(
      async (cursor) =>
        (await call(box, `GET /api/upgrade?limit=100${cursor ? `&cursor=${cursor}` : ''}`)).body as never,
    );
  const apply = () =>
    readAll(
      async (cursor) =>
        (await call(box, 'POST /api/upgrade', { limit: 100, ...(cursor ? { cursor } : {}) })).body as never,
    );
  const verdicts = (items: readonly Item[]) =>
    Object.fromEntries(
      runs.map(({ id, runId }) => {
        const item = items.find((one) => one.runId === runId);
        return [id, item && [item.outcome, item.stop?.code]];
      }),
    );
  const expected = (safe: string) =>
    Object.fromEntries(
      runs.map(({ edit, id }) => {
        const verdict = verdictOf(edit);
        return [id, [verdict === 'safe' ? safe : verdict, edit.stop]];
      }),
    );
  const turnsOf = (items: readonly Item[]) =>
    items
      .filter(({ kind }) => kind === 'agent')
      .map(({ name, outcome }) => [name, outcome])
      .toSorted();
  const agents = EDITS.flatMap(({ agent }) => agent ?? []).toSorted();

  const checked = await check();
  expect(verdicts(checked)).toEqual(expected('safe'));
  expect(turnsOf(checked)).toEqual(agents.map((agent) => [agent, 'safe']));
  expect(box.model.requests).toHaveLength(before);

  const applied = await apply();
  expect(verdicts(applied)).toEqual(expected('moved'));
  expect(turnsOf(applied)).toEqual(agents.map((agent) => [agent, 'moved']));
  // What is left is what stops.
  const stopped = runs.flatMap(({ edit, runId }) => (verdictOf(edit) === 'stops' ? [runId] : []));
  expect((await check()).map(({ runId }) => runId).toSorted()).toEqual(stopped.toSorted());

  ahead = SLEEP_MS;
  const ends = await finishAll(sendTo(box), runs, ({ edit }) => (verdictOf(edit) === 'safe' ? 2 : 1));
  expect(ends).toMatchObject(expectedMoved(runs, 'today'));
  // A turn that was moved is told what its new code says, as one that begins later is. Its model it was begun with.
  const told = toldOf(runs, box.model.requests.slice(before) as unknown as Asked[]);
  expect(told).toEqual(Object.fromEntries(Object.keys(told).map((id) => [id, [id === 'models-turn' ? '1' : '2']])));
  const errors = box.logs.filter(({ level, event }) => level === 'error' && event !== 'run.failed');
  expect(errors).toEqual([]);
});
