import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Engine } from '../engine/engine.ts';
import { runOutside } from '../engine/context.ts';
import { parseDuration } from '../engine/duration.ts';
import { newRunId } from '../engine/ids.ts';
import type { Journal } from '../engine/journal.ts';
import type { EarlyResume } from '../engine/journal/early.ts';
import type { ResumeResult } from '../engine/journal/hooks.ts';
import { isStoreDown } from '../engine/persist.ts';
import { decode, encode } from '../engine/serialize.ts';
import { digestOfValue } from '../engine/values/digest.ts';
import { encodeGiven } from '../engine/values/given.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import { toIso } from '../json-value.ts';
import type { Log } from '../log.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import { alreadyResumed, hookFull } from './hooks.ts';

/** A payload that waits for its hook. */
export const KeptResume = z.object({
  token: z.string(),
  createdAt: z.iso.datetime(),
  keptUntil: z.iso.datetime().describe('Without a hook by then it is dropped'),
});
export type KeptResume = z.infer<typeof KeptResume>;

/** What a signal came to: the hook was resumed, or the payload is kept for it. */
export type Signalled = { status: 'resumed'; runId: string } | { status: 'kept'; keptUntil: string };

export interface SignalOptions {
  /** How long a payload waits for its hook: milliseconds, or text such as "10m". Default: an hour; at most 7 days. */
  waitFor?: number | string;
  idempotencyKey?: string;
  /** Starts what makes the hook, after the payload is kept. */
  start?: () => Promise<unknown>;
}

/** Resumes of hooks that need not be there yet. */
export interface HookSignals {
  /** Throws what a resume does, but for a hook that there is not; and `hook_queue_full`. */
  signal(token: string, payload: unknown, options?: SignalOptions): Promise<Signalled>;
  /** Oldest first. Throws `invalid_cursor`. */
  listKept(
    filter: { token?: string },
    page: { limit: number; cursor?: string },
  ): Promise<{ items: KeptResume[]; nextCursor: string | null }>;
  /** Resumes hooks that there are by now. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface HookSignalsOptions {
  journal: Pick<Journal, 'early' | 'hooks'>;
  engine: Pick<Engine, 'resumeHook'>;
  log: Log;
}

/**
 * A payload is kept before anything is started, and given to the hook by a resume under a key of its own: a crash in
 * between resumes again, which changes nothing.
 */
export function createHookSignals({ journal, engine, log }: HookSignalsOptions): HookSignals {
  const { early } = journal;
  const closing = new AbortController();
  let delivering: Promise<void> | undefined;
  let hasKept = false;
  let lookAt = 0;

  /** False: it has to wait. */
  const deliver = async (resume: EarlyResume): Promise<boolean> => {
    const { earlyNo, earlyId, token, payload, idempotencyKey } = resume;
    const value = decode(payload);
    const key = idempotencyKey ?? `early:${earlyId}`;
    const result = await engine.resumeHook(token, value, { idempotency: { key, ...digestOfValue(value, payload) } });
    // It has not asked for the next one yet, or has just been closed.
    const isEarly = !result || ['already', 'closed', 'full'].includes(result.outcome);
    if (isEarly) await early.noteTried(earlyNo);
    else await early.remove(earlyNo);
    return !isEarly;
  };
  const deliverAll = async (): Promise<void> => {
    for (let isMore = hasKept; isMore && !closing.signal.aborted;) {
      isMore = false;
      for (const resume of await early.listReady(BATCH)) isMore = (await deliver(resume)) || isMore;
    }
    if (performance.now() < lookAt) return;
    lookAt = performance.now() + LOOK_MS;
    hasKept = await early.forgetExpired();
  };
  const sweep = (): void => {
    if (closing.signal.aborted || delivering || (!hasKept && performance.now() < lookAt)) return;
    delivering = runOutside(deliverAll)
      .catch((error: unknown) => {
        if (!isStoreDown(error)) log.error('Payloads that wait for their hooks could not be handed over.', { error });
      })
      .finally(() => (delivering = undefined));
  };

  /** Undefined: there is no open hook. */
  const resumeNow = async (token: string, payload: unknown, key?: string): Promise<Signalled | undefined> => {
    const hook = await journal.hooks.find(token);
    if (!hook) return undefined;
    // The token of another kind is its own credential, or a decision of a person.
    if (hook.kind !== 'hook') throw new BoxError('hook_not_found', 'There is no hook with this token.');
    // What an earlier run was given is of interest to a caller that asks again.
    if (!hook.isOpen && key === undefined) return undefined;
    const idempotency =
      key === undefined ? {} : { idempotency: { key, ...digestOfValue(payload, encode(payload, 'payload')) } };
    const result = await engine.resumeHook(token, payload, idempotency);
    return result?.outcome === 'already' && !hook.isOpen ? undefined : toSignalled(result, key);
  };

  return {
    async signal(token, payload, { waitFor = HOUR_MS, idempotencyKey, start } = {}) {
      const text = encodeGiven(payload, 'payload');
      const ms = toWait(waitFor);
      if (token === '' || token.length > MOST_TOKEN)
        throw new BoxError('invalid_request', `The token of a hook has 1 to ${MOST_TOKEN} characters.`);
      // Behind those that came before it.
      const isNext = (await early.list({ token }, { limit: 1 })).length === 0;
      const resumed = isNext ? await resumeNow(token, payload, idempotencyKey) : undefined;
      if (resumed) {
        await start?.();
        return resumed;
      }
      const earlyId = idempotencyKey === undefined ? newRunId() : idOf(token, idempotencyKey);
      const kept = await early.keep(
        { earlyId, token, payload: text, idempotencyKey: idempotencyKey ?? null },
        { ms, mostOfToken: MOST_OF_TOKEN, most: MOST },
      );
      if (kept.outcome === 'full')
        throw new BoxError('hook_queue_full', `Too many payloads wait for hooks: ${MOST_OF_TOKEN} may for one token.`);
      if (!isSamePayload(kept.resume.payload, text)) throw idempotencyConflict(idempotencyKey);
      hasKept = true;
      try {
        await start?.();
      } catch (error) {
        await early.remove(kept.resume.earlyNo).catch(() => {});
        throw error;
      }
      sweep();
      return { status: 'kept', keptUntil: toIso(kept.resume.until) };
    },
    async listKept(filter, { limit, cursor }) {
      const after = cursor === undefined ? {} : { after: Number(parseIdCursor(cursor)) || 0 };
      const found = await early.list(filter, { limit: limit + 1, ...after });
      const items = found
        .slice(0, limit)
        .map(({ token, createdAt, until }) => ({ token, createdAt: toIso(createdAt), keptUntil: toIso(until) }));
      const last = found.length > limit ? found[limit - 1] : undefined;
      return { items, nextCursor: last ? toIdCursor(String(last.earlyNo)) : null };
    },
    sweep,
    async close() {
      closing.abort();
      await delivering;
    },
  };
}

// --- internal ---

/** Whatever the order in which the members of their objects were written. */
function isSamePayload(kept: string, given: string): boolean {
  return kept === given || digestOfValue(decode(kept), kept).digest === digestOfValue(decode(given), given).digest;
}

const HOUR_MS = 60 * 60 * 1_000;
const LONGEST_MS = 7 * 24 * HOUR_MS;
const MOST_TOKEN = 500;
const MOST_OF_TOKEN = 100;
const MOST = 10_000;
const BATCH = 100;
/** How soon a replica finds what another one has kept, and died. */
const LOOK_MS = 10_000;

function toSignalled(result: ResumeResult | undefined, key: string | undefined): Signalled | undefined {
  if (result?.outcome === 'resumed' || result?.outcome === 'repeated')
    return { status: 'resumed', runId: result.hook.runId };
  if (result?.outcome === 'idempotency_conflict') throw idempotencyConflict(key);
  if (result?.outcome === 'already') throw alreadyResumed(result.event);
  if (result?.outcome === 'full') throw hookFull();
  return undefined;
}

function toWait(waitFor: number | string): number {
  try {
    const ms = Math.ceil(parseDuration(waitFor));
    if (ms > 0 && ms <= LONGEST_MS) return ms;
  } catch {
    // As one that is too long.
  }
  throw new BoxError('invalid_request', `"waitFor" is "${waitFor}"; it is a time of up to 7 days, such as "10m".`);
}

function idOf(token: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([token, key]))
    .digest('base64url');
}
