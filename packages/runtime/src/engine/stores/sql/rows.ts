import type { RunPatch } from '../../journal/appends.ts';
import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow, Tokens } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { fromStoredText, toStoredText } from './text.ts';

/** The columns of `runs`, which both adapters share, by the name the code gives them. */
export const RUN_COLUMNS = {
  runId: 'run_id',
  traceId: 'trace_id',
  kind: 'kind',
  name: 'name',
  trigger: 'trigger',
  status: 'status',
  seq: 'seq',
  epoch: 'epoch',
  owner: 'owner',
  leaseUntil: 'lease_until',
  wakeAt: 'wake_at',
  waitingFor: 'waiting_for',
  codeHash: 'code_hash',
  movedFrom: 'moved_from',
  movedAt: 'moved_at',
  sessionId: 'session_id',
  parentRunId: 'parent_run_id',
  retryOf: 'retry_of',
  seed: 'seed',
  signals: 'signals',
  crashCount: 'crash_count',
  crashSeq: 'crash_seq',
  mark: 'mark',
  markEpoch: 'mark_epoch',
  triggerId: 'trigger_id',
  serialKey: 'serial_key',
  continuedFrom: 'continued_from',
  continuedTo: 'continued_to',
  chainId: 'chain_id',
  pausedAt: 'paused_at',
  cancel: 'cancel',
  deadline: 'deadline',
  timeoutMs: 'timeout_ms',
  closePolicy: 'close_policy',
  closesChildren: 'closes_children',
  state: 'state',
  attributes: 'attributes',
  startedBy: 'started_by',
  input: 'input',
  output: 'output',
  error: 'error',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  totalTokens: 'total_tokens',
  createdAt: 'created_at',
  startedAt: 'started_at',
  endedAt: 'ended_at',
} as const satisfies Record<keyof RunRow, string>;

/** The columns of `run_events` next to `run_id`. */
export const RECORD_COLUMNS = {
  seq: 'seq',
  call: 'call',
  kind: 'kind',
  event: 'event',
  stepId: 'step_id',
  digest: 'digest',
  recordId: 'record_id',
  attempt: 'attempt',
  input: 'input',
  output: 'output',
  error: 'error',
  tokens: 'tokens',
  startedAt: 'started_at',
  at: 'at',
} as const satisfies Record<keyof JournalRecord, string>;

/** The keys of a patch that are a column of the run each. */
export const PATCH_KEYS = [
  'status',
  'wakeAt',
  'waitingFor',
  'output',
  'error',
  'attributes',
  'state',
  'closesChildren',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'totalTokens',
] as const satisfies readonly (keyof RunPatch)[];

export const RUN_SELECT = toSelect(RUN_COLUMNS);
export const RECORD_SELECT = toSelect(RECORD_COLUMNS);

export type StoredValue = string | number | null;
/** A row as the database answers it, under the names of `RunRow` or `JournalRecord`. */
export type StoredRow = Record<string, StoredValue>;

export function toRunRow(row: StoredRow): RunRow {
  return decodeText(row) as unknown as RunRow;
}

export function toRecord(row: StoredRow): JournalRecord {
  const tokens = typeof row.tokens === 'string' ? (JSON.parse(row.tokens) as Tokens) : null;
  return { ...decodeText(row), tokens } as unknown as JournalRecord;
}

/** The value of one column, ready to bind. */
export function toStored(value: string | number | null | undefined): StoredValue {
  return typeof value === 'string' ? toStoredText(value) : (value ?? null);
}

/** The values of one record, in the order of `RECORD_COLUMNS`. */
export function toStoredRecord(record: JournalRecord, seq: number): StoredValue[] {
  return [
    seq,
    record.call,
    record.kind,
    record.event,
    toStoredText(record.stepId),
    toStoredText(record.digest),
    toStoredText(record.recordId),
    record.attempt,
    toStored(record.input),
    toStored(record.output),
    toStored(record.error),
    record.tokens && JSON.stringify(record.tokens),
    record.startedAt,
    record.at,
  ];
}

/** The run as the commit that creates it leaves it behind. `triggerId`: the queued start it was. */
export function createdRun(run: Omit<NewRun, 'durability'>, now: number, triggerId: string | null = null): RunRow {
  const { claim } = run;
  // Written out: with a spread of `run`, a commit of many starts takes nearly twice as long.
  return {
    runId: run.runId,
    traceId: run.traceId,
    kind: run.kind,
    name: run.name,
    trigger: run.trigger,
    status: claim ? 'running' : 'queued',
    seq: run.records?.length ?? 0,
    epoch: claim ? 1 : 0,
    owner: claim?.owner ?? null,
    leaseUntil: claim ? now + claim.leaseMs : null,
    wakeAt: null,
    waitingFor: null,
    codeHash: run.codeHash,
    movedFrom: null,
    movedAt: null,
    sessionId: run.sessionId,
    parentRunId: run.parentRunId,
    retryOf: run.retryOf,
    seed: run.seed ?? null,
    signals: 0,
    crashCount: 0,
    crashSeq: null,
    mark: null,
    markEpoch: null,
    triggerId,
    serialKey: run.serial?.key ?? null,
    continuedFrom: null,
    continuedTo: null,
    chainId: null,
    pausedAt: null,
    cancel: null,
    deadline: run.timeoutMs == null ? null : now + run.timeoutMs,
    timeoutMs: run.timeoutMs ?? null,
    closePolicy: run.closePolicy ?? null,
    closesChildren: null,
    state: null,
    attributes: run.attributes ?? null,
    startedBy: run.startedBy ?? null,
    input: run.input,
    output: null,
    error: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 0,
    createdAt: now,
    startedAt: claim ? now : null,
    endedAt: null,
  };
}

/** A select list that answers columns under the names of the code. */
export function toSelect(columns: Record<string, string>): string {
  return Object.entries(columns)
    .map(([key, column]) => `${column} as "${key}"`)
    .join(', ');
}

/** The row with its texts as they were given. */
export function decodeText(row: StoredRow): StoredRow {
  const decoded: StoredRow = {};
  for (const key in row) {
    const value = row[key] as StoredValue;
    decoded[key] = typeof value === 'string' ? fromStoredText(value) : value;
  }
  return decoded;
}
