import { ASKED_BY, askedByOf } from '../attributes.ts';
import type { Body } from '../body.ts';
import { newRunId, toTraceId } from '../ids.ts';
import type { RunKind, RunRow, RunTrigger } from '../journal/run.ts';
import type { NewRun } from '../journal/starts.ts';
import { digestOf, encode } from '../serialize.ts';

export interface StartRequest {
  /** Default: a new one. */
  runId?: string;
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  input: unknown;
  sessionId?: string;
  parentRunId?: string;
  /** Marks of the box on the run, beside those its code sets. Their names begin with `svc.`. */
  attributes?: Record<string, string>;
  /** The same key with the same input answers the first start again for 24 hours. */
  idempotencyKey?: string;
  /** What the key stands for, where that is not the input. */
  digest?: string;
  /** At most one unfinished run has this lock. Taken: the start queues, or is refused. */
  serial?: { key: string; whenTaken: 'queue' | 'refuse' };
  /** Code to run instead of what `resolve` answers: an agent's turn that streams to a client in this process. */
  body?: Body;
}

/** The run as the journal is asked to create it. */
export function toNewRun(request: StartRequest, body: Body, claim: NewRun['claim']): NewRun {
  const runId = request.runId ?? newRunId();
  const input = encode(request.input, 'input');
  const { idempotencyKey: key, serial } = request;
  return {
    runId,
    traceId: toTraceId(runId),
    kind: request.kind,
    name: request.name,
    trigger: request.trigger,
    codeHash: body.codeHash,
    sessionId: request.sessionId ?? null,
    parentRunId: request.parentRunId ?? null,
    retryOf: null,
    input,
    ...(key === undefined
      ? {}
      : { idempotency: { key: toStartKey(request.name, key), digest: request.digest ?? digestOf(input) } }),
    ...(serial ? { serial: { ...serial, triggerId: newRunId() } } : {}),
    ...(Object.keys(request.attributes ?? {}).length > 0 ? { attributes: JSON.stringify(request.attributes) } : {}),
    claim,
    durability: body.durability,
  };
}

/** An idempotency key as the journal keeps it: that of a start of this name. */
export function toStartKey(name: string, key: string): string {
  return `${name}:${key}`;
}

/** What is hidden is hidden with all that it starts. */
export function inheritedMarks(parent: RunRow | undefined): Record<string, string> {
  const askedBy = parent && askedByOf(parent);
  return askedBy === undefined ? {} : { [ASKED_BY]: askedBy };
}

/** The marks of the box: a retry has them from its first moment, those of the code when it sets them. */
export function marksOfBox({ attributes }: RunRow): string | null {
  if (attributes === null) return null;
  const own = Object.entries(JSON.parse(attributes) as object).filter(([name]) => name.startsWith('svc.'));
  return own.length > 0 ? JSON.stringify(Object.fromEntries(own)) : null;
}
