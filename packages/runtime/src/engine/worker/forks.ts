import { createHash } from 'node:crypto';
import type { Body } from '../body.ts';
import { CHARGED_TO, HELD, OWN_ID, ownIdOf } from '../box-marks.ts';
import type { StoreClock } from '../clock.ts';
import { pagesOf } from '../history-pages.ts';
import type { Journal } from '../journal.ts';
import type { HookRow } from '../journal/hooks.ts';
import type { JournalRecord } from '../journal/record.ts';
import { isFinal } from '../journal/run.ts';
import type { RunRow } from '../journal/run.ts';
import type { CreateResult, NewRun } from '../journal/starts.ts';
import type { LargeValues } from '../large-values.ts';
import { editOf } from '../run/edited-step.ts';
import { beginningOf, firstCallOf, forkedRecords } from '../run/forked-run.ts';
import { KEPT, openedToken } from '../run/retried-run.ts';
import { forkedSeed } from '../run/seed.ts';
import { decodeInert } from '../serialize.ts';
import { toRetriedBy } from '../started-by.ts';
import type { StartedBy } from '../started-by.ts';
import { isRef } from '../values/large-ref.ts';
import { encodeGiven } from '../values/given.ts';
import { GIVEN_BYTES, LARGE_FROM } from '../values/size.ts';
import type { Claims } from './claims.ts';
import type { ResolvedRun } from './loading.ts';
import { keptFor, marksOfBox, toNewRun, toStartKey } from './new-run.ts';
import type { StartRequest } from './new-run.ts';
import { listOpenStarts, readStartedChildren } from './started-children.ts';

/** What a fork of a run would take, and what it would do again. */
export interface ForkPlan {
  /** The first call of the body that is executed again. 0 with `isWhole`: nothing is taken, not even what the body has drawn. */
  call: number;
  isWhole: boolean;
  /** All that is recorded. Of values only those that say how children were started, and which hooks were made. */
  records: JournalRecord[];
  isTaken(record: JournalRecord): boolean;
  /** Starts of children, by their id, that are made again. */
  lost: ReadonlySet<string>;
  /** Hooks whose token an open run has that is not ended for the fork. */
  heldHooks: HeldHook[];
  /** Differs once the source has recorded something else, or its children have come further. */
  etag: string;
}

export interface HeldHook {
  /** The call that made it. */
  call: number;
  /** It is made before the step, so the fork takes it as it is; otherwise the fork makes it, with this token unless it is given other values. */
  isTaken: boolean;
  /** The source has it, which goes on; otherwise another run. */
  isOfSource: boolean;
}

export interface ForkOptions {
  trigger: 'fork' | 'rewind';
  plan: Pick<ForkPlan, 'call' | 'isWhole'>;
  /** The encoded arguments of the step at `call`, in the place of those the body passes. */
  edited?: string;
  /** What it is started with. Default: what the source was. */
  input?: unknown;
  serial?: StartRequest['serial'];
  idempotency?: { key: string; digest: string };
  /** Who asks for it. Absent: the box. */
  forkedBy?: StartedBy;
  /** For whom its tokens count, and what holds an input it is given: as `toChargedMark` and `toHeldMark` have it. */
  marks?: Record<string, string>;
}

/** Runs that begin with what another has recorded up to a step. */
export interface Forks {
  /** @param call the step it is forked from; `start`: nothing is taken. `ends`: the source ends before the fork begins */
  planFork(run: RunRow, call: number | 'start', how: { ends: boolean }): Promise<ForkPlan>;
  /**
   * A new run, in one commit with all it takes. Its steps have idempotency keys of its own, and it draws other random
   * numbers from the call on. It has neither the parent nor the own id of its source; one that replaces it has the id.
   */
  fork(run: RunRow, options: ForkOptions): Promise<CreateResult>;
  /** What a fork with that key has become: a run, or a queued start. */
  findFork(run: RunRow, key: string): Promise<string | undefined>;
}

export interface ForksOptions {
  journal: Journal;
  clock: StoreClock;
  claims: Claims;
  large: LargeValues;
  resolve(run: ResolvedRun): Promise<Body>;
  givenBytes: number;
  create(run: NewRun, body: Body): Promise<CreateResult>;
}

export function createForks({ journal, clock, claims, large, resolve, givenBytes, create }: ForksOptions): Forks {
  const listHeldHooks = async (run: RunRow, all: JournalRecord[], fork: PlannedFork): Promise<HeldHook[]> => {
    const held: HeldHook[] = [];
    for (const record of all) {
      const token = openedToken(record);
      if (token === undefined) continue;
      const isTaken = fork.kept.has(record.call);
      // Another is drawn for it.
      if (!isTaken && !isNamed(record)) continue;
      const hook = await journal.hooks.find(token);
      const isOfSource = hook?.runId === run.runId;
      if (!hook?.isOpen || (isOfSource && fork.endsSource)) continue;
      if (isTaken && isOfSource && (await hasTaken(hook, fork.begunAt))) continue;
      held.push({ call: record.call, isTaken, isOfSource });
    }
    return held;
  };
  /** The source has its one resume, which the fork takes with it. */
  const hasTaken = async ({ runId, token, many }: HookRow, begunAt: number): Promise<boolean> => {
    if (many) return false;
    const { events } = await journal.hooks.listEvents(runId, [{ token, n: 0 }]);
    return events.some(({ at }) => at <= begunAt);
  };

  /** To be read after the records: a child that ends in between is one whose end is waited for, and has come. */
  const readLost = async (run: RunRow, records: JournalRecord[]): Promise<Set<string>> => {
    const { lost } = await readStartedChildren({ ...journal, whole: large.whole }, run, records);
    return new Set([...lost, ...(await listOpenStarts(journal, records))]);
  };

  return {
    async planFork(run, from, { ends }) {
      const records = await readBrief(journal, run.runId);
      const isWhole = from === 'start';
      const call = isWhole ? 0 : firstCallOf(records, from);
      const lost = await readLost(run, records);
      const kept = isWhole ? [] : forkedRecords(records, { run, call, lost, now: 0 });
      const heldHooks = await listHeldHooks(run, records, {
        kept: new Set(kept.map((record) => record.call)),
        begunAt: beginningOf(records, call).at,
        endsSource: ends || isFinal(run.status),
      });
      const ids = new Set(kept.map(({ recordId }) => recordId));
      const isTaken = ({ recordId }: JournalRecord): boolean => ids.has(recordId) || ids.has(KEPT + recordId);
      const state = [run.runId, call, isWhole, ends, ends && isFinal(run.status), [...lost].toSorted(), heldHooks];
      const all = records.map(({ recordId, seq }) => [seq, recordId]);
      const etag = createHash('sha256')
        .update(JSON.stringify([state, all]))
        .digest('base64url')
        .slice(0, 22);
      return { call, isWhole, records, isTaken, lost, heldHooks, etag };
    },

    async fork(run, { trigger, plan, edited, input: given, serial, idempotency, forkedBy, marks = {} }) {
      // It is a new run: on the newest code.
      const body = await resolve({ ...run, codeHash: null });
      const { call, isWhole } = plan;
      const recorded = isWhole ? [] : await journal.getRecords(run.runId);
      const lost = isWhole ? new Set<string>() : await readLost(run, recorded);
      const now = clock.now();
      const kept = isWhole ? [] : forkedRecords(recorded, { run, call, lost, now, isEdited: edited !== undefined });
      const step = recorded.find((record) => record.call === call && record.kind !== 'env');
      const edit = step && edited !== undefined ? [{ ...editOf(step, edited, now), seq: kept.length }] : [];
      const records = [...kept, ...edit];
      const id = trigger === 'rewind' ? ownIdOf(run) : undefined;
      // The run it replaces leaves its id to it.
      const ownId = id === undefined ? {} : { ownId: { id, whenOpen: 'refuse', reuse: 'always' } as const };
      const input = given === undefined ? run.input : encodeGiven(given, 'input', mostOf(serial, givenBytes));
      const holdsLarge = [input, ...records.flatMap((record) => [record.input, record.output])].some(isRef);
      // What waits in a queue is no run yet, whose objects the values could be.
      const lock = serial && holdsLarge ? { ...serial, whenTaken: 'refuse' as const } : serial;
      const { kind, name, timeoutMs } = run;
      const start: StartRequest = { kind, name, trigger, input: null, ...ownId, ...(lock && { serial: lock }) };
      const made = toNewRun(start, body, { claim: claims.claimOf(kind), givenBytes });
      return create(
        {
          ...made,
          input,
          retryOf: run.runId,
          attributes: marksFor(run, { marks, id, hasOwnInput: given !== undefined }),
          startedBy: toStarter(run, { forkedBy, hasOwnInput: given !== undefined }),
          ...(timeoutMs === null ? {} : { timeoutMs }),
          ...(isWhole ? {} : { seed: forkedSeed(run, { runId: made.runId, call }), records }),
          ...(idempotency && {
            idempotency: { ...idempotency, key: toForkKey(run, idempotency.key), ...keptFor(forkedBy) },
          }),
        },
        body,
      );
    },

    findFork: (run, key) => journal.findStartId(toForkKey(run, key)),
  };
}

/** Encoded arguments of a step that is edited are part of its journal, never of object storage. */
export function isEditTooLarge(edited: string): boolean {
  return edited.length > LARGE_FROM;
}

// --- internal ---

/** What waits in a queue stays in the journal. */
function mostOf(serial: StartRequest['serial'], givenBytes: number): number {
  return serial?.whenTaken === 'queue' ? Math.min(givenBytes, GIVEN_BYTES) : givenBytes;
}

interface PlannedFork {
  /** Calls it takes records of. */
  kept: ReadonlySet<number>;
  /** When the step it begins with was begun. */
  begunAt: number;
  endsSource: boolean;
}

/** The code has chosen the token. */
function isNamed({ input }: JournalRecord): boolean {
  return input !== null && typeof (decodeInert(input) as { token?: unknown } | null)?.token === 'string';
}

const toForkKey = ({ name, runId }: RunRow, key: string): string => toStartKey(name, `fork ${runId} ${key}`);

/**
 * What is hidden stays so, and its models and prompts stay its own. Its tokens count for whoever asks for it, and an input of
 * its own has been judged by itself.
 */
function marksFor(
  run: RunRow,
  { marks, id, hasOwnInput }: { marks: Record<string, string>; id: string | undefined; hasOwnInput: boolean },
): string | null {
  const { [CHARGED_TO]: _charged, [OWN_ID]: _id, [HELD]: held, ...kept } = readMarks(run);
  const heldBefore = held === undefined || hasOwnInput ? {} : { [HELD]: held };
  const all = { ...kept, ...heldBefore, ...marks, ...(id === undefined ? {} : { [OWN_ID]: id }) };
  return Object.keys(all).length > 0 ? JSON.stringify(all) : null;
}

/** Whose it is: its source's, with who asked for it. One that is given an input of its own is a start of whoever gives it. */
function toStarter(
  run: RunRow,
  { forkedBy, hasOwnInput }: { forkedBy: StartedBy | undefined; hasOwnInput: boolean },
): string | null {
  if (!forkedBy) return run.startedBy;
  return JSON.stringify(hasOwnInput ? forkedBy : toRetriedBy(run, forkedBy));
}

function readMarks(run: RunRow): Partial<Record<string, string>> {
  return JSON.parse(marksOfBox(run) ?? '{}') as Partial<Record<string, string>>;
}

/** The history of a run without what its steps were given and answered, which may be gigabytes. */
async function readBrief({ listRecords }: Pick<Journal, 'listRecords'>, runId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const page of pagesOf(runId, listRecords))
    for (const record of page) records.push(isNeeded(record) ? record : { ...record, input: null, output: null });
  return records;
}

/** It says how a child was started, which hook was made, or what a wait waits for. */
function isNeeded({ kind, event, stepId }: JournalRecord): boolean {
  return (event === 'set' && kind !== 'env') || (kind === 'child' && stepId.startsWith('start '));
}
