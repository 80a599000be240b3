import { OWN_ID, ownIdOf } from '../../box-marks.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import type { Rates } from './rates.ts';
import { toStored } from './rows.ts';
import { ask, askOne } from './script.ts';
import type { Dialect, Script } from './script.ts';
import { fromStoredText, toStoredText } from './text.ts';

/** When a start begins: a delay, a debounce, a throttle, a rate limit. */
export interface StartTimes {
  /** A start that waits already takes over the input, and who has sent it. Undefined: there is none. */
  joinDebounced(run: NewRun, now: number): Script<CreateResult | undefined>;
  /** When the start may begin. `isReserved`: its throttle keeps that time for it. */
  timeOf(run: NewRun, now: number): Script<{ at: number; isReserved: boolean }>;
  /** Undefined: there is room, or no limit. */
  meetLimit(run: NewRun, now: number): Script<CreateResult | undefined>;
}

export function createStartTimes({ tables: { queue } }: Dialect, rates: Rates): StartTimes {
  const findDebounced = `
    select trigger_id as "triggerId", debounce_until as "until", attributes from ${queue} where debounce_key = ?`;
  const debounce = `
    update ${queue} set input = ?, ready_at = ?, priority = ?, attributes = ?, started_by = ?, code_hash = ?, timeout_ms = ?
    where trigger_id = ?`;

  return {
    *joinDebounced(run, now) {
      const rule = run.timing?.debounce;
      const waiting = rule && (yield* askOne(findDebounced, toStoredText(rule.key)));
      if (!waiting) return undefined;
      const readyAt = Math.min(now + rule.periodMs, Number(waiting.until ?? Infinity));
      const { triggerId, priority } = { triggerId: waiting.triggerId as string, priority: run.timing?.priority ?? 0 };
      // Whose input it is, that start is: also of the code that has judged it.
      const { input, startedBy, codeHash, timeoutMs } = run;
      const marks = withOwnId(run.attributes, fromStored(waiting.attributes));
      const given = [input, readyAt, priority, marks, startedBy, codeHash, timeoutMs].map(toStored);
      yield* ask(debounce, ...given, triggerId);
      return { outcome: 'queued', triggerId: fromStoredText(triggerId) };
    },

    *timeOf({ timing }, now) {
      const { delayMs, at, debounce: rule, throttle } = timing ?? {};
      const wanted = Math.max(now, at ?? 0, now + (delayMs ?? 0), rule ? now + rule.periodMs : 0);
      // What begins later is counted when it is due.
      if (!throttle || wanted > now) return { at: wanted, isReserved: false };
      const next = yield* rates.next(throttle, now);
      yield* rates.note(throttle, next);
      return { at: next, isReserved: true };
    },

    *meetLimit({ timing }, now) {
      const rate = timing?.rateLimit;
      const next = rate ? yield* rates.next(rate, now) : now;
      return next > now ? { outcome: 'limited', retryAt: next } : undefined;
    },
  };
}

// --- internal ---

function fromStored(text: unknown): string | null {
  return typeof text === 'string' ? fromStoredText(text) : null;
}

/** The id that an earlier start of the burst was given goes on to name it. */
function withOwnId(attributes: string | null | undefined, before: string | null): string | null {
  const id = ownIdOf({ attributes: before });
  if (id === undefined) return attributes ?? null;
  return JSON.stringify({ [OWN_ID]: id, ...(JSON.parse(attributes ?? '{}') as object) });
}
