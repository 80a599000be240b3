import { BoxError } from '../../errors.ts';
import { ownIdOf } from '../box-marks.ts';
import type { Body } from '../body.ts';
import { runOutside } from '../context.ts';
import type { StoreClock } from '../clock.ts';
import type { Ambient } from '../handle.ts';
import type { Journal } from '../journal.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import type { CreateResult, NewRun } from '../journal/starts.ts';
import { compensated } from '../run/outcome.ts';
import { encode } from '../serialize.ts';
import { startedByOf, toRetriedBy } from '../started-by.ts';
import type { StartedBy } from '../started-by.ts';
import { isSameDigest } from '../values/digest.ts';
import { isRef } from '../values/large-ref.ts';
import type { ValueDigest } from '../journal/digest.ts';
import type { LargeValues } from '../large-values.ts';
import type { Limits } from '../limits.ts';
import { boundGiven, TURN_BYTES } from '../values/size.ts';
import { keptRecords, listAfterFailure } from '../run/retried-run.ts';
import { keptSeed } from '../run/seed.ts';
import type { Claims } from './claims.ts';
import { createForks } from './forks.ts';
import type { Forks } from './forks.ts';
import { readStartedChildren } from './started-children.ts';
import type { Endings } from './endings.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Loading, ResolvedRun } from './loading.ts';
import { inheritedMarks, keptFor, marksOfBox, toNewRun, toStartKey } from './new-run.ts';
import type { StartRequest } from './new-run.ts';
import { withdrawOrphan } from './orphaned-start.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';

/** A start that may have been made before. */
export interface KeyedStart {
  name: string;
  idempotencyKey: string;
  digest: ValueDigest;
}

export type Repeat = Extract<CreateResult, { outcome: 'repeated' | 'idempotency_conflict' }>;

export type RetryOptions = Pick<StartRequest, 'serial' | 'idempotencyKey'> & {
  /** Default: what the run was started with. */
  input?: unknown;
  /** Who asks for it. Absent: the box. */
  retriedBy?: StartedBy;
};

/** How runs come to be. */
export interface Starts extends Forks {
  /** Answers once the run, or the queued start, is in the journal. */
  start(request: StartRequest): Promise<CreateResult>;
  /** What a start with this key would be answered without starting anything. Undefined: it would be the first. */
  findRepeat(start: KeyedStart): Promise<Repeat | undefined>;
  /** A new run that keeps what a final one has recorded, up to the step that failed; or nothing of it. */
  retry(run: RunRow, from: 'failed-step' | 'start', options?: RetryOptions): Promise<CreateResult>;
  /** Whether this key has begun it anew, or queued that. */
  isRetried(run: RunRow, idempotencyKey: string): Promise<boolean>;
}

export interface StartsOptions {
  journal: Journal;
  owner: string;
  clock: StoreClock;
  closing: AbortSignal;
  resolve(run: ResolvedRun): Promise<Body>;
  live: LiveRuns;
  loading: Loading;
  claims: Claims;
  publisher: Publisher;
  signals: Signals;
  endings: Endings;
  ambient: Pick<Ambient, 'log'>;
  large: LargeValues;
  limits: Pick<Limits, 'givenBytes'>;
}

export function createStarts(options: StartsOptions): Starts {
  const { journal, owner, clock, closing, resolve, live, loading, claims, publisher, signals, endings } = options;
  const { ambient, large } = options;
  const { givenBytes } = options.limits;

  /** With its values where they are to be. A run that begins with those of another has copies of them. */
  const create = async (given: NewRun, body: Body): Promise<CreateResult> => {
    const keep = given.kind === 'agent' ? undefined : large.keepStart(given);
    if (!keep) return createKept(given, body);
    // A crash in between leaves objects of a run that is not there.
    const request = await runOutside(keep);
    const result = await createKept(request, body, await large.whole(given.input));
    if (!('run' in result) || result.run.runId !== request.runId) large.forget(request.runId);
    return result;
  };

  const createKept = async (request: NewRun, body: Body, input?: string): Promise<CreateResult> => {
    // What the box itself has begun, it completes: a child of a step under way, a schedule that is due. Others run it.
    if (closing.aborted && request.parentRunId === null && request.trigger !== 'schedule') throw shuttingDown();
    const above = request.parentRunId === null ? undefined : live.get(request.parentRunId);
    const created = async (): Promise<CreateResult> => {
      // Cut off after its commit, it leaves a run that a repeat with the same key, or the sweep, takes up.
      const result = await journal.create(request);
      if (result.outcome === 'created') publisher.created(result.run);
      // Before it begins: a workflow that starts itself would otherwise stay ahead of its cancel for good.
      const isParentGone = above !== undefined && live.get(above.run.runId) !== above;
      if (isParentGone && (await withdrawOrphan(options, request, result))) return result;
      // Without a turn in between where there is nothing to prepare.
      if (result.outcome === 'created' && result.run.owner === owner)
        if (body.prepare) await begin(result.run, body, request.records ?? []);
        else loading.launch(result.run, body, request.records ?? [], input);
      if (result.outcome === 'created' && result.run.owner === null) signals.signal(result.run.runId);
      if (result.outcome === 'repeated' && result.run.owner === owner && !live.isHere(result.run.runId))
        void claims.claimRun(result.run.runId);
      return result;
    };
    return live.enter(request.runId, created);
  };

  const begin = async (run: RunRow, body: Body, records: JournalRecord[]): Promise<void> => {
    try {
      await body.prepare?.(records);
      loading.launch(run, body, records);
    } catch (error) {
      await endings.cancel(run.runId, error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  };

  return {
    ...createForks({ journal, clock, claims, large, resolve, givenBytes, create }),
    async start(request) {
      const body = request.body ?? (await resolve({ kind: request.kind, name: request.name }));
      const above = request.parentRunId === undefined ? undefined : live.get(request.parentRunId);
      // A crash between the two leaves a start that is not recorded, and made again.
      if (request.closePolicy === 'cancel' || request.closePolicy === 'wait') above?.noteChild();
      const parent = above?.run;
      const attributes = { ...inheritedMarks(parent), ...request.attributes };
      const run = toNewRun({ ...request, attributes }, body, { claim: claims.claimOf(request.kind), givenBytes });
      const owned = parent?.startedBy ? { startedBy: parent.startedBy, ...run } : run;
      const result = await create(withOwnBurst(owned), body);
      if (request.parentRunId !== undefined) await withdrawOrphan(options, run, result);
      return result;
    },
    async findRepeat({ name, idempotencyKey, digest }) {
      const used = await journal.findByKey(toStartKey(name, idempotencyKey));
      if (!used) return undefined;
      return isSameDigest(used.digest, digest)
        ? { outcome: 'repeated', run: used.run }
        : { outcome: 'idempotency_conflict' };
    },
    isRetried: async (run, key) => (await journal.findStartId(toRetryKey(run, key))) !== undefined,
    async retry(run, from, { serial, idempotencyKey, input: given, retriedBy } = {}) {
      // A new run: on the newest code, which may be what was wrong with it.
      const body = await resolve({ ...run, codeHash: null });
      const recorded = from === 'start' ? [] : await journal.getRecords(run.runId);
      const children = await readStartedChildren({ ...journal, whole: large.whole }, run, recorded);
      const records = keptRecords(recorded, { error: run.error, now: clock.now(), ...children });
      const after = listAfterFailure(recorded, records);
      const { kind, name } = run;
      const id = ownIdOf(run);
      // The run it repeats leaves its id to it.
      const ownId = id === undefined ? {} : { ownId: { id, whenOpen: 'refuse', reuse: 'always' } as const };
      const lock = lockFor(serial, [run.input, ...records.flatMap(({ input, output }) => [input, output])]);
      const start: StartRequest = {
        kind,
        name,
        trigger: 'retry',
        input: null,
        ...ownId,
        ...(lock && { serial: lock }),
      };
      // Also where nothing is kept: what is executed again has the keys it had.
      const seed = from === 'start' ? {} : { seed: keptSeed(run), records };
      const keyed =
        idempotencyKey === undefined
          ? {}
          : { idempotency: { key: toRetryKey(run, idempotencyKey), digest: from, ...keptFor(retriedBy) } };
      const { runId, sessionId } = run;
      const input =
        given === undefined
          ? run.input
          : boundGiven(encode(given, 'input'), { value: given, what: 'input', limit: TURN_BYTES });
      const { timeoutMs } = run;
      const startedBy = retriedBy ? JSON.stringify(toRetriedBy(run, retriedBy)) : run.startedBy;
      const marks = { attributes: marksOfBox(run), startedBy };
      const timed = timeoutMs === null ? {} : { timeoutMs };
      const kept = { input, retryOf: runId, sessionId, ...marks, ...timed, ...seed, ...keyed };
      const claim = claims.claimOf(kind);
      const result = await create({ ...toNewRun(start, body, { claim, givenBytes }), ...kept }, body);
      if (result.outcome === 'created' && after.length > 0)
        ambient.log({ level: 'warn', message: compensated(after), run: result.run });
      return result;
    },
  };
}

// --- internal ---

const toRetryKey = ({ name, runId }: RunRow, key: string): string => toStartKey(name, `retry ${runId} ${key}`);

/** What waits in a queue is no run yet, whose objects the values could be: a start with some does not wait. */
function lockFor(serial: StartRequest['serial'], values: readonly (string | null)[]): StartRequest['serial'] {
  return serial?.whenTaken === 'queue' && values.some(isRef) ? { ...serial, whenTaken: 'refuse' } : serial;
}

/** A burst is of one owner: the run it becomes, with the input that came last, is shown to who has started it. */
function withOwnBurst(run: NewRun): NewRun {
  const { timing, startedBy = null } = run;
  const { client = null, user = null } = startedByOf({ startedBy }) ?? {};
  if (!timing?.debounce || client === null) return run;
  const { debounce } = timing;
  const key = `${JSON.stringify([client, user?.id ?? null])} ${debounce.key}`;
  return { ...run, timing: { ...timing, debounce: { ...debounce, key } } };
}

function shuttingDown(): BoxError {
  const message =
    'The box is shutting down and takes no more starts. Send it again: to another replica, or in a moment.';
  return new BoxError('shutting_down', message, { details: { retryAfter: 1 } });
}
