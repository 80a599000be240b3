import { ownIdOf } from '../box-marks.ts';
import type { Body } from '../body.ts';
import type { StoreClock } from '../clock.ts';
import type { Ambient } from '../handle.ts';
import type { RunRow } from '../journal/run.ts';
import type { CreateResult, NewRun } from '../journal/starts.ts';
import { compensated } from '../run/outcome.ts';
import { startedByOf, toRetriedBy } from '../started-by.ts';
import type { StartedBy } from '../started-by.ts';
import { isSameDigest } from '../values/digest.ts';
import { isRef } from '../values/large-ref.ts';
import type { ValueDigest } from '../journal/digest.ts';
import type { Limits } from '../limits.ts';
import { encodeGiven } from '../values/given.ts';
import { TURN_BYTES } from '../values/size.ts';
import { keptRecords, listAfterFailure } from '../run/retried-run.ts';
import { keptSeed } from '../run/seed.ts';
import { createForks } from './forks.ts';
import type { Forks } from './forks.ts';
import { readStartedChildren } from './started-children.ts';
import type { ResolvedRun } from './loading.ts';
import { inheritedMarks, keptFor, marksOfBox, toNewRun, toStartKey } from './new-run.ts';
import type { StartRequest } from './new-run.ts';
import { withdrawOrphan } from './orphaned-start.ts';
import { createRunCreator } from './run-creator.ts';
import type { RunCreatorOptions } from './run-creator.ts';

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

export interface StartsOptions extends RunCreatorOptions {
  clock: StoreClock;
  resolve(run: ResolvedRun): Promise<Body>;
  ambient: Pick<Ambient, 'log'>;
  limits: Pick<Limits, 'givenBytes'>;
}

export function createStarts(options: StartsOptions): Starts {
  const { journal, clock, resolve, live, claims, ambient, large } = options;
  const { givenBytes } = options.limits;

  const create = createRunCreator(options);

  return {
    ...createForks({ journal, clock, claims, large, resolve, givenBytes, create }),
    async start(request) {
      const body = request.body ?? (await resolve({ kind: request.kind, name: request.name }));
      const above = request.parentRunId === undefined ? undefined : live.get(request.parentRunId);
      // A crash between the two leaves a start that is not recorded, and made again.
      if (request.closePolicy === 'cancel' || request.closePolicy === 'wait') above?.noteChild();
      const parent = above?.run;
      const asked = parent ? withMarksOf(parent, request) : request;
      const run = toNewRun(asked, body, { claim: claims.claimOf(request.kind), givenBytes });
      if (parent) run.startedBy ??= parent.startedBy;
      const result = await create(withOwnBurst(run), body);
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
      const input = given === undefined ? run.input : encodeGiven(given, 'input', TURN_BYTES);
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

function withMarksOf(parent: RunRow, request: StartRequest): StartRequest {
  return { ...request, attributes: { ...inheritedMarks(parent), ...request.attributes } };
}

/** A burst is of one owner: the run it becomes, with the input that came last, is shown to who has started it. */
function withOwnBurst(run: NewRun): NewRun {
  const { timing, startedBy = null } = run;
  if (!timing?.debounce) return run;
  const { client = null, user = null } = startedByOf({ startedBy }) ?? {};
  if (client === null) return run;
  const { debounce } = timing;
  const key = `${JSON.stringify([client, user?.id ?? null])} ${debounce.key}`;
  return { ...run, timing: { ...timing, debounce: { ...debounce, key } } };
}
