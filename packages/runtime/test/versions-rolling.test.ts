import { describe, onTestFinished, test, vi } from 'vitest';
import { newJournalPath } from '../src/engine/_setup.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { setupBoxes } from './_setup.ts';
import { EDITS } from './_version-edits.ts';
import { rollOver } from './_version-rolling.ts';

// A share of the kinds of edits, for two replicas with different builds on one file. All of them on PostgreSQL: versions-rolling-matrix.

const boxes = setupBoxes();
const SHARE = ['helpers', 'deletes', 'tools'];
const edits = EDITS.filter(({ workflow }) => SHARE.includes(workflow));

describe('two replicas with different builds', () => {
  test.each([
    [1, 2],
    [2, 1],
  ] as const)('%i is up, %i joins, back and forth: each run ends with the result of its own code', async (...order) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('SVC_MATRIX_TODAY', 'today');
    const path = newJournalPath();
    const open = async (options: object) => {
      const journal = await openSqliteJournal({ path });
      return boxes.open({
        journal,
        options: { exclusive: false, engine: { sweepMs: 100, pollMs: 50, drainMs: 0 }, ...options },
      });
    };
    await rollOver({ boxes, open, edits, order, sleepMs: 2_500 });
  });
});
