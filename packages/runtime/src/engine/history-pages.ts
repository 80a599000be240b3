import type { JournalRecord } from './journal/record.ts';
import type { RunReader } from './journal/reading.ts';
import { real } from './real.ts';

/**
 * A history page by page, none much larger than the one before and than 8 MiB where that can be known: each statement has
 * a limit of time, and a record may hold megabytes.
 */
export async function* pagesOf(
  runId: string,
  listRecords: RunReader['listRecords'],
  first: number = FIRST_RECORDS,
): AsyncGenerator<JournalRecord[], void> {
  let from = 0;
  let limit = first;
  // Positions are dense from 0, and what is appended meanwhile comes behind.
  for (;;) {
    const page = await listRecords(runId, { from, limit });
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    from += page.length;
    const bytes = sizeOfRecords(page) + 1;
    limit = Math.max(1, Math.min(MOST_RECORDS, limit * 4, Math.floor((limit * PAGE_BYTES) / bytes)));
    // A file is read with the event loop.
    await new Promise((resolve) => real.setImmediate(resolve));
  }
}

/** About as many bytes as their values take. */
export function sizeOfRecords(records: readonly JournalRecord[]): number {
  return records.reduce(
    (sum, { input, output, error }) => sum + (input?.length ?? 0) + (output?.length ?? 0) + (error?.length ?? 0),
    0,
  );
}

// --- internal ---

const FIRST_RECORDS = 100;
const MOST_RECORDS = 1_000;
const PAGE_BYTES = 8 * 1024 * 1024;
