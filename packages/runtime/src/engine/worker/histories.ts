import { getHeapStatistics } from 'node:v8';
import { pagesOf, sizeOfRecords } from '../history-pages.ts';
import type { Journal } from '../journal.ts';
import type { JournalRecord } from '../journal/record.ts';
import { persist } from '../persist.ts';
import { real } from '../real.ts';

/**
 * Reads histories for runs that are taken up. A hundred of them may be due at once and each be of tens of megabytes: so
 * many are read, and held until they are replayed, as have room in memory; the others wait. The first of
 * those that are read or replayed always goes on, so a history larger than all the room gets its turn.
 */
export interface Histories {
  load(runId: string): Promise<JournalRecord[]>;
}

export interface HistoriesOptions {
  journal: Pick<Journal, 'listRecords'>;
  leaseMs: number;
  /** The run is in memory and has not come to the end of its history. */
  isReplaying(runId: string): boolean;
  /** Default: an eighth of what the heap may grow to, 64 MiB at most. */
  bytes?: number | undefined;
}

export function createHistories({ journal, leaseMs, isReplaying, bytes = ROOM }: HistoriesOptions): Histories {
  /** In the order they came. */
  const entries = new Set<Entry>();
  const waiting = new Set<() => void>();
  let loading = 0;
  let used = 0;
  let pageBytes = bytes / 4;
  let poll: ReturnType<typeof setTimeout> | undefined;

  const forget = (entry: Entry): void => {
    if (entries.delete(entry)) used -= entry.bytes;
  };
  /** Those that have been replayed, have left memory, or take too long to be waited for. */
  const forgetReplayed = (): void => {
    const now = real.performanceNow();
    for (const entry of entries)
      if (entry.loadedAt !== undefined && (!isReplaying(entry.runId) || now - entry.loadedAt > LONGEST_MS))
        forget(entry);
  };
  const look = (): void => {
    poll = undefined;
    forgetReplayed();
    for (const wake of waiting) wake();
    if (waiting.size > 0) poll ??= real.setTimeout(look, POLL_MS);
  };
  const until = async (condition: () => boolean): Promise<void> => {
    if (condition()) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        if (!condition()) return;
        waiting.delete(wake);
        resolve();
      };
      waiting.add(wake);
      poll ??= real.setTimeout(look, POLL_MS);
    });
  };
  const isFirst = (entry: Entry): boolean => {
    for (const other of entries) if (other.hasBegun) return other === entry;
    return true;
  };
  const hasRoom = (entry: Entry): boolean => {
    if (used >= bytes) forgetReplayed();
    return used < bytes || isFirst(entry);
  };

  const begin = (entry: Entry): boolean => {
    // Pages under way have no size yet: that of late ones stands for it.
    const atOnce = Math.max(2, Math.min(MOST_AT_ONCE, Math.floor(bytes / pageBytes)));
    if (loading >= atOnce || !hasRoom(entry)) return false;
    loading += 1;
    return (entry.hasBegun = true);
  };

  const read = async (entry: Entry): Promise<JournalRecord[]> => {
    const list: Journal['listRecords'] = async (runId, page) => {
      await until(() => hasRoom(entry));
      return persist(() => journal.listRecords(runId, page), leaseMs);
    };
    const records: JournalRecord[] = [];
    for await (const page of pagesOf(entry.runId, list, FIRST_RECORDS)) {
      const size = sizeOfRecords(page);
      entry.bytes += size;
      used += size;
      pageBytes = Math.max(size, pageBytes * 0.8, 1);
      records.push(...page);
    }
    return records;
  };

  return {
    async load(runId) {
      const entry: Entry = { runId, bytes: 0, hasBegun: false, loadedAt: undefined };
      entries.add(entry);
      await until(() => begin(entry));
      try {
        const records = await read(entry);
        entry.loadedAt = real.performanceNow();
        // What is small need not be watched.
        if (entry.bytes < SMALL) forget(entry);
        return records;
      } catch (error) {
        forget(entry);
        throw error;
      } finally {
        loading -= 1;
        for (const wake of waiting) wake();
      }
    },
  };
}

// --- internal ---

interface Entry {
  runId: string;
  bytes: number;
  hasBegun: boolean;
  loadedAt: number | undefined;
}

const ROOM = Math.min(64 * 1024 * 1024, Math.floor(getHeapStatistics().heap_size_limit / 8));
const MOST_AT_ONCE = 32;
const FIRST_RECORDS = 8;
const SMALL = 64 * 1024;
const POLL_MS = 5;
/** A body that awaits something else meanwhile holds up no run for longer. */
const LONGEST_MS = 10_000;
