import { askedByOf } from './box-marks.ts';
import type { Append, AppendResult } from './journal/appends.ts';
import type { JournalRecord, StepKind } from './journal/record.ts';
import type { RunRow, RunStatus } from './journal/run.ts';
import { isFinal } from './journal/run.ts';
import { codeOfError } from './run/outcome.ts';

/** What happens to runs, for whoever follows all of them: ids, status and codes, no values. */
export type LifecycleEvent =
  | ({ type: RunEventType } & RunFacts & { status: RunStatus; code?: string })
  | ({ type: 'step.completed' } & RunFacts & StepFacts)
  | ({ type: 'state.published' } & RunFacts & { status: RunStatus })
  | ({ type: 'approval.asked' } & RunFacts & { approvalId: string; status: 'pending' })
  | { type: 'approval.decided'; runId: string; approvalId: string; status: string; askedBy?: string };

export type RunEventType = `run.${'created' | 'started' | 'waiting' | 'resumed' | 'blocked' | 'ended'}`;

export type RunFacts = Pick<RunRow, 'runId' | 'kind' | 'name' | 'trigger' | 'sessionId' | 'parentRunId'> & {
  /** Of a run that not everyone may see. */
  askedBy?: string;
  /** Who made it begin, as the journal holds it: for whoever hands events on, and no part of them. */
  startedBy?: string;
};

export interface StepFacts {
  /** The number of the call in the run. */
  stepId: string;
  step: string;
  stepKind: StepKind;
  status: 'completed' | 'failed' | 'retrying';
  attempt: number;
}

export interface Lifecycle {
  /** False: there are no followers, so no event is made. */
  readonly isFollowed: boolean;
  publish(event: LifecycleEvent): void;
}

export const UNFOLLOWED: Lifecycle = { isFollowed: false, publish() {} };

export function toRunEvent(type: RunEventType, run: RunRow, status: RunStatus = run.status): LifecycleEvent {
  const code = codeOf(run, status);
  return { type, ...factsOf(run), status, ...(code === undefined ? {} : { code }) };
}

/** The events of an append that has landed. */
export function eventsOf(run: RunRow, entry: Append, result: AppendResult): LifecycleEvent[] {
  if (result.outcome !== 'appended') return [];
  const facts = factsOf(run);
  const steps = entry.records.flatMap((record) => toStepEvent(facts, record));
  const asked = (entry.hooks ?? [])
    .filter(({ kind, token }) => kind === 'approval' && !result.refused?.includes(token))
    .map(({ token }) => ({ type: 'approval.asked' as const, ...facts, approvalId: token, status: 'pending' as const }));
  const { status, state } = entry.patch;
  const published =
    state === undefined || state === null
      ? []
      : [{ type: 'state.published' as const, ...facts, status: status ?? run.status }];
  const type = status && typeOf(status);
  const changed = type ? [toRunEvent(type, { ...run, ...entry.patch }, status)] : [];
  // A run goes on because something was answered, and waits or ends after it.
  const events =
    type === 'run.resumed'
      ? [...changed, ...steps, ...published, ...asked]
      : [...steps, ...published, ...asked, ...changed];
  return [...events, ...(result.promoted ? [toRunEvent('run.created', result.promoted)] : [])];
}

/** What people call the step: the name of its function, of the tool, of the model. */
export function nameOfStep({ kind, stepId }: Pick<JournalRecord, 'kind' | 'stepId'>): string {
  return kind === 'tool' ? stepId.replace(/^tool:/, '') : stepId.slice(stepId.lastIndexOf('#') + 1);
}

// --- internal ---

/** Why a run stopped: of a failed one the code of its error, of a blocked one what blocks it. */
function codeOf({ error, waitingFor }: RunRow, status: RunStatus): string | undefined {
  if (status === 'failed') return codeOfError(error) ?? 'run_failed';
  return status === 'blocked' ? (JSON.parse(waitingFor ?? '{}') as { code?: string }).code : undefined;
}

const STEP_STATUS = { done: 'completed', failed: 'failed', retry: 'retrying' } as const;

function factsOf(run: RunRow): RunFacts {
  const { runId, kind, name, trigger, sessionId, parentRunId, startedBy } = run;
  const askedBy = askedByOf(run);
  return {
    runId,
    kind,
    name,
    trigger,
    sessionId,
    parentRunId,
    ...(askedBy === undefined ? {} : { askedBy }),
    ...(startedBy === null ? {} : { startedBy }),
  };
}

function typeOf(status: RunStatus): RunEventType | undefined {
  if (isFinal(status)) return 'run.ended';
  if (status === 'running') return 'run.resumed';
  return status === 'queued' ? undefined : `run.${status}`;
}

function toStepEvent(facts: RunFacts, record: JournalRecord): LifecycleEvent[] {
  const { kind, event, call, attempt } = record;
  if (kind === 'env' || event === 'set') return [];
  const step = nameOfStep(record);
  const status = STEP_STATUS[event];
  return [{ type: 'step.completed', ...facts, stepId: String(call), step, stepKind: kind, status, attempt }];
}
