import { createAgents } from '../agents/agents.ts';
import type { TurnInput } from '../agents/turn/input.ts';
import { createCatalog } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { installBodies } from '../engine/values/bodies.ts';
import type { Body } from '../engine/body.ts';
import { installGuard } from '../engine/guard/guard.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { replay } from '../engine/run/replay.ts';
import type { ReplayCall, ReplayEnd, ReplayOptions } from '../engine/run/replay.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import type { Program } from '../manifest.ts';
import { workflowBody } from '../workflows/body.ts';
import { toShownValue } from '../json-value.ts';
import { fromRecordedValue, toRecords, toRunRow } from '../runs/recording.ts';
import type { RecordedValue, Recording } from '../runs/recording.ts';
import { toRunError } from '../runs/run-error.ts';
import type { RunError } from '../runs/run-error.ts';

/** A call of the code with what its history answered, as people read it. */
export interface ReplayedCall {
  call: number;
  name: string;
  kind: string;
  /** `<file>#<name>` of an author's step, else what the engine calls it. */
  source: string;
  input: unknown;
  /** Null: none, or the call failed or has no answer. */
  output: unknown;
  error: RunError | null;
  /** Of those that failed before. */
  attempts: number;
  /** The author's line that calls: `workflows/refund.workflow.ts:12`. */
  at: string | null;
}

export interface Replayed {
  /**
   * `same`: the code ends as the run did. `open`: the history ends, and the code would go on with `next`. `differs`: the
   * code does something else, which `difference` describes. `stopped`: where `until` said. `stuck`: the code waits for
   * something that is no step.
   */
  outcome: 'same' | 'open' | 'differs' | 'stopped' | 'stuck';
  /** In the order in which the code got the answers. */
  calls: ReplayedCall[];
  /** What the code would do next, where the history ends. */
  next: ReplayedCall[];
  difference: Difference | null;
  /** How the code ended; null: it did not. */
  ended: ReplayedEnd | null;
}

export interface ReplayedEnd {
  status: 'completed' | 'failed';
  output: unknown;
  error: RunError | null;
}

export interface Difference {
  /** `code_changed`, `nondeterministic_workflow`, or `result_changed`: all steps are the same, and the end is not. */
  code: string;
  message: string;
  call: number | null;
  /** The step of the history, and what the code asked for; null: it asked for none. */
  recorded: string | null;
  called: string | null;
  at: string | null;
  /** What was recorded with the step, or as the end of the run, and what the code has now. */
  was: unknown;
  is: unknown;
}

export interface ReplayRecordingOptions {
  onAnswer?(call: ReplayedCall): void;
  beforeNext?(): Promise<void>;
  /** The number of a call, the name of a step or its source: the replay stops once it is answered. */
  until?: string;
  /** Called where the body begins, for a debugger to stop at. */
  beforeBody?(): void;
  patienceMs?: number;
}

/**
 * Leads the code of a program through the history of a run. Nothing is executed again. Throws `workflow_not_found`,
 * `workflow_compile_failed`, `agent_not_found`, and `run_not_replayable` with the reason.
 */
export async function replayRecording(
  recording: Recording,
  program: Program,
  options: ReplayRecordingOptions = {},
): Promise<Replayed> {
  const calls: ReplayedCall[] = [];
  const { end } = await leadThrough(recording, program, {
    ...(options.beforeBody ? { beforeBody: options.beforeBody } : {}),
    onAnswer(call) {
      const seen = toCall(call);
      calls.push(seen);
      options.onAnswer?.(seen);
    },
    ...(options.beforeNext ? { beforeNext: options.beforeNext } : {}),
    ...(options.until === undefined ? {} : { until: toUntil(options.until) }),
    ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs }),
  });
  return toReplayed(recording, end, calls);
}

/** The same, as the engine sees it. */
export async function leadThrough(
  recording: Recording,
  program: Program,
  { beforeBody, ...options }: LeadOptions,
): Promise<{ run: RunRow; end: ReplayEnd }> {
  installGuard();
  installBodies();
  const run = toRunRow(recording);
  const { manifest, load } = program;
  const catalog = createCatalog();
  await catalog.load({ manifest: onlyOf(manifest, run), load });
  const { body, close } = await bodyOf(catalog, run);
  const { url } = recording.box;
  try {
    const end = await replay({
      run,
      records: toRecords(recording),
      body: { ...body, run: (input) => (beforeBody?.(), body.run(input)) },
      ambient: {
        webhookUrl: (token) => `${url}/api/webhooks/${token}`,
        startUrl: (name) => `${url}/api/workflows/${name}/start`,
      },
      ...options,
    });
    return { run, end };
  } finally {
    await close();
  }
}

/** Whether that is refused because a document does not hold what the code needs. */
export function isNotReplayable(error: unknown): boolean {
  return error instanceof BoxError && error.code === 'run_not_replayable';
}

// --- internal ---

type LeadOptions = Pick<ReplayOptions, 'onAnswer' | 'beforeNext' | 'until' | 'patienceMs'> & {
  beforeBody?(): void;
};

/** The one module that is needed, and what an agent refers to: others may not load, which is no matter here. */
function onlyOf(manifest: Program['manifest'], { kind, name }: RunRow): Program['manifest'] {
  if (kind === 'agent') return { ...manifest, workflows: [] };
  // The names of the others make the message of one that is not there.
  const known = manifest.workflows.some((entry) => entry.name === name);
  return { ...manifest, agents: [], workflows: manifest.workflows.filter((entry) => !known || entry.name === name) };
}

interface LoadedBody {
  body: Body;
  close(): Promise<void>;
}

async function bodyOf(catalog: Catalog, run: RunRow): Promise<LoadedBody> {
  if (run.kind === 'workflow') return { body: workflowBody(catalog, run.name), close: async () => {} };
  const { session } = decode(run.input) as TurnInput;
  if (session)
    throw notReplayable(
      `The run is a turn of a session, and the messages before it are kept in the database of its box, not in the history of the run.`,
    );
  const { mcpServers } = catalog.findAgent(run.name)?.definition?.agent ?? {};
  if (mcpServers)
    throw notReplayable(
      `The agent "${run.name}" takes tools from other servers (mcpServers), and a replay connects to none.`,
    );
  const agents = createAgents({
    catalog,
    engine: NOTHING,
    sessions: NOTHING,
    // What sub-agents have answered is in the history.
    journal: Object.assign(Object.create(NOTHING), { listRuns: async () => [] }),
    callModel: async () => Promise.reject(new Error('A replay asks no model.')),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    isArmed: () => true,
    defaultModel: () => undefined,
  });
  return { body: await agents.body(run), close: () => agents.close() };
}

/** Rooms that a turn without a session has no use for once it runs. */
const NOTHING = new Proxy({} as never, {
  get: (_, key) => () => {
    throw new Error(`A replay has no box to ask for "${String(key)}".`);
  },
});

function notReplayable(reason: string): BoxError {
  return new BoxError('run_not_replayable', reason);
}

function toUntil(text: string): (call: ReplayCall) => boolean {
  return ({ call, stepId, kind }) => text === String(call) || text === stepId || text === nameOfStep({ stepId, kind });
}

function toCall({ call, kind, stepId, input, at, history }: ReplayCall): ReplayedCall {
  const { answer, retries = [] } = history ?? {};
  return {
    call,
    name: nameOfStep({ stepId, kind }),
    kind,
    source: stepId,
    input: toShownValue(input),
    output: answer?.event === 'done' && answer.output !== null ? toShownValue(answer.output) : null,
    error: answer?.event === 'failed' ? toRunError(answer.error) : null,
    attempts: retries.length,
    at,
  };
}

function toReplayed(recording: Recording, end: ReplayEnd, calls: ReplayedCall[]): Replayed {
  const replayed: Replayed = { outcome: 'stuck', calls, next: [], difference: null, ended: null };
  if (end.how === 'stopped') return { ...replayed, outcome: 'stopped' };
  if (end.how === 'open') return { ...replayed, outcome: 'open', next: end.calls.map(toCall) };
  if (end.how === 'differs') return { ...replayed, outcome: 'differs', difference: toDifference(recording, end) };
  if (end.how === 'stuck') return replayed;
  const ended = toEnd(end.status, end.output, end.error);
  const difference = compareEnds(recording, end, ended);
  return { ...replayed, outcome: difference ? 'differs' : 'same', ended, difference };
}

function toEnd(status: ReplayedEnd['status'], output: string | null, error: string | null): ReplayedEnd {
  return { status, output: output === null ? null : toShownValue(output), error: toRunError(error) };
}

function toDifference(
  { records }: Recording,
  { code, difference, call, thrown }: Extract<ReplayEnd, { how: 'differs' }>,
): Difference {
  const record = records.find((known) => known.call === difference.call && known.input !== null);
  const because = thrown instanceof Error ? ` Its body threw "${thrown.message}".` : '';
  return {
    code,
    message: difference.message + because + (record?.isMasked ? MASKED : ''),
    call: difference.call,
    recorded: difference.recorded,
    called: difference.called,
    at: difference.at,
    was: toPlain(record?.input ?? null),
    is: call ? toShownValue(call.input) : null,
  };
}

const MASKED =
  ' Secrets in the arguments of this step are masked in the history: code that takes one apart passes on something else.';

/** Undefined: it ended as the run did, or the run has not ended by itself. */
function compareEnds(
  { run }: Recording,
  end: Extract<ReplayEnd, { how: 'ended' }>,
  ended: ReplayedEnd,
): Difference | null {
  const { status } = run;
  if (status !== 'completed' && status !== 'failed') {
    const message = `The code ends as ${ended.status}; the run is ${status}, and its history holds nothing more.`;
    return status === 'cancelled' ? null : toEndDifference(message, status, ended.output ?? ended.error?.message);
  }
  const was = toEnd(status, fromRecordedValue(run.output), fromRecordedValue(run.error));
  if (status !== ended.status) {
    const why = ended.error ? ` with "${ended.error.message}"` : '';
    return toEndDifference(
      `The run ended as ${status}; the code now ends as ${ended.status}${why}.`,
      outcomeOf(was),
      outcomeOf(ended),
    );
  }
  if (status === 'failed')
    return was.error?.message === ended.error?.message
      ? null
      : toEndDifference('The code now fails with another error than the run did.', outcomeOf(was), outcomeOf(ended));
  if (fromRecordedValue(run.output) === end.output) return null;
  if (JSON.stringify(was.output) === JSON.stringify(ended.output)) return null;
  return toEndDifference('The code now answers something else than the run did.', outcomeOf(was), outcomeOf(ended));
}

function outcomeOf({ output, error }: ReplayedEnd): unknown {
  return error ? error.message : output;
}

function toEndDifference(message: string, was: unknown, is: unknown): Difference {
  return { code: 'result_changed', message, call: null, recorded: null, called: null, at: null, was, is };
}

function toPlain(value: RecordedValue): unknown {
  const text = fromRecordedValue(value);
  return text === null ? null : toShownValue(text);
}
