import { expect, onTestFinished, test, vi } from 'vitest';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { EDITS, filesOf, PARKS } from './_version-edits.ts';
import type { Asked } from './_version-edits.ts';
import { expectedEnds, expectedTold, finishAll, parkAll, toldOf } from './_version-matrix.ts';
import { createBuiltWorkspace } from './_versions.ts';

// Every kind of edit, for runs that wait in every way, over a restart with a new build: one workspace that has a workflow for each.

const boxes = setupBoxes();

test(`${EDITS.length} kinds of edits x ${PARKS.length} ways to wait: each run ends with the result of its own code`, async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const workspace = createBuiltWorkspace();
  const [v1, v2] = [await workspace.build(filesOf(1)), await workspace.build(filesOf(2))];
  const sendTo = (box: TestBox) => async (route: string, body?: unknown) => (await call(box, route, body)).body;
  vi.stubEnv('SVC_MATRIX_TODAY', 'yesterday');
  const first = await boxes.open({ options: v1.options });
  const runs = await parkAll(sendTo(first));
  await first.shut();
  vi.stubEnv('SVC_MATRIX_TODAY', 'today');
  const before = boxes.model.requests.length;
  const next = await boxes.open({ journalPath: first.journalPath, options: v2.options });
  const ends = await finishAll(sendTo(next), runs);
  expect(ends).toEqual(expectedEnds(runs, 'today'));
  expect(toldOf(runs, boxes.model.requests.slice(before) as unknown as Asked[])).toEqual(expectedTold(runs));
  expect(next.logs.filter(({ level }) => level === 'error')).toEqual([]);
});
