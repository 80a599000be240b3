import type { HookPlace } from '../engine/journal/hooks.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';

/** Where a page of approvals ended: in which part of the list, and after which approval. */
export interface ApprovalPlace {
  part: number;
  after?: HookPlace;
}

export function toApprovalCursor(part: number, { createdAt, runId, token }: HookPlace): string {
  return toCursor(part, createdAt, runId, token);
}

/** Throws `invalid_cursor`. */
export function parseApprovalCursor(cursor: string): ApprovalPlace {
  const [part, createdAt, runId, token] = parseCursor(cursor, isPlace);
  return { part, after: { createdAt, runId, token } };
}

// --- internal ---

type Place = [part: number, createdAt: number, runId: string, token: string];

function isPlace(place: unknown[]): place is Place {
  const [part, createdAt, runId, token] = place;
  return (
    Number.isInteger(part) && Number.isInteger(createdAt) && typeof runId === 'string' && typeof token === 'string'
  );
}
