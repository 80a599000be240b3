import { BoxError } from '../errors.ts';
import { toIdCursor } from '../operations/cursor.ts';

export interface Page {
  limit: number;
  cursor?: string | undefined;
}

export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/** @param rows one more than the page has, where there is one */
export function toPageOf<R, T>(
  rows: readonly R[],
  { limit }: Page,
  { idOf, show }: { idOf(row: R): string; show(row: R): T },
): PageOf<T> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { items: rows.slice(0, limit).map(show), nextCursor: last === undefined ? null : toIdCursor(idOf(last)) };
}

const MOST_BYTES = 256 * 1_024;

/** Throws `invalid_request` where a value is too large, or holds what no store keeps as it is. */
export function requireStorable(value: unknown, param: string): void {
  const text = JSON.stringify(value) ?? 'null';
  const refuse = (why: string) => new BoxError('invalid_request', `"${param}" ${why}.`, { details: { param } });
  if (Buffer.byteLength(text) > MOST_BYTES) throw refuse(`is larger than ${MOST_BYTES / 1_024} KiB`);
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) throw refuse('must not hold the character U+0000');
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/i.test(text)) throw refuse('must not hold half of a surrogate pair');
}

/** A text of someone else as a store keeps it, and no longer than that. */
export function toStorableText(text: string, most = 1_000): string {
  const whole = text.replaceAll('\0', '').toWellFormed();
  return whole.length > most ? `${whole.slice(0, most - 1).toWellFormed()}…` : whole;
}
