import type { HookPlace } from '../engine/journal/hooks.ts';
import { invalidCursor } from '../errors.ts';

/** Where a page of approvals ended: in which part of the list, and after which approval. */
export interface ApprovalPlace {
  part: number;
  after?: HookPlace;
}

export function toCursor(part: number, { createdAt, runId, token }: HookPlace): string {
  return Buffer.from(JSON.stringify([part, createdAt, runId, token])).toString('base64url');
}

/** Throws `invalid_cursor`. */
export function parseCursor(cursor: string): ApprovalPlace {
  try {
    const [part, createdAt, runId, token] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (Number.isInteger(part) && Number.isInteger(createdAt) && typeof runId === 'string' && typeof token === 'string')
      return { part: part as number, after: { createdAt: createdAt as number, runId, token } };
  } catch {
    // Not JSON: said below.
  }
  throw invalidCursor(cursor);
}
