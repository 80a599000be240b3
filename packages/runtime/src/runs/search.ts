import { z } from 'zod';
import type { Journal } from '../engine/journal.ts';
import { wholeRun } from '../engine/large-values.ts';
import type { BriefRun, RunFilter } from '../engine/journal/reading.ts';
import { isJsonText } from '../engine/serialize.ts';
import { bytesOf, isRef } from '../engine/values/large-ref.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { createYielder } from '../yielder.ts';
import { toListedRun } from './run.ts';
import type { ListedRun } from './run.ts';

/** How far a search for a text has come. */
export const Looked = z.object({
  runs: z.int().describe('How many runs were looked through for this page'),
  to: z.iso.datetime().nullable().describe('When the last of them was created. Null: there was none'),
  stored: z
    .int()
    .describe('How many of their inputs and outputs were not looked through, as they are too large or cannot be shown'),
});
export type Looked = z.infer<typeof Looked>;

export interface TextSearch {
  /** Of any case. In a value it is looked for as a text of it, and as a piece of its JSON without spaces. */
  has: string;
  limit: number;
  /** The last run that was looked at. */
  cursor?: string;
}

export interface FoundRuns {
  items: ListedRun[];
  /** Behind it the next page goes on, whether or not this one has found anything; null: all were looked at. */
  nextCursor: string | null;
  looked: Looked;
}

export interface SearchedIn {
  journal: Pick<Journal, 'getRun' | 'listBriefRuns'>;
  engine: Parameters<typeof wholeRun>[0];
}

/**
 * The runs whose input, output or attributes hold a text, newest first. It answers when the page is full, or after 2,000
 * runs, 16 million characters or half a second, with what it has found until then.
 */
export async function searchRuns(
  { journal, engine }: SearchedIn,
  filter: RunFilter,
  { has, limit, cursor }: TextSearch,
): Promise<FoundRuns> {
  const holds = createMatcher(has);
  const yielder = createYielder();
  const until = performance.now() + MOST_MS;
  const items: ListedRun[] = [];
  const looked: Looked = { runs: 0, to: null, stored: 0 };
  let before = cursor;
  let characters = 0;
  const isEnough = () =>
    items.length === limit ||
    looked.runs >= MOST_RUNS ||
    characters >= MOST_CHARACTERS ||
    (looked.runs > 0 && performance.now() >= until);

  for (;;) {
    const rows = await journal.listBriefRuns(filter, { limit: BATCH, ...(before === undefined ? {} : { before }) });
    for (const row of rows) {
      if (isEnough()) return { items, nextCursor: before ?? null, looked };
      await yielder.yieldIfDue();
      const { texts, left } = await readTexts({ journal, engine }, row);
      looked.stored += left;
      let isFound = false;
      for (const text of texts) {
        characters += text.length;
        if (isFound) continue;
        const answer = holds(text);
        isFound = answer === true;
        if (answer === undefined) looked.stored += 1;
        await yielder.yieldIfDue();
      }
      if (isFound) items.push(toListedRun(row));
      looked.runs += 1;
      looked.to = toIso(row.createdAt);
      before = row.runId;
    }
    if (rows.length < BATCH) return { items, nextCursor: null, looked };
  }
}

// --- internal ---

const MOST_RUNS = 2_000;
const MOST_CHARACTERS = 16_000_000;
const MOST_MS = 500;
const BATCH = 100;

/** Of a value that is read whole for it, as it is recorded, and so many characters as JSON. */
const MOST_BYTES = 1_048_576;
const MOST_SHOWN = 2 * MOST_BYTES;

/**
 * Its values as they are recorded, and how many are left out. What a list has the beginning of alone is read whole, a run
 * at a time, unless that is too much.
 */
async function readTexts({ journal, engine }: SearchedIn, row: BriefRun): Promise<{ texts: string[]; left: number }> {
  // A run is read with both of its values.
  const isRead = row.cut.every((member) => row.bytes[member] <= MOST_BYTES);
  const kept = row.cut.length > 0 && isRead ? ((await journal.getRun(row.runId)) ?? row) : row;
  const values = VALUES.flatMap((member) => (isRead || !row.cut.includes(member) ? (kept[member] ?? []) : []));
  const large = values.filter((text) => isRef(text) && bytesOf(text) <= MOST_BYTES);
  const read = await Promise.all(
    large.map(async (input) => (await wholeRun(engine, { input, output: null }).catch(() => undefined))?.input ?? []),
  );
  const texts = [...values.filter((text) => !isRef(text)), ...read.flat()];
  const left = VALUES.filter((member) => kept[member] !== null).length - texts.length;
  return { texts: kept.attributes === null ? texts : [...texts, AS_JSON + kept.attributes], left };
}

const VALUES = ['input', 'output'] as const;

/** The mark of a value that is kept as JSON. */
const AS_JSON = '2';

/**
 * Whether a recorded value holds the text, as it is shown. One that is not kept as JSON has each text and name once, and
 * places instead of values: what is not in there at all is in no text of it, and what is may be such a place. Undefined:
 * it is too long to be shown, or cannot be.
 */
function createMatcher(has: string): (recorded: string) => boolean | undefined {
  const wanted = has.toLowerCase();
  const escaped = JSON.stringify(wanted).slice(1, -1);
  const isIn = (text: string) => text.includes(wanted) || text.includes(escaped);
  const isStructure = /["[\]{},:]/.test(has);
  return (recorded) => {
    const text = recorded.toLowerCase();
    if (isJsonText(recorded)) return isIn(text.slice(AS_JSON.length));
    if (!isStructure && !isIn(text)) return false;
    try {
      return isIn((JSON.stringify(toShownValue(recorded, MOST_SHOWN)) ?? '').toLowerCase());
    } catch {
      return undefined;
    }
  };
}
