import { expect } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import { call } from './_setup.ts';
import type { TestBox, TestBoxes } from './_setup.ts';
import { filesOf } from './_version-edits.ts';
import type { Asked, Edit } from './_version-edits.ts';
import { expectedEnds, finishAll, parkAll, toldOf } from './_version-matrix.ts';
import type { ParkedRun } from './_version-matrix.ts';
import { createBuiltWorkspace } from './_versions.ts';

export interface Rolling {
  boxes: TestBoxes;
  /** One replica more on the store of the test. */
  open(options: Partial<BoxOptions>): Promise<TestBox>;
  edits: readonly Edit[];
  /** Which build is up first. The runs begin on build 1. */
  order: readonly [1 | 2, 1 | 2];
  /** When those that sleep wake. */
  sleepMs: number;
}

/**
 * One is up; the other joins; the first goes; it returns; the other goes. A third of the runs of build 1 goes on while both are up,
 * one while build 1 is away, one once it is back alone. Each ends with the result of build 1.
 */
export async function rollOver({ boxes, open, edits, order, sleepMs }: Rolling): Promise<void> {
  const workspace = createBuiltWorkspace();
  const built = { 1: await workspace.build(filesOf(1, edits)), 2: await workspace.build(filesOf(2, edits)) };
  const up = new Map<1 | 2, TestBox>();
  const begin = async (version: 1 | 2): Promise<void> => void up.set(version, await open(built[version].options));
  const end = async (version: 1 | 2): Promise<void> => {
    const box = boxOf(version);
    up.delete(version);
    errors.push(...box.logs.filter(({ level }) => level === 'error'));
    await box.shut();
  };
  const boxOf = (version: 1 | 2): TestBox => {
    const box = up.get(version);
    if (!box) throw new Error(`Build ${version} is not up.`);
    return box;
  };
  const errors: unknown[] = [];
  const sendTo = (version: 1 | 2) => async (route: string, body?: unknown) =>
    (await call(boxOf(version), route, body)).body;
  const ends: Record<string, unknown> = {};
  const told: Record<string, string[]> = {};
  /** By the replica of which build they are asked; the agents of the workspace that are begun meanwhile are of `newest`. */
  const finishThird = async (third: readonly ParkedRun[], asked: 1 | 2, newest: 1 | 2): Promise<void> => {
    const before = boxes.model.requests.length;
    Object.assign(ends, await finishAll(sendTo(asked), third));
    const requests = boxes.model.requests.slice(before) as unknown as Asked[];
    Object.assign(told, toldOf(third, requests));
    for (const { edit, park, id } of third)
      // What sleeps wakes while one or the other is up: by it, and by it alone.
      if (edit.agent !== undefined && park !== 'sleep') expectedTold[id] = [park === 'turn' ? '1' : String(newest)];
      else if (edit.agent !== undefined) expectedTold[id] = [expect.stringMatching(/^[12]$/) as string];
  };
  const expectedTold: Record<string, string[]> = {};

  await begin(order[0]);
  if (order[0] === 2) await begin(1);
  const runs = await parkAll(sendTo(1), edits, { sleepMs });
  if (order[0] === 1) await begin(2);
  const sleeping = runs.filter(({ park }) => park === 'sleep');
  const others = runs.filter(({ park }) => park !== 'sleep');
  const [one, two, three] = [0, 1, 2].map((third) => others.filter((_, index) => index % 3 === third));
  await finishThird(one ?? [], 2, 1);
  await end(1);
  await finishThird([...(two ?? []), ...sleeping], 2, 2);
  await begin(1);
  await end(2);
  await finishThird(three ?? [], 1, 1);
  expect(ends).toEqual(expectedEnds(runs, process.env.SVC_MATRIX_TODAY ?? ''));
  expect(told).toEqual(expectedTold);
  await end(1);
  expect(errors).toEqual([]);
}
