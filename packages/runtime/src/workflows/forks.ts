import { createHash } from 'node:crypto';
import { chargedBy, toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { toChargedMark } from '../engine/box-marks.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { decode } from '../engine/serialize.ts';
import { isEditTooLarge } from '../engine/worker/forks.ts';
import type { ForkPlan } from '../engine/worker/forks.ts';
import { BoxError } from '../errors.ts';
import { toCanonicalText } from '../json-value.ts';
import type { ForkHow, RunForks } from '../runs/fork-operations.ts';
import { toForkPreview } from '../runs/fork-plan.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { toEditedInput } from './edited-arguments.ts';
import { startFlow } from './flow.ts';
import type { Flow, FlowResult } from './flow.ts';

export interface ForksOptions {
  engine: Engine;
  journal: Pick<Journal, 'getRun' | 'listCalls'>;
  /** Throws where no run of the workflow can be started. */
  requireStart(name: string): void;
  /** The input as the workflow will get it, and the mark of one that a rule holds. Throws what a start with it would. */
  toInput(name: string, input: unknown): Promise<{ input: unknown; marks: Record<string, string> }>;
  /** What a run with that input waits for: its lock. */
  lockOf(name: string, input: unknown): Flow;
  toAnswer(name: string, result: FlowResult, idempotencyKey: string | undefined): StartReceipt;
}

/** Runs of workflows that begin with what another has recorded. */
export function createRunForks(options: ForksOptions): RunForks {
  const { engine, journal, requireStart, toInput, lockOf, toAnswer } = options;
  const get = async (runId: string): Promise<RunRow> => {
    const run = await journal.getRun(runId);
    if (!run) throw new BoxError('run_not_found', `There is no run "${runId}".`);
    requireForkable(run);
    requireStart(run.name);
    return run;
  };

  const plan = async (run: RunRow, { from, as }: Pick<ForkHow, 'from' | 'as'>): Promise<ForkPlan> => {
    if (as === 'rewind') requireRewindable(run);
    const found = from === 'start' ? from : await findCall(journal, run, from);
    return engine.planFork(run, found, { ends: as === 'rewind' });
  };

  const edit = async (run: RunRow, { call, isWhole }: ForkPlan, { args, input }: ForkHow) => {
    if (input !== undefined && !isWhole)
      throw new BoxError('invalid_request', 'An input is given to a fork from "start"; a step is given "args".');
    if (input !== undefined) return toInput(run.name, input);
    if (args === undefined) return {};
    if (isWhole)
      throw new BoxError('invalid_request', 'A fork from "start" is given an "input"; "args" are of a step.');
    const records = await journal.listCalls(run.runId, { after: call - 1, limit: 1 });
    const step = records.find((record) => record.call === call && record.kind === 'step' && record.input !== null);
    if (!step?.input) throw notForkable(`Call ${call} of it is no step of the workflow's own: it has no arguments.`);
    return { edited: toEdited(await engine.whole(step.input), args, step) };
  };

  return {
    async previewFork(runId, how) {
      const run = await get(runId);
      const planned = await plan(run, how);
      requireHooks(planned);
      return toForkPreview(run, how.as, planned);
    },
    async fork(runId, how) {
      const { as, etag, caller, idempotencyKey } = how;
      const run = await get(runId);
      // What it has become is answered again, whatever has become of the run.
      const isRepeat = idempotencyKey !== undefined && (await engine.findFork(run, idempotencyKey)) !== undefined;
      const planned = await plan(run, how);
      if (!isRepeat) requireHooks(planned);
      if (!isRepeat && planned.etag !== etag) throw changed();
      const { marks, ...edited } = { marks: {}, ...(await edit(run, planned, how)) };
      const input = 'input' in edited ? edited.input : decode(await engine.whole(run.input));
      // What may still refuse it comes first.
      const flow = lockOf(run.name, input);
      // Its clean-up would undo what the new run takes as done. A crash right behind it leaves a run that was cancelled.
      if (as === 'rewind' && !isRepeat && !isFinal(run.status)) await engine.cancel(run.runId, rewound());
      const result = await startFlow(
        { engine, isOwn: () => true, isOwnStart: async () => true },
        { ...flow, onConflict: toForkConflict(flow, as) },
        async ({ serial }) =>
          engine.fork((await journal.getRun(runId)) ?? run, {
            trigger: as,
            plan: planned,
            ...edited,
            ...(serial && { serial }),
            ...byCaller(caller, marks),
            ...(idempotencyKey === undefined
              ? {}
              : { idempotency: { key: idempotencyKey, digest: digestOfRequest(how) } }),
          }),
      );
      return toAnswer(run.name, result, idempotencyKey);
    },
  };
}

// --- internal ---

function byCaller(caller: Caller | undefined, marks: Record<string, string>) {
  return caller
    ? { forkedBy: toStartedBy(caller), marks: { ...toChargedMark(chargedBy(caller)), ...marks } }
    : { marks };
}

/** To be answered with another run is no fork, and to end the run it is of is a rewind. */
function toForkConflict({ onConflict }: Flow, as: ForkHow['as']): Flow['onConflict'] {
  if (onConflict === 'join' || (onConflict === 'replace' && as === 'fork')) return 'reject';
  return onConflict;
}

/** Without the etag: whoever has lost the answer looks again first, and a run that goes on has another by then. */
function digestOfRequest({ from, as, args, input }: ForkHow): string {
  return createHash('sha256').update(toCanonicalText({ from, as, args, input })).digest('base64url');
}

function requireForkable({ kind, sessionId, status }: RunRow): void {
  if (kind === 'agent')
    throw notForkable(
      'It is a turn of an agent, whose past is its session: ask again from an earlier message there, or retry it.',
    );
  if (sessionId !== null)
    throw notForkable('It holds a conversation, which has gone on in its session: ask again from an earlier message.');
  if (status === 'queued') throw notForkable('It is queued and has recorded nothing.');
}

function requireRewindable({ parentRunId, continuedTo, status }: RunRow): void {
  if (continuedTo !== null) throw notForkable(`It has continued as ${continuedTo}: rewind that one, or fork this one.`);
  if (parentRunId !== null && !isFinal(status))
    throw notForkable(`The run ${parentRunId} waits for it, and would fail: rewind that one, or fork this one.`);
}

function requireHooks({ heldHooks }: ForkPlan): void {
  const held = heldHooks.find(({ isTaken }) => isTaken);
  if (!held) return;
  const hook = `the hook of its call ${held.call}, whose token one run alone can have`;
  throw notForkable(
    held.isOfSource
      ? `It still waits for ${hook}. Rewind it, or fork it from step ${held.call}.`
      : `Another open run waits for ${hook}. End that one first, or fork it from step ${held.call}.`,
  );
}

/** The call that is meant. One behind the last that is recorded is where the run is. */
async function findCall({ listCalls }: Pick<Journal, 'listCalls'>, run: RunRow, from: string): Promise<number> {
  if (/^\d{1,9}$/.test(from)) {
    const call = Number(from);
    const near = await listCalls(run.runId, { after: call - 2, limit: 2 });
    const isThere = near.some((record) => record.call === call || record.call === call - 1);
    if (isThere || call === 0) return call;
    throw new BoxError('not_found', `The run has no step "${from}".`);
  }
  const calls = new Set<number>();
  let after = -1;
  for (;;) {
    const page = await listCalls(run.runId, { after, limit: PAGE });
    for (const record of page) if (isCalled(record, from)) calls.add(record.call);
    const last = page.reduce((most, { call }) => Math.max(most, call), after);
    if (last === after) break;
    after = last;
  }
  const [first, ...more] = calls;
  if (first === undefined) throw new BoxError('not_found', `The run has no step "${from}".`);
  if (more.length === 0) return first;
  const numbers = [first, ...more].slice(0, SHOWN).join(', ');
  throw new BoxError(
    'invalid_request',
    `The run has ${calls.size} steps "${from}": say which by its number: ${numbers}.`,
  );
}

const PAGE = 100;
const SHOWN = 20;

function isCalled(record: JournalRecord, name: string): boolean {
  return record.kind !== 'env' && (record.stepId === name || nameOfStep(record) === name);
}

function toEdited(recorded: string, args: readonly unknown[], { call, kind, stepId }: JournalRecord): string {
  let edited: string;
  try {
    edited = toEditedInput(recorded, args, nameOfStep({ kind, stepId }));
  } catch (error) {
    throw notForkable(
      `What call ${call} was given cannot be read: ${error instanceof Error ? error.message : 'it is gone'}`,
    );
  }
  if (!isEditTooLarge(edited)) return edited;
  throw new BoxError('invalid_request', 'The arguments of an edited step are of 64 KiB at most, as they are recorded.');
}

function notForkable(reason: string): BoxError {
  return new BoxError('run_not_forkable', `The run cannot be forked. ${reason}`);
}

function changed(): BoxError {
  const message = 'The run has changed since that etag: look again at what would be executed, and send the new one.';
  return new BoxError('run_changed', message);
}

function rewound(): Error {
  return Object.assign(new Error('The run was rewound: a new one goes on in its place.'), { code: 'run_rewound' });
}
