import type { Append, AppendResult, NewRun, RunRow } from '../journal.ts';

/** What waits for a commit. */
export type Write = { type: 'create'; run: NewRun } | { type: 'append'; entry: Append };
export type Written = RunRow | AppendResult;

export function runIdOf(write: Write): string {
  return write.type === 'create' ? write.run.runId : write.entry.runId;
}

/** Roughly what a write adds to a commit, in bytes: its payloads. */
export function sizeOf(write: Write): number {
  if (write.type === 'create') return write.run.input.length;
  let size = write.entry.patch.output?.length ?? 0;
  for (const { input, output } of write.entry.records) size += (input?.length ?? 0) + (output?.length ?? 0);
  return size;
}
