import type { QueuePlace } from '../engine/journal/queue.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';

/** Where a page of a queue ended, and how many were shown before it. */
export function toQueueCursor(shown: number, { readyAt, priority, queueNo }: QueuePlace): string {
  return toCursor(shown, readyAt ?? 0, priority, queueNo);
}

/** Throws `invalid_cursor`. */
export function parseQueueCursor(cursor: string): [shown: number, after: QueuePlace] {
  const [shown, readyAt, priority, queueNo] = parseCursor(cursor, isPlace);
  return [shown, { readyAt, priority, queueNo }];
}

// --- internal ---

type Place = [shown: number, readyAt: number, priority: number, queueNo: number];

function isPlace(place: unknown[]): place is Place {
  return place.length === 4 && place.every(Number.isSafeInteger);
}
