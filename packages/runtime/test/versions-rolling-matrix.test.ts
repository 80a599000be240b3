import { expect, onTestFinished, test, vi } from 'vitest';
import { createCluster } from './_cluster.ts';
import { describeWhen, realServers } from './require.ts';
import { setupBoxes } from './_setup.ts';
import { EDITS, PARKS } from './_version-edits.ts';
import { rollOver } from './_version-rolling.ts';

// Every kind of edit, for runs that wait in every way, while two replicas with different builds come and go on one PostgreSQL.

const boxes = setupBoxes();

describeWhen(realServers.database, 'two replicas with different builds, on PostgreSQL', (database) => {
  test.each([
    [1, 2],
    [2, 1],
  ] as const)(
    `%i is up, %i joins, back and forth: ${EDITS.length} kinds of edits x ${PARKS.length} ways to wait`,
    async (...order) => {
      onTestFinished(() => void vi.unstubAllEnvs());
      vi.stubEnv('SVC_MATRIX_TODAY', 'today');
      expect(EDITS.length * PARKS.length).toBeGreaterThanOrEqual(100);
      const openOne = createCluster(boxes, { database, kv: '' });
      const open = (options: object) => openOne({ kv: null, engine: { sweepMs: 100, pollMs: 50 }, options });
      await rollOver({ boxes, open, edits: EDITS, order, sleepMs: 20_000 });
    },
    600_000,
  );
});
