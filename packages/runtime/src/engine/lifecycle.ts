import { askedByOf } from './attributes.ts';
import type { Append, AppendResult } from './journal/appends.ts';
import type { JournalRecord, StepKind } from './journal/record.ts';
import type { RunRow, RunStatus } from './journal/run.ts';
import { isFinal } from './journal/run.ts';

/** What happens to runs, as it is told to whoever watches all of them: ids and status, no values. */
export type LifecycleEvent =
  | ({ type: RunEventType } & RunFacts & { status: RunStatus })
  | ({ type: 'step.completed' } & RunFacts & StepFacts)
  | ({ type: 'approval.asked' } & RunFacts & { approvalId: string; status: 'pending' })
  | { type: 'approval.decided'; runId: string; approvalId: string; status: string; askedBy?: string };

export type RunEventType = `run.${'created' | 'started' | 'waiting' | 'resumed' | 'blocked' | 'ended'}`;

export type RunFacts = Pick<RunRow, 'runId' | 'kind' | 'name' | 'trigger' | 'sessionId' | 'parentRunId'> & {
  /** Of a run that not everybody may see. */
  askedBy?: string;
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
  /** False: nothing has to be told, so nothing is made up to be told. */
  readonly isHeard: boolean;
  tell(event: LifecycleEvent): void;
}

export const UNHEARD: Lifecycle = { isHeard: false, tell() {} };

export function toRunEvent(type: RunEventType, run: RunRow, status: RunStatus = run.status): LifecycleEvent {
  return { type, ...factsOf(run), status };
}

/** What an append that has landed tells. */
export function eventsOf(run: RunRow, entry: Append, result: AppendResult): LifecycleEvent[] {
  if (result.outcome !== 'appended') return [];
  const facts = factsOf(run);
  const steps = entry.records.flatMap((record) => toStepEvent(facts, record));
  const asked = (entry.hooks ?? [])
    .filter(({ kind, token }) => kind === 'approval' && !result.refused?.includes(token))
    .map(({ token }) => ({ type: 'approval.asked' as const, ...facts, approvalId: token, status: 'pending' as const }));
  const { status } = entry.patch;
  const type = status && typeOf(status);
  const changed = type ? [toRunEvent(type, run, status)] : [];
  // A run goes on because something was answered, and waits or ends after it.
  const told = type === 'run.resumed' ? [...changed, ...steps, ...asked] : [...steps, ...asked, ...changed];
  return [...told, ...(result.promoted ? [toRunEvent('run.created', result.promoted)] : [])];
}

/** What people call the step: the name of its function, of the tool, of the model. */
export function nameOfStep({ kind, stepId }: Pick<JournalRecord, 'kind' | 'stepId'>): string {
  return kind === 'tool' ? stepId.replace(/^tool:/, '') : stepId.slice(stepId.lastIndexOf('#') + 1);
}

// --- internal ---

const STEP_STATUS = { done: 'completed', failed: 'failed', retry: 'retrying' } as const;

function factsOf(run: RunRow): RunFacts {
  const { runId, kind, name, trigger, sessionId, parentRunId } = run;
  const facts = { runId, kind, name, trigger, sessionId, parentRunId };
  const askedBy = askedByOf(run);
  return askedBy === undefined ? facts : { ...facts, askedBy };
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
