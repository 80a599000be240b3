import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { wholeRecord, wholeRun } from '../engine/large-values.ts';
import { bytesOf } from '../engine/values/large-ref.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { createYielder } from '../yielder.ts';
import { BoxError } from '../errors.ts';
import { contractPayload } from '../health/contract.ts';
import { toIso } from '../json-value.ts';
import { createMasker } from './mask.ts';
import type { Masker } from './mask.ts';
import { fromRecordedValue, toRecordedCall, toRecordedValue } from './recording.ts';
import type { RecordedCall, RecordedValue, Recording } from './recording.ts';
import { toRun } from './run.ts';
import { isGuessable, isSecretVariable } from '../secret-variables.ts';
import { toSteps } from './steps.ts';

/** Hands out the histories of runs, without the secrets of the box. */
export interface RunExports {
  /**
   * Throws `run_not_found`, and `run_too_large` when there is more than fits into a document.
   *
   * `mayKnowSecrets`: that a text is hidden may show the reader that it is a secret of the box. Where it may not, secrets
   * that can be guessed are not hidden by their value: whoever starts a run with guesses would read the right one off its
   * mask. Fields that are named like secrets are hidden for all.
   */
  export(runId: string, reader: { mayKnowSecrets: boolean }): Promise<Recording>;
}

export interface RunExportsOptions {
  journal: Journal;
  engine: Pick<Engine, 'whole'>;
  /** What is hidden wherever it occurs. */
  secrets(): Promise<string[]>;
  /** What the addresses of the box begin with. */
  url(): string;
  now(): number;
  /** The most text the journal of a run may have. Default 16 MiB. */
  maxBytes?: number;
}

const MAX_BYTES = 16 * 1_048_576;
const MAX_CHILDREN = 200;
/** How long the event loop is held at most, but for one value. */
const YIELD_MS = 20;

export function createRunExports(options: RunExportsOptions): RunExports {
  const { journal, engine, maxBytes = MAX_BYTES } = options;
  return {
    async export(runId, { mayKnowSecrets }) {
      const row = await journal.getRun(runId);
      if (!row) throw new BoxError('run_not_found', `There is no run "${runId}".`);
      const [records, children, secrets] = await Promise.all([
        journal.getRecords(runId),
        journal.listRuns({ parentRunId: runId }, { limit: MAX_CHILDREN }),
        options.secrets(),
      ]);
      checkSize(row, records, maxBytes);
      const whole = { row: await wholeRun(engine, row), records: await wholeRecords(engine, records) };
      const known = [...secrets, ...secretVariables(records)];
      const hidden = mayKnowSecrets ? known : known.filter((secret) => !isGuessable(secret));
      const masker = createMasker(hidden, hookNames(records));
      return toRecording({ ...whole, children, masker, url: options.url(), now: options.now() });
    },
  };
}

// --- internal ---

async function wholeRecords(engine: Pick<Engine, 'whole'>, records: JournalRecord[]): Promise<JournalRecord[]> {
  const read: JournalRecord[] = [];
  for (const record of records) read.push(await wholeRecord(engine, record));
  return read;
}

interface Exported {
  row: RunRow;
  records: JournalRecord[];
  children: RunRow[];
  masker: Masker;
  url: string;
  now: number;
}

async function toRecording({ row, records, children, masker, url, now }: Exported): Promise<Recording> {
  const yielder = createYielder(YIELD_MS);
  const calls = records.map(toRecordedCall);
  const run = toRecordedRun(row);
  const below = children.map(toRun);
  for (const { input, output, error } of [run, ...calls]) {
    for (const value of [input, output, error]) {
      learn(masker, value);
      await yielder.yieldIfDue();
    }
  }
  for (const value of [run.attributes, run.waitingFor, below]) masker.learn(value);

  const maskedCalls: RecordedCall[] = [];
  for (const [index, call] of calls.entries()) {
    maskedCalls.push(maskCall(masker, call, `records[${index}]`));
    await yielder.yieldIfDue();
  }
  return {
    format: 'svc.run',
    version: 1,
    exportedAt: toIso(now),
    box: { version: contractPayload().build.version, url },
    run: {
      ...run,
      ...maskValues(masker, run, 'run'),
      attributes: masker.mask(run.attributes, 'run.attributes'),
      waitingFor: masker.mask(run.waitingFor, 'run.waitingFor'),
      serialKey: masker.mask(run.serialKey, 'run.serialKey'),
    },
    records: maskedCalls,
    steps: toSteps(records.map((record, index) => ({ ...record, ...toTexts(maskedCalls[index]) }))),
    children: masker.mask(below, 'children'),
    masked: [...masker.masked],
  };
}

function toRecordedRun(row: RunRow): Recording['run'] {
  const { runId, traceId, kind, name, trigger, status, codeHash, sessionId, parentRunId, retryOf, triggerId } = row;
  const { serialKey, seed, attributes, waitingFor, startedAt, endedAt } = row;
  const parse = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  return {
    runId,
    traceId,
    kind,
    name,
    trigger,
    status,
    codeHash,
    sessionId,
    parentRunId,
    retryOf,
    triggerId,
    serialKey,
    continuedFrom: row.continuedFrom,
    continuedTo: row.continuedTo,
    seed,
    startedBy: startedByOf(row) ?? null,
    attributes: parse(attributes),
    waitingFor: parse(waitingFor),
    input: toRecordedValue(row.input),
    output: toRecordedValue(row.output),
    error: toRecordedValue(row.error),
    createdAt: toIso(row.createdAt),
    startedAt: startedAt === null ? null : toIso(startedAt),
    endedAt: endedAt === null ? null : toIso(endedAt),
  };
}

type Values = Pick<RecordedCall, 'input' | 'output' | 'error'>;

function maskCall(masker: Masker, call: RecordedCall, path: string): RecordedCall {
  const values = isSecretRead(call) ? maskRead(masker, call, path) : maskValues(masker, call, path);
  return { ...call, ...values, isMasked: JSON.stringify(values.input) !== JSON.stringify(call.input) };
}

function maskValues(masker: Masker, { input, output, error }: Values, path: string): Values {
  return {
    input: maskValue(masker, input, `${path}.input`),
    output: maskValue(masker, output, `${path}.output`),
    error: maskValue(masker, error, `${path}.error`),
  };
}

/** A variable, hidden as a field of its name is. */
function maskRead(masker: Masker, call: RecordedCall & { output: { json: string } }, path: string): Values {
  const json = masker.maskSecret(call.output.json, `${path}.output.json`);
  return { ...maskValues(masker, { ...call, output: null }, path), output: { json } };
}

function maskValue(masker: Masker, value: RecordedValue, path: string): RecordedValue {
  if (value === null) return null;
  if ('json' in value) return { json: masker.mask(value.json, `${path}.json`) };
  return { devalue: masker.maskFlat(value.devalue, `${path}.devalue`) };
}

function learn(masker: Masker, value: RecordedValue): void {
  if (value === null) return;
  if ('json' in value) masker.learn(value.json);
  else masker.learnFlat(value.devalue);
}

function toTexts(call: RecordedCall | undefined): Pick<JournalRecord, 'input' | 'output' | 'error'> {
  return {
    input: fromRecordedValue(call?.input ?? null),
    output: fromRecordedValue(call?.output ?? null),
    error: fromRecordedValue(call?.error ?? null),
  };
}

/** What the body has read of variables that are named like a secret. */
function secretVariables(records: readonly JournalRecord[]): string[] {
  return records.flatMap(({ kind, stepId, output }) => {
    const read = { kind, stepId, output: kind === 'env' ? toRecordedValue(output) : null };
    return isSecretRead(read) ? [read.output.json] : [];
  });
}

type Read = Pick<RecordedCall, 'kind' | 'stepId' | 'output'>;

function isSecretRead<R extends Read>(call: R): call is R & { output: { json: string } } {
  const { kind, stepId, output } = call;
  return (
    kind === 'env' && isSecretVariable(stepId) && output !== null && 'json' in output && typeof output.json === 'string'
  );
}

/** What a workflow calls its hooks: their field is a `token`, and no credential. That of a webhook is one. */
function hookNames(records: readonly JournalRecord[]): Set<unknown> {
  return new Set(
    records.flatMap(({ kind, stepId, output }) => {
      const value = kind === 'hook' && stepId === 'hook' ? toRecordedValue(output) : null;
      return value && 'json' in value ? [(value.json as { token?: unknown } | null)?.token] : [];
    }),
  );
}

function checkSize(row: RunRow, records: readonly JournalRecord[], maxBytes: number): void {
  const sizeOf = ({ input, output, error }: Pick<RunRow, 'output' | 'error'> & { input: string | null }): number =>
    bytesOf(input) + bytesOf(output) + bytesOf(error);
  const size = records.reduce((sum, record) => sum + sizeOf(record), sizeOf(row));
  if (size <= maxBytes) return;
  throw new BoxError(
    'run_too_large',
    `The history of the run has ${size} characters; a document holds ${maxBytes}. Read its steps one by one instead.`,
    { details: { size, limit: maxBytes } },
  );
}
