import { expect, test } from 'vitest';
import { createBacklog } from './backlog.ts';

test('a full hook has room again once its run has taken some, also where the clock of the store was set back', async () => {
  const given = 10;
  let [taken, time] = [0, 1_000_000];
  const hooks = { countGiven: async () => ({ runId: 'r', given }), countTaken: async () => taken };
  const backlog = createBacklog({ journal: { hooks } as never, now: () => time, most: 10 });
  expect(await backlog.isFull('token')).toBe(true);
  taken = 4;
  time -= 3_600_000;
  expect(await backlog.isFull('token')).toBe(false);
});
