import type { Append, AppendResult, RunPatch } from '../../journal/appends.ts';
import type { CancelHow } from '../../journal/cancel.ts';
import type { NewChunk } from '../../journal/chunks.ts';
import type { JournalRecord } from '../../journal/record.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { isFinal } from '../../journal/run.ts';

/** What waits for a commit. */
export type Write = { type: 'create'; run: NewRun } | { type: 'append'; entry: Append };
export type Written = CreateResult | AppendResult;

export function runIdOf(write: Write): string {
  return write.type === 'create' ? write.run.runId : write.entry.runId;
}

/** Whether the patch ends its run. */
export function endsIn({ status }: RunPatch): boolean {
  return status !== undefined && isFinal(status);
}

export interface Cancel {
  runId: string;
  error: string;
  newRunId: () => string;
  how?: CancelHow | undefined;
}

/** Roughly what a write adds to a commit, in bytes: its payloads. */
export function sizeOf(write: Write): number {
  if (write.type === 'create') return write.run.input.length + sizeOfRecords(write.run.records);
  const { patch, records, hooks } = write.entry;
  let size = (patch.output?.length ?? 0) + sizeOfRecords(records);
  for (const { detail } of hooks ?? []) size += detail?.length ?? 0;
  return size;
}

export function sizeOfChunks(chunks: NewChunk[]): number {
  let size = 0;
  for (const { payload } of chunks) size += payload.length;
  return size;
}

// --- internal ---

function sizeOfRecords(records: JournalRecord[] = []): number {
  let size = 0;
  for (const { input, output } of records) size += (input?.length ?? 0) + (output?.length ?? 0);
  return size;
}
