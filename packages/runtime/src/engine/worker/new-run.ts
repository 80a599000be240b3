import {
  ASKED_BY,
  askedByOf,
  chargedTo,
  HELD,
  OWN_ID,
  pinnedModel,
  pinnedPrompts,
  toChargedMark,
  toPinnedMarks,
} from '../box-marks.ts';
import type { Body } from '../body.ts';
import { newRunId, toTraceId } from '../ids.ts';
import type { ClosePolicy, RunKind, RunRow, RunTrigger } from '../journal/run.ts';
import type { NewRun, OwnId, StartTiming } from '../journal/starts.ts';
import { mayQueue } from '../large-values.ts';
import type { StartedBy } from '../started-by.ts';
import { digestOf, encode, encodeUncompared } from '../serialize.ts';
import { forAnotherRun } from '../values/stream-ref.ts';
import { digestOfValue } from '../values/digest.ts';
import type { ValueDigest } from '../journal/digest.ts';
import { boundGiven, GIVEN_BYTES, isSurelyLarger, tooLargeGiven, TURN_BYTES } from '../values/size.ts';

export interface StartRequest {
  /** Default: a new one. */
  runId?: string;
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  input: unknown;
  sessionId?: string;
  parentRunId?: string;
  /** Absent: whoever made its parent begin, or the box itself. */
  startedBy?: StartedBy;
  /** Marks of the box on the run, beside those its code sets. Their names begin with `svc.`. */
  attributes?: Record<string, string>;
  /** The same key with the same input answers the first start again for 24 hours. */
  idempotencyKey?: string;
  /** What the key stands for, where that is not the input. */
  digest?: ValueDigest;
  /** At most `limit` (default 1) unfinished runs have this lock. Taken: the start queues, or is refused. */
  serial?: { key: string; whenTaken: 'queue' | 'refuse'; limit?: number };
  /** The milliseconds it may take from the moment it is a run. Default: no limit. */
  timeoutMs?: number;
  /** What becomes of it when its parent ends. Default: a cancel or a timeout takes it along, another end leaves it. */
  closePolicy?: ClosePolicy | undefined;
  timing?: Omit<StartTiming, 'triggerId'>;
  /** At most one unfinished run of this name has the id. */
  ownId?: Omit<OwnId, 'key'> & { id: string };
  /** Code to run instead of what `resolve` answers: an agent's turn that streams to a client in this process. */
  body?: Body;
}

export interface NewRunOptions {
  claim: NewRun['claim'];
  /** Of its input. */
  givenBytes: number;
}

/** The run as the journal is asked to create it. */
export function toNewRun(request: StartRequest, body: Body, { claim, givenBytes }: NewRunOptions): NewRun {
  const runId = request.runId ?? newRunId();
  const isChild = request.parentRunId !== undefined;
  const { idempotencyKey: key, serial, timing, ownId, timeoutMs, closePolicy } = request;
  const triggerId = serial || timing ? newRunId() : '';
  // What waits in a queue is no run yet, whose object its input could be.
  const most = mayQueue(request) ? Math.min(givenBytes, GIVEN_BYTES) : givenBytes;
  const limit = request.kind === 'agent' ? TURN_BYTES : most;
  const given = { value: request.input, what: 'input', limit };
  if (isSurelyLarger(request.input, limit)) throw tooLargeGiven(given);
  const encodeInput = isCompared(request) ? encode : encodeUncompared;
  const encoded = isChild ? forAnotherRun(() => encode(request.input, 'input')) : encodeInput(request.input, 'input');
  const run: NewRun = {
    runId,
    traceId: toTraceId(runId),
    kind: request.kind,
    name: request.name,
    trigger: request.trigger,
    codeHash: body.codeHash,
    sessionId: request.sessionId ?? null,
    parentRunId: request.parentRunId ?? null,
    retryOf: null,
    startedBy: request.startedBy ? JSON.stringify(request.startedBy) : null,
    input: boundGiven(encoded, given),
    attributes: marksFor(request),
    claim,
    durability: body.durability,
  };
  // Member by member: most starts have none of these, and spreads of nothing took as long as the rest.
  if (key !== undefined) run.idempotency = toIdempotency(request, key, run.input);
  if (serial) run.serial = { ...serial, triggerId };
  if (timeoutMs !== undefined) run.timeoutMs = timeoutMs;
  if (closePolicy !== undefined) run.closePolicy = closePolicy;
  if (timing) run.timing = { ...timing, triggerId };
  if (ownId) run.ownId = { ...ownId, key: toIdKey(request.name, ownId.id) };
  return run;
}

function toIdempotency(request: StartRequest, key: string, input: string): NonNullable<NewRun['idempotency']> {
  return { key: toStartKey(request.name, key), ...keyedDigest(request, input), ...keptFor(request.startedBy) };
}

/** Whether a repeat of the start is known by the text of its input. */
function isCompared({ idempotencyKey, digest, parentRunId }: StartRequest): boolean {
  return parentRunId !== undefined || (idempotencyKey !== undefined && !digest);
}

/** What the body of a parent passes it passes again just as it is. */
function keyedDigest({ digest, parentRunId, input }: StartRequest, encoded: string): ValueDigest {
  if (digest) return digest;
  if (parentRunId === undefined) return digestOfValue(input, encoded);
  // A stream that is handed on names the run it is of, which is another one when that is retried.
  return { digest: digestOf(encoded.includes('"writable"') ? encode(input, 'input') : encoded) };
}

function marksFor({ attributes, ownId }: StartRequest): string | null {
  if (!ownId && Object.keys(attributes ?? {}).length === 0) return null;
  return JSON.stringify({ ...attributes, ...(ownId ? { [OWN_ID]: ownId.id } : {}) });
}

/** A turn of the copilot may ask again after days for what it has started. */
export function keptFor(startedBy: StartedBy | undefined): { isKept?: true } {
  return startedBy?.via === 'copilot' ? { isKept: true } : {};
}

/** An idempotency key as the journal keeps it: that of a start of this name. */
export function toStartKey(name: string, key: string): string {
  return `${name}:${key}`;
}

/** An id of its creator's choice as the journal keeps it. No start key is like it: none has its first space behind two colons. */
export function toIdKey(name: string, id: string): string {
  return `id:${name}:${id}`;
}

/** What is hidden is hidden with all that it starts, whoever pays for it pays for that, too, and its models and prompts are theirs. */
export function inheritedMarks(parent: RunRow): Record<string, string> {
  const askedBy = askedByOf(parent);
  return {
    ...(askedBy === undefined ? {} : { [ASKED_BY]: askedBy }),
    ...toChargedMark(chargedTo(parent)),
    ...toPinnedMarks(pinnedModel(parent) ?? null, pinnedPrompts(parent)),
  };
}

/**
 * The marks of the box: a retry has them from its first moment, those of the code when it sets them. What has held the start
 * of a chain holds no input that a run of it has continued with.
 */
export function marksOfBox({ attributes, continuedFrom }: RunRow): string | null {
  if (attributes === null) return null;
  const isKept = (name: string): boolean => name.startsWith('svc.') && (name !== HELD || continuedFrom === null);
  const own = Object.entries(JSON.parse(attributes) as object).filter(([name]) => isKept(name));
  return own.length > 0 ? JSON.stringify(Object.fromEntries(own)) : null;
}
