import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { newJournalPath, until } from '../_setup.ts';
import type { JournalRecord } from '../journal/record.ts';
import { newRecord, newRun } from '../stores/contract/records.ts';
import { openSqliteJournal } from '../stores/sqlite/journal.ts';
import { createHistories } from './histories.ts';

const LOADING = fileURLToPath(new URL('./fixtures/load-histories.mjs', import.meta.url));
const MIB = 1024 * 1024;

test('histories that together are larger than the heap are all taken up at once', { timeout: 120_000 }, async () => {
  const path = newJournalPath();
  const journal = await openSqliteJournal({ path });
  const output = JSON.stringify('x'.repeat(MIB));
  for (let n = 0; n < 50; n++)
    await journal.create(newRun({ records: Array.from({ length: 8 }, (_, seq) => newRecord(seq, { output })) }));
  await journal.close();
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=192', LOADING, path]);
  expect(stdout.split(' ')[0]).toBe('50');
  expect(Number(stdout.split(' ')[1])).toBeGreaterThan(400 * MIB);
});

test('those that are replayed count until they are, and one larger than all the room gets its turn', async () => {
  const replaying = new Set<string>();
  let reads = 0;
  const big = Array.from({ length: 40 }, (_, seq) => newRecord(seq, { output: 'x'.repeat(100_000) }));
  const histories = createHistories({
    journal: {
      async listRecords(_runId, { from, limit }): Promise<JournalRecord[]> {
        reads += 1;
        return big.slice(from, from + limit);
      },
    },
    leaseMs: 1_000,
    isReplaying: (runId) => replaying.has(runId),
    bytes: 1_000_000,
  });
  const load = async (runId: string): Promise<number> => {
    replaying.add(runId);
    return (await histories.load(runId)).length;
  };
  expect(await load('first')).toBe(40);
  const before = reads;
  let isLoaded = false;
  const second = load('second').then((count) => ((isLoaded = true), count));
  // Two looks of the one that waits.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([isLoaded, reads - before]).toStrictEqual([false, 0]);
  replaying.delete('first');
  await until(() => isLoaded);
  expect(await second).toBe(40);
});
