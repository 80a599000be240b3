import { newRunId } from '../../ids.ts';
import { isFinal } from '../../journal/run.ts';
import type { RunRow } from '../../journal/run.ts';
import type { CreateResult, NewRun, OwnId } from '../../journal/starts.ts';
import { debounceName } from './due.ts';
import { isSameDigest } from '../../values/digest.ts';
import { keyQuery, toKeyUse } from './keys.ts';
import type { KeyUse } from './keys.ts';
import type { Places } from './places.ts';
import { KEY_LIFE_MS } from './queries.ts';
import type { Rates } from './rates.ts';
import { createdRun, RUN_SELECT, toRunRow, toStored } from './rows.ts';
import { ask, askOne, takeLocks } from './script.ts';
import { createStartTimes } from './start-times.ts';
import type { Dialect, Script } from './script.ts';
import { toStoredText } from './text.ts';

/** Starts that are more than a new row: with a key, an id of their own, a lock, a time, or records. */
export interface Starting {
  create(run: NewRun): Script<CreateResult>;
  /** The same start again, by its ids: its first answer may have been lost. */
  findRepeat(run: NewRun): Script<CreateResult | undefined>;
}

/** Whether a run is created by a row of its own and nothing else. */
export function isPlainCreate(run: NewRun): boolean {
  return run.idempotency === undefined && isSimple(run);
}

/** Whether all that sets it apart from such a one is its idempotency key. */
export function isKeyedCreate(run: NewRun): boolean {
  return run.idempotency !== undefined && isSimple(run);
}

/** Whether all that sets it apart is a lock of one place, and that it is refused where that is taken. */
export function isRefusableCreate({ serial, ...run }: NewRun): boolean {
  return serial?.whenTaken === 'refuse' && (serial.limit ?? 1) === 1 && isPlainCreate(run);
}

/**
 * With what the key of a start is kept; null: for 24 hours. The run above may ask for its child again at any time, and a
 * timer for what it has started: whoever fired it may have died before it moved the timer on.
 */
export function keptWithOf({ trigger, parentRunId, idempotency }: NewRun, startId: string): string | null {
  return trigger === 'schedule' || idempotency?.isKept ? startId : parentRunId;
}

export function createStarting(dialect: Dialect, { places, rates }: { places: Places; rates: Rates }): Starting {
  const { runs, queue, keys } = dialect.tables;
  const times = createStartTimes(dialect, rates);
  const findRun = `select ${RUN_SELECT} from ${runs} where run_id = ? or trigger_id = ? limit 1`;
  const findQueued = `select 1 as found from ${queue} where trigger_id = ?`;
  const findKey = keyQuery(dialect.tables);
  const putKey = `
    insert into ${keys} (key, digest, start_id, created_at, kept_with) values (?, ?, ?, ?, ?)
    on conflict (key) do update set digest = excluded.digest, start_id = excluded.start_id,
      created_at = excluded.created_at, kept_with = excluded.kept_with`;
  /** The run of a start, or its place in the queue. Undefined: it has been removed. */
  function* findStart(startId: string, triggerId = startId): Script<Found | undefined> {
    const id = toStoredText(triggerId);
    const run = yield* askOne(findRun, toStoredText(startId), id);
    if (run) return { run: toRunRow(run) };
    return (yield* askOne(findQueued, id)) && { triggerId };
  }

  const findRepeat: Starting['findRepeat'] = function* (run) {
    const triggerId = triggerOf(run) ?? '';
    const found = yield* findStart(run.runId, triggerId);
    if (!found) return undefined;
    return 'run' in found && found.run.runId === run.runId
      ? { outcome: 'created', run: found.run }
      : { outcome: 'queued', triggerId };
  };

  function* findUse(key: string, now: number): Script<KeyUse | undefined> {
    const row = yield* askOne(findKey, toStoredText(key), now - KEY_LIFE_MS);
    return row && toKeyUse(row);
  }

  /** What the key was used for is answered again. Undefined: it has not been. */
  function* repeatKey({ idempotency }: NewRun, now: number): Script<CreateResult | undefined> {
    const used = idempotency && (yield* findUse(idempotency.key, now));
    if (!used) return undefined;
    const start = yield* findStart(used.startId);
    // The start of a child counts for as long as the run above may ask for it, whatever became of the child.
    if (!start && used.keptWith === null) return undefined;
    if (!isSameDigest(used.digest, idempotency)) return { outcome: 'idempotency_conflict' };
    return start ? toRepeated(start) : { outcome: 'gone', startId: used.startId };
  }

  /** Undefined: the id is free. */
  function* meetId({ ownId }: NewRun, now: number): Script<CreateResult | undefined> {
    const used = ownId && (yield* findUse(ownId.key, now));
    const start = used && (yield* findStart(used.startId));
    return start && judgeId(ownId, start);
  }

  function* place(run: NewRun, now: number): Script<CreateResult> {
    const { serial, timing } = run;
    const triggerId = triggerOf(run) ?? '';
    const { at, isReserved } = yield* times.timeOf(run, now);
    if (at > now) {
      yield* places.enqueue(run, { now, readyAt: at, isReserved });
      return { outcome: 'queued', triggerId };
    }
    const row = createdRun(run, now);
    if (!serial) {
      yield* places.insert(row, run.records);
      return { outcome: 'created', run: row };
    }
    if (yield* places.enter(run, { row, newRunId, now })) return { outcome: 'created', run: row };
    const holder = serial.whenTaken === 'refuse' ? yield* places.findHolder(serial.key) : undefined;
    if (holder) return { outcome: 'refused', holder };
    yield* places.enqueue(run, { now, readyAt: null, isReserved: timing?.throttle !== undefined });
    return { outcome: 'queued', triggerId };
  }

  return {
    findRepeat,
    *create(run) {
      const { idempotency, ownId, timing } = run;
      const now = yield* takeLocks(namesOf(run));
      const before =
        (yield* findRepeat(run)) ??
        (yield* repeatKey(run, now)) ??
        (yield* meetId(run, now)) ??
        (yield* times.meetLimit(run, now));
      if (before) return before;
      const result = (yield* times.joinDebounced(run, now)) ?? (yield* place(run, now));
      const startId = result.outcome === 'created' ? result.run.runId : result.outcome === 'queued' && result.triggerId;
      if (!startId) return result;
      if (timing?.rateLimit) yield* rates.note(timing.rateLimit, now);
      const id = toStoredText(startId);
      if (idempotency) {
        const { key, digest } = idempotency;
        yield* ask(putKey, toStoredText(key), toStoredText(digest), id, now, toStored(keptWithOf(run, startId)));
      }
      if (ownId) yield* ask(putKey, toStoredText(ownId.key), '', id, now, id);
      return result;
    },
  };

  /** In one order, as two starts may meet. */
  function namesOf({ idempotency, ownId, timing, serial }: NewRun): string[] {
    const names: string[] = [];
    if (idempotency) names.push(toStoredText(`${keys}:${idempotency.key}`));
    if (ownId) names.push(toStoredText(`${keys}:${ownId.key}`));
    if (timing?.debounce) names.push(debounceName(dialect, timing.debounce.key));
    if (timing?.rateLimit) names.push(rates.nameOf(timing.rateLimit));
    if (timing?.throttle) names.push(rates.nameOf(timing.throttle));
    if (serial) names.push(places.nameOf(serial.key));
    return names;
  }
}

// --- internal ---

/** Its row has nothing that the statements of many starts leave out. */
function isSimple({ serial, timing, ownId, records, timeoutMs, closePolicy }: NewRun): boolean {
  return !serial && !timing && !ownId && !records?.length && timeoutMs == null && closePolicy == null;
}

type Found = { run: RunRow } | { triggerId: string };

function triggerOf({ serial, timing }: NewRun): string | undefined {
  return timing?.triggerId ?? serial?.triggerId;
}

function toRepeated(start: Found): CreateResult {
  return 'run' in start
    ? { outcome: 'repeated', run: start.run }
    : { outcome: 'repeated_queued', triggerId: start.triggerId };
}

function judgeId({ whenOpen, reuse }: OwnId, start: Found): CreateResult | undefined {
  if (!('run' in start) || !isFinal(start.run.status))
    return whenOpen === 'join' ? toRepeated(start) : { outcome: 'id_taken', start };
  if (reuse === 'always' || (reuse === 'after-failure' && start.run.status !== 'completed')) return undefined;
  return { outcome: 'id_used', run: start.run };
}
