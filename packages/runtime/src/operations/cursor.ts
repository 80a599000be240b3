import { invalidCursor } from '../errors.ts';

/** The cursor of a list: what its order needs to go on after the last item of a page. */
export function toCursor(...place: (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Throws `invalid_cursor` where the place is none of this list. */
export function parseCursor<P extends unknown[]>(cursor: string, isPlace: (place: unknown[]) => place is P): P {
  const place = decode(cursor);
  if (!Array.isArray(place) || !isPlace(place)) throw invalidCursor(cursor);
  return place;
}

/** The cursor of a list that is ordered by an id. */
export function toIdCursor(id: string): string {
  return toCursor(id);
}

/** Throws `invalid_cursor`. */
export function parseIdCursor(cursor: string): string {
  const [id] = parseCursor(cursor, (place): place is [id: string] => typeof place[0] === 'string');
  return id;
}

// --- internal ---

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}
