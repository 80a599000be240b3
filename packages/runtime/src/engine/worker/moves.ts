import { BoxError } from '../../errors.ts';
import type { Body } from '../body.ts';
import type { StoreClock } from '../clock.ts';
import type { Ambient } from '../handle.ts';
import { pagesOf, sizeOfRecords } from '../history-pages.ts';
import type { Journal } from '../journal.ts';
import type { JournalRecord } from '../journal/record.ts';
import { isFinal } from '../journal/run.ts';
import type { RunRow } from '../journal/run.ts';
import type { LargeValues } from '../large-values.ts';
import { isStoreDown } from '../persist.ts';
import { replay } from '../run/replay.ts';
import { redactFor } from '../values/redact.ts';
import { waitsForCode } from './code-waits.ts';
import type { LiveRuns } from './live-runs.ts';
import type { ResolvedRun } from './loading.ts';
import { stopOf, toMoveStop, toStop, toUnknownStop } from './move-stops.ts';
import type { MoveStop } from './move-stops.ts';
import type { Publisher } from './publisher.ts';
import type { Replicas } from './replicas.ts';
import type { Signals } from './signals.ts';

/** How the newest code of a run stands to what the run has recorded. */
export interface MoveCheck {
  /** As it was judged. */
  run: RunRow;
  /**
   * `current`: the run has the newest code. `safe`: the newest leads to where the run is, by the same calls. `stops`: it does
   * not, and `stop` says where. `unchecked`: that could not be found out, and `stop` says why. Of a move also `moved`, and
   * `busy`: a process has the run at work, or something happened to it meanwhile. Of either `busy`, with the stop
   * `replicas_differ`: another replica that lives serves the code of the run, and which of the two is newer is not known here.
   */
  outcome: 'current' | 'safe' | 'stops' | 'unchecked' | 'moved' | 'busy';
  /** Of the newest code; null: there is none that loads. */
  codeHash: string | null;
  stop: MoveStop | null;
}

/** Gives runs that go on with the code they began with the newest code, where that fits what they have recorded. */
export interface Moves {
  /** Unfinished runs whose code is none that this process or another replica serves, by id: up to `limit` behind `after`. */
  listOld(page: { limit: number; after?: string }): Promise<RunRow[]>;
  /**
   * Leads the newest code of a run through what the run has recorded. No step is executed, nothing is written, and no model is
   * asked; the first call that has no record ends it. One run after the other in a process, each at most 10 s and 64 MiB of
   * history. Undefined: there is no such run, or it is final. Throws `store_unavailable`.
   */
  checkMove(runId: string, signal?: AbortSignal): Promise<MoveCheck | undefined>;
  /**
   * The same, and the run has the newest code where that was `safe` on the very records it was judged by. A run that rests in the
   * memory of this process is given back first. Any other outcome leaves the run as it is; done twice it is `current`.
   */
  move(runId: string, signal?: AbortSignal): Promise<MoveCheck | undefined>;
}

export interface MovesOptions {
  /** Of this process. */
  owner: string;
  journal: Pick<Journal, 'getRun' | 'getRuns' | 'listRecords' | 'moves'>;
  clock: StoreClock;
  large: Pick<LargeValues, 'whole'>;
  ambient: Pick<Ambient, 'webhookUrl' | 'startUrl' | 'redact'>;
  live: Pick<LiveRuns, 'get'>;
  signals: Pick<Signals, 'signal'>;
  publisher: Pick<Publisher, 'run'>;
  replicas: Pick<Replicas, 'hasCodeOf' | 'listElsewhere'>;
  /** The newest code of a run, whose body may be led through a history beside the run itself. Throws why it cannot be had. */
  resolve(run: ResolvedRun): Promise<Body>;
  /** The hashes of the code this process serves. */
  codes(): readonly string[];
}

export function createMoves(options: MovesOptions): Moves {
  const { journal, clock, live, signals, publisher, replicas } = options;
  const alone = createQueue();

  /** @param isMove what cannot be moved as it is need not be judged */
  const judge = async (runId: string, { isMove, signal }: Judged): Promise<MoveCheck | undefined> => {
    const run = await journal.getRun(runId);
    if (!run || isFinal(run.status)) return undefined;
    try {
      const body = await options.resolve(run);
      const { codeHash } = body;
      if (codeHash === run.codeHash) return { run, outcome: 'current', codeHash, stop: null };
      // While a release rolls out, what is newest here may be older than what the run has.
      if (await replicas.hasCodeOf(run)) return { run, outcome: 'busy', codeHash, stop: DIFFER };
      if (isMove && isHeld(run, options)) return { run, outcome: 'busy', codeHash, stop: BUSY };
      const stop = await alone(() => replayOn(options, run, body, signal));
      return { run, codeHash, outcome: stop ? (stop.isUnknown ? 'unchecked' : 'stops') : 'safe', stop: stop ?? null };
    } catch (error) {
      if (isStoreDown(error)) throw error;
      const stop = toStop(error, redactFor(options.ambient, run));
      return { run, outcome: stop.isUnknown ? 'unchecked' : 'stops', codeHash: null, stop };
    }
  };

  /** A run that only waits, and has not left memory yet, does so at once. */
  const letRest = async (runId: string): Promise<void> => {
    const execution = live.get(runId);
    if (!execution || execution.isBusy || execution.isActive) return;
    const run = await journal.getRun(runId);
    if (run?.status === 'waiting' && !execution.isBusy && !execution.isActive) await execution.release();
  };

  return {
    async listOld(page) {
      const served = [...options.codes(), ...(await replicas.listElsewhere())];
      const ids = await journal.moves.list(served, page);
      const found = new Map((await journal.getRuns(ids)).map((run) => [run.runId, run]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },
    checkMove: (runId, signal) => judge(runId, { isMove: false, signal }),
    async move(runId, signal) {
      await letRest(runId);
      const check = await judge(runId, { isMove: true, signal });
      if (check?.outcome !== 'safe' || check.codeHash === null) return check;
      const { run, codeHash } = check;
      const { epoch, seq, codeHash: from } = run;
      const frees = run.status === 'blocked' || waitsForCode(run);
      // A crash before it leaves the run as it was, and one behind it a run that has been moved.
      if (!(await journal.moves.move({ runId, epoch, seq, from, to: codeHash, by: options.owner, frees }))) {
        const now = await journal.getRun(runId);
        // Another request has moved it meanwhile.
        if (now?.codeHash === codeHash) return { run: now, outcome: 'current', codeHash, stop: null };
        return { ...check, outcome: 'busy', stop: BUSY };
      }
      if (frees) {
        publisher.run('run.resumed', run, 'queued');
        signals.signal(runId);
      }
      const moved = { ...run, codeHash, movedFrom: from, movedAt: clock.now() };
      return { ...check, outcome: 'moved', run: moved };
    },
  };
}

// --- internal ---

interface Judged {
  isMove: boolean;
  signal: AbortSignal | undefined;
}

/** A process that lives has it, or whoever takes it up next begins where it was at work. */
function isHeld({ owner, leaseUntil, status }: RunRow, asks: Pick<MovesOptions, 'owner' | 'clock'>): boolean {
  if (owner === null) return false;
  const isLapsed = owner !== asks.owner && leaseUntil !== null && leaseUntil <= asks.clock.now();
  return !isLapsed || status !== 'waiting';
}

const CHECK_BYTES = 64 * 1024 * 1024;
const TOO_LARGE = `The run has recorded more than ${CHECK_BYTES / 1024 / 1024} MiB, which is too much to check.`;
const CHECK_MS = 10_000;
const PATIENCE_MS = 2_000;

const BUSY = toMoveStop(
  'run_busy',
  'A process has the run at work. It is moved once it rests: where it waits for longer than 5 seconds.',
);
const DIFFER = toMoveStop(
  'replicas_differ',
  'Another replica serves the code this run has. Ask again once all replicas have the same code.',
);

/** Undefined: the body comes to where the run is. */
async function replayOn(
  { journal, large, ambient }: MovesOptions,
  run: RunRow,
  body: Body,
  signal: AbortSignal | undefined,
): Promise<MoveStop | undefined> {
  if (run.cancel !== null)
    return toStop(new BoxError('run_final', 'The run was cancelled, and cleans up by the code it has.'));
  const records = await readHistory(journal, run);
  if (!records) return toUnknownStop('run_too_large', TOO_LARGE);
  const input = await large.whole(run.input);
  await body.prepare?.(records);
  const timeUp = AbortSignal.timeout(CHECK_MS);
  const end = await replay({
    run: { ...run, input },
    records,
    body,
    ambient,
    whole: large.whole,
    findsCallers: false,
    patienceMs: PATIENCE_MS,
    signal: signal ? AbortSignal.any([signal, timeUp]) : timeUp,
  });
  const redact = redactFor(ambient, run);
  return stopOf(run, end, { isLate: timeUp.aborted, isLeft: signal?.aborted === true, redact });
}

/** What the row knows of. Undefined: it is too much. */
async function readHistory(
  { listRecords }: Pick<Journal, 'listRecords'>,
  { runId, seq }: RunRow,
): Promise<JournalRecord[] | undefined> {
  const records: JournalRecord[] = [];
  let bytes = 0;
  for await (const page of pagesOf(runId, listRecords)) {
    bytes += sizeOfRecords(page);
    if (bytes > CHECK_BYTES) return undefined;
    for (const record of page) if (record.seq < seq) records.push(record);
    if (records.length >= seq) break;
  }
  return records;
}

/** One work after the other. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
}
