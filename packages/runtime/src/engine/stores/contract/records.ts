import { newRecordId, newRunId, toTraceId } from '../../ids.ts';
import type { Append } from '../../journal/appends.ts';
import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';

// What tests write to a journal.

/** A start as the engine makes it; `fields` replace parts of it. */
export function newRun(fields: Partial<NewRun> = {}): NewRun {
  const runId = fields.runId ?? newRunId();
  return {
    runId,
    traceId: toTraceId(runId),
    kind: 'workflow',
    name: 'refund',
    trigger: 'api',
    codeHash: 'c0de',
    sessionId: null,
    parentRunId: null,
    retryOf: null,
    input: '[1]',
    claim: { owner: 'a', leaseMs: 30_000 },
    durability: 'process',
    ...fields,
  };
}

/** The record of a finished step; its position is the call's index unless `fields` says otherwise. */
export function newRecord(seq: number, fields: Partial<JournalRecord> = {}): JournalRecord {
  return {
    seq,
    call: seq,
    kind: 'step',
    event: 'done',
    stepId: 'workflows/refund.workflow.ts#charge',
    digest: 'd1935',
    recordId: newRecordId(),
    attempt: 1,
    input: '[1]',
    output: '[2]',
    error: null,
    tokens: null,
    startedAt: 1_700_000_000_000 + seq,
    at: 1_700_000_000_500 + seq,
    ...fields,
  };
}

/** An append to the run as it is in `run`. */
export function newAppend(run: Pick<RunRow, 'runId' | 'epoch' | 'seq'>, fields: Partial<Append> = {}): Append {
  const { runId, epoch, seq } = run;
  return { runId, epoch, seq, records: [], patch: {}, durability: 'process', ...fields };
}
