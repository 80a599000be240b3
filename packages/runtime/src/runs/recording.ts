import { z } from 'zod';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode, digestOf, encode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { toIso } from '../json-value.ts';
import { Run, RunKind, RunStatus, RunTrigger, StartedByShown } from './run.ts';
import { Step } from './steps.ts';

/** A value of the journal as JSON can hold it: as it is, or flattened by the engine's codec, with tags. */
export const RecordedValue = z
  .union([z.strictObject({ json: z.unknown() }), z.strictObject({ devalue: z.array(z.unknown()) })])
  .nullable();
export type RecordedValue = z.infer<typeof RecordedValue>;

const time = z.iso.datetime();

const RecordedRun = z.object({
  runId: z.uuid(),
  traceId: z.string(),
  kind: RunKind,
  name: z.string(),
  trigger: RunTrigger,
  status: RunStatus,
  codeHash: z.string().nullable(),
  sessionId: z.string().nullable(),
  parentRunId: z.string().nullable(),
  retryOf: z.string().nullable(),
  triggerId: z.string().nullable(),
  serialKey: z.string().nullable(),
  continuedFrom: z.string().nullable().default(null),
  continuedTo: z.string().nullable().default(null),
  seed: z.string().nullable().describe("Where the body's randomness and first time come from, if not the run's own"),
  startedBy: StartedByShown.nullable().default(null),
  attributes: z.unknown(),
  waitingFor: z.unknown(),
  input: RecordedValue,
  output: RecordedValue,
  error: RecordedValue,
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});

const RecordedCall = z.object({
  seq: z.int(),
  call: z.int().describe('-1: no call of the body, as an environment variable it read'),
  kind: z.enum(['step', 'model', 'tool', 'sleep', 'hook', 'approval', 'child', 'env']),
  event: z.enum(['done', 'failed', 'retry', 'set']),
  stepId: z.string(),
  digest: z.string().describe('Of the arguments as they were passed'),
  recordId: z.string(),
  attempt: z.int(),
  input: RecordedValue,
  output: RecordedValue,
  error: RecordedValue,
  startedAt: time,
  at: time,
  isMasked: z.boolean().describe('Something of its input is hidden, so its digest no longer fits'),
});
export type RecordedCall = z.infer<typeof RecordedCall>;

/** The history of a run in one document: enough to lead its code through it again. */
export const Recording = z.object({
  format: z.literal('svc.run'),
  version: z.literal(1),
  exportedAt: time,
  box: z.object({ version: z.string(), url: z.string().describe('What its addresses begin with') }),
  run: RecordedRun,
  records: z.array(RecordedCall).describe('The journal of the run, in order'),
  steps: z.array(Step).describe('The same as people read it'),
  children: z.array(Run).describe('The runs it started, turns of agents among them'),
  masked: z.array(z.string()).describe('Where a secret is hidden'),
});
export type Recording = z.infer<typeof Recording>;

/** Text of the codec as plain data. An empty text is no value. */
export function toRecordedValue(text: string | null): RecordedValue {
  if (text === null || text === '') return null;
  const plain: unknown = JSON.parse(text.slice(1));
  return text.startsWith(JSON_CODEC) ? { json: plain } : { devalue: Array.isArray(plain) ? plain : [plain] };
}

/** The inverse of `toRecordedValue`. */
export function fromRecordedValue(value: RecordedValue): string | null {
  if (value === null) return null;
  if ('json' in value) return JSON_CODEC + JSON.stringify(value.json);
  const [only] = value.devalue;
  // The codec writes undefined, NaN and the like as a number below 0, without a list.
  const isBare = value.devalue.length === 1 && typeof only === 'number' && only < 0;
  return FLAT_CODEC + JSON.stringify(isBare ? only : value.devalue);
}

/** Reads a document of `runs.export`. Throws `invalid_request` with what is wrong. */
export function parseRecording(document: unknown): Recording {
  const { format, version } = (document ?? {}) as { format?: unknown; version?: unknown };
  if (format !== 'svc.run')
    throw new BoxError('invalid_request', 'This is no history of a run: "format" is not "svc.run".');
  if (version !== 1)
    throw new BoxError('invalid_request', `The history is of version ${String(version)}; this build reads version 1.`);
  const parsed = Recording.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BoxError('invalid_request', `The history cannot be read: "${issue?.path.join('.')}": ${issue?.message}.`);
}

/** The run as the journal had it. */
export function toRunRow({ run, records }: Recording): RunRow {
  const { startedBy, attributes, waitingFor, createdAt, startedAt, endedAt, input, output, error, ...same } = run;
  const ms = (text: string | null): number | null => (text === null ? null : Date.parse(text));
  return {
    ...same,
    ...UNCLAIMED,
    seq: records.length,
    startedBy: startedBy === null ? null : JSON.stringify(startedBy),
    attributes: attributes === null ? null : JSON.stringify(attributes),
    waitingFor: waitingFor === null ? null : JSON.stringify(waitingFor),
    input: fromRecordedValue(input) ?? encode(undefined, 'input'),
    output: fromRecordedValue(output),
    error: fromRecordedValue(error),
    createdAt: Date.parse(createdAt),
    startedAt: ms(startedAt),
    endedAt: ms(endedAt),
  };
}

/**
 * The records of the run. Arguments that are masked get the digest of their masks, which code passes on as it would have
 * passed on the secrets. To be called once the code of the run is loaded: its classes take part.
 */
export function toRecords({ records }: Pick<Recording, 'records'>): JournalRecord[] {
  const isMasked = new Set(records.flatMap(({ isMasked: is, call }) => (is ? [call] : [])));
  const digests = new Map<number, string>();
  for (const record of records)
    if (isMasked.has(record.call) && record.input !== null) digests.set(record.call, digestOfMasked(record.input));
  return records.map(({ isMasked: _isMasked, ...record }) => ({
    ...record,
    digest: digests.get(record.call) ?? record.digest,
    input: fromRecordedValue(record.input),
    output: fromRecordedValue(record.output),
    error: fromRecordedValue(record.error),
    tokens: null,
    startedAt: Date.parse(record.startedAt),
    at: Date.parse(record.at),
  }));
}

/** A record as the document holds it, nothing masked. */
export function toRecordedCall(record: JournalRecord): RecordedCall {
  const { tokens: _tokens, input, output, error, startedAt, at, ...same } = record;
  return {
    ...same,
    input: toRecordedValue(input),
    output: toRecordedValue(output),
    error: toRecordedValue(error),
    startedAt: toIso(startedAt),
    at: toIso(at),
    isMasked: false,
  };
}

// --- internal ---

const FLAT_CODEC = '1';
const JSON_CODEC = '2';

/** The columns that say who has a run and how it goes on: no worker, and not at all. */
const UNCLAIMED = {
  epoch: 1,
  owner: null,
  leaseUntil: null,
  wakeAt: null,
  signals: 0,
  crashCount: 0,
  crashSeq: null,
  mark: null,
  markEpoch: null,
  chainId: null,
  movedFrom: null,
  movedAt: null,
  pausedAt: null,
  cancel: null,
  deadline: null,
  timeoutMs: null,
  closePolicy: null,
  closesChildren: null,
  state: null,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 0,
} as const;

function digestOfMasked(input: RecordedValue): string {
  return digestOf(encode(decode(fromRecordedValue(input) ?? ''), 'input'));
}
