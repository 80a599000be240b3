import { z } from 'zod';
import type { Journal } from '../engine/journal.ts';
import type { HookEntry, HookPlace } from '../engine/journal/hooks.ts';
import { decode } from '../engine/serialize.ts';
import { toIso } from '../json-value.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';

/** A webhook of a run, with the address that resumes it. */
export const RunWebhook = z.object({
  url: z.url().describe('Takes GET, POST, PUT, PATCH and DELETE; it is a credential by itself'),
  token: z.string(),
  call: z.int().describe('The call of the body that made it'),
  isOpen: z.boolean().describe('It takes calls'),
  answers: z.enum(['fixed', 'manual']).describe('manual: a step of the run answers each call'),
  createdAt: z.iso.datetime(),
  firstCalledAt: z.iso.datetime().nullable(),
});
export type RunWebhook = z.infer<typeof RunWebhook>;

export interface WebhookPage {
  items: RunWebhook[];
  nextCursor: string | null;
}

/** Newest first. Throws `invalid_cursor`. */
export async function listWebhooks(
  { journal, urlOf }: { journal: Pick<Journal, 'hooks'>; urlOf(token: string): string },
  runId: string,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<WebhookPage> {
  const after = cursor === undefined ? {} : { after: toPlace(cursor, runId) };
  const found = await journal.hooks.listEntries({ kind: 'webhook', runId }, { limit: limit + 1, ...after });
  const last = found.length > limit ? found[limit - 1]?.hook : undefined;
  return {
    items: found.slice(0, limit).map((entry) => toWebhook(entry, urlOf)),
    nextCursor: last ? toCursor(last.createdAt, last.token) : null,
  };
}

// --- internal ---

function toWebhook({ hook, first }: HookEntry, urlOf: (token: string) => string): RunWebhook {
  const { token, call, isOpen, createdAt, detail } = hook;
  const { respondWith } = (detail === null ? {} : decode(detail)) as { respondWith?: unknown };
  return {
    url: urlOf(token),
    token,
    call,
    isOpen,
    answers: respondWith === 'manual' ? 'manual' : 'fixed',
    createdAt: toIso(createdAt),
    firstCalledAt: first ? toIso(first.at) : null,
  };
}

function toPlace(cursor: string, runId: string): HookPlace {
  const [createdAt, token] = parseCursor(
    cursor,
    (place): place is [number, string] => typeof place[0] === 'number' && typeof place[1] === 'string',
  );
  return { createdAt, runId, token };
}
