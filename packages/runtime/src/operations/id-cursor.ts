import { invalidCursor } from '../errors.ts';

// The cursor of a list that is ordered by an id.

export function toIdCursor(id: string): string {
  return Buffer.from(JSON.stringify([id])).toString('base64url');
}

/** Throws `invalid_cursor`. */
export function parseIdCursor(cursor: string): string {
  try {
    const [id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof id === 'string') return id;
  } catch {
    // Not JSON: said below.
  }
  throw invalidCursor(cursor);
}
