import { z } from 'zod';
import { BoxError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

// Members that inputs of many operations have.

export const IdempotencyKey = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .describe('The same key answers the same for 24 hours; with another body it is refused');

/** For an operation's `headers`. */
export const IDEMPOTENCY_HEADER = { 'idempotency-key': 'idempotencyKey' } as const;

/** The key of a request that is no operation. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  const key = IdempotencyKey.safeParse(headers.get('idempotency-key') ?? undefined);
  if (key.success) return key.data;
  throw new BoxError('invalid_request', 'An Idempotency-Key has 1 to 256 characters.');
}

export const Page = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().optional().describe('`nextCursor` of the page before'),
};

/** Of a list that is short on nearly every box: who asks for no page gets most there is. */
export const ShortListPage = { ...Page, limit: Page.limit.unwrap().default(200) };

/** Whether what is looked for is answered with that code. */
export async function isGone(code: ErrorCode, find: () => Promise<unknown>): Promise<boolean> {
  try {
    await find();
    return false;
  } catch (error) {
    if (error instanceof BoxError && error.code === code) return true;
    throw error;
  }
}

/** Drops members that are undefined, for targets whose optional members must be absent. */
export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as never;
}

/** Why no store keeps the text as it is; undefined: it does. */
export function explainText(text: string): string | undefined {
  if (text.includes('\0')) return 'It must not hold the character U+0000';
  return text.isWellFormed() ? undefined : 'It must not hold half of a surrogate pair';
}

/** A text that a store keeps, within what is kept as JSON. */
export const StorableText = z.string().superRefine((text, context) => {
  const message = explainText(text);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});
