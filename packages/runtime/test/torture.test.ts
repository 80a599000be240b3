import { expect, test } from 'vitest';
import { runKills } from '../../../torture/kill.mjs';
import { describeWhen, realServers } from './require.ts';

const KEPT = { problems: [] };

test('runs survive a process that is killed five times', { timeout: 60_000 }, async () => {
  expect(await runKills({ loops: 5, runs: 10, steps: 10, workers: 1 })).toMatchObject({ ...KEPT, kills: 5 });
});

describeWhen(realServers.database, 'two processes on one Postgres', (url) => {
  test('finish what either of them began, however often both are killed', { timeout: 60_000 }, async () => {
    const store = { store: 'postgres' as const, url, schema: `torture_${process.pid}` };
    expect(await runKills({ loops: 4, runs: 8, steps: 10, workers: 2, store })).toMatchObject({ ...KEPT, kills: 8 });
  });
});
