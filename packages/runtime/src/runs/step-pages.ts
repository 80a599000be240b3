import { sizeOfRecords } from '../engine/history-pages.ts';
import type { Journal } from '../engine/journal.ts';
import { toSteps } from './steps.ts';
import type { Step } from './steps.ts';

export interface StepPage {
  items: Step[];
  /** The call that the next page begins behind; null: there is none. */
  next: number | null;
}

/**
 * The steps of a run behind a call, up to `limit`. A page ends before that once its values are of some megabytes, with
 * at least one step on it: a run may have recorded gigabytes.
 */
export async function listSteps(
  journal: Pick<Journal, 'listCalls'>,
  runId: string,
  { limit, after = -1 }: { limit: number; after?: number },
): Promise<StepPage> {
  const items: Step[] = [];
  let last = after;
  let bytes = 0;
  let size = FIRST_CALLS;
  for (;;) {
    // One more than there is room for says whether there is a next page.
    const wanted = Math.min(size, limit + 1 - items.length);
    const records = await journal.listCalls(runId, { after: last, limit: wanted });
    const steps = toSteps(records);
    items.push(...steps);
    if (items.length > limit) return toPage(items.slice(0, limit));
    if (new Set(records.map(({ call }) => call)).size < wanted) return { items, next: null };
    last = records.reduce((most, { call }) => Math.max(most, call), last);
    bytes += sizeOfRecords(records);
    if (bytes >= PAGE_BYTES && items.length > 0) return { items, next: last };
    size = Math.max(1, Math.min(MOST_CALLS, Math.floor(((PAGE_BYTES - bytes) * size) / (sizeOfRecords(records) + 1))));
  }
}

// --- internal ---

const FIRST_CALLS = 4;
const MOST_CALLS = 250;
const PAGE_BYTES = 4 * 1024 * 1024;

function toPage(items: Step[]): StepPage {
  return { items, next: items.at(-1)?.call ?? null };
}
