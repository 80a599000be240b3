import { describe, expect, test } from 'vitest';
import type { JournalPlace } from './place.ts';
import { newAppend, newRecord } from './records.ts';
import { claim, ids, read } from './world.ts';

/** A journal that an earlier build made opens, with what it holds. */
export function describeUpgrade(name: string, newest: number, createPlace: () => Promise<JournalPlace>): void {
  describe(`${name} of an older schema`, () => {
    test.each(Array.from({ length: newest - 1 }, (_, index) => index + 1))('version %i opens', async (version) => {
      const place = await createPlace();
      await place.migrate(version);
      await place.change((prefix) => `insert into ${prefix}runs (${COLUMNS}) values (${VALUES})`);
      const journal = await place.open();
      const runs = await claim(journal);
      expect(ids(runs)).toStrictEqual(['old']);
      const run = await read(journal, 'old');
      const hooks = [{ token: 't', call: 0, kind: 'approval', many: false, detail: null, since: 0 } as const];
      await journal.append(newAppend(run, { records: [newRecord(0)], hooks, patch: { status: 'completed' } }));
      expect(await read(journal, 'old')).toMatchObject({ input: '[1]', seq: 1, status: 'completed', crashCount: 0 });
      await journal.close();
      const again = await place.open();
      expect(await again.getRecords('old')).toHaveLength(1);
      await again.close();
      await place.remove();
    });
  });
}

// --- internal ---

/** Those that a run had in the first version. */
const COLUMNS = `run_id, trace_id, kind, name, trigger, status, seq, epoch, signals, input, input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, total_tokens, created_at`;
const VALUES = `'old', 't', 'workflow', 'refund', 'api', 'queued', 0, 0, 0, '[1]', 0, 0, 0, 0, 0, 1`;
