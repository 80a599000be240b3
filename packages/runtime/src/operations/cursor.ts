import { z } from 'zod';
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

export function isUuid(id: string): boolean {
  return z.uuid().safeParse(id).success;
}

/** Whether the place is a time as the database writes it, and a UUID: what it reads back. */
export function isTimePlace(place: unknown[]): place is [at: string, id: string] {
  const [at, id] = place;
  return typeof at === 'string' && isTime(at) && typeof id === 'string' && isUuid(id);
}

/** Where ids are UUIDs. Throws `invalid_cursor`. */
export function parseUuidCursor(cursor: string): string {
  const id = parseIdCursor(cursor);
  if (!isUuid(id)) throw invalidCursor(cursor);
  return id;
}

/** A page of what is all in memory, as it is there; each item has a key of its own. Throws `invalid_cursor`. */
export function toPage<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): { items: T[]; nextCursor: string | null } {
  const from = cursor === undefined ? 0 : findPlace(items.map(keyOf), cursor);
  const page = items.slice(from, from + limit);
  const last = from + limit < items.length ? page.at(-1) : undefined;
  return { items: page, nextCursor: last === undefined ? null : toCursor(from + limit - 1, keyOf(last)) };
}

// --- internal ---

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d{1,6})?[+-](?:0\d|1[0-5])(?::[0-5]\d)?$/;

/** With a day that is on the calendar, which a Date does not ask for. */
function isTime(text: string): boolean {
  const [, day = '', time = ''] = TIME.exec(text) ?? [];
  const at = new Date(`${day}T${time}Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${day}T${time}`);
}

/** Behind the last item of the page before, or, once that is gone, where it stood. */
function findPlace(keys: readonly string[], cursor: string): number {
  const [index, key] = parseCursor(
    cursor,
    (place): place is [index: number, key: string] =>
      Number.isSafeInteger(place[0]) && Number(place[0]) >= 0 && typeof place[1] === 'string',
  );
  const found = keys.indexOf(key);
  return found === -1 ? index : found + 1;
}

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}
