import { expect } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { AppendResult, RunPatch } from '../../journal/appends.ts';
import type { HookEvents, HookKind, HookRow } from '../../journal/hooks.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { newAppend, newRecord, newRun } from './records.ts';

// What the parts of the contract share.

/** An empty journal for each test. */
export interface World {
  readonly journal: Journal;
  /** Another handle on the same journal. */
  open(): Promise<Journal>;
  /** Runs a statement on the journal's database. It is given the prefix of its tables. */
  change(statement: (prefix: string) => string): Promise<void>;
  /** How many rows a table has. */
  count(table: string): Promise<number>;
  /** Makes every idempotency key so much older. */
  ageKeys(ms: number): Promise<void>;
  /** Makes every resume so much older. */
  ageResumes(ms: number): Promise<void>;
}

export const QUEUED = { claim: null };
export const APPENDED = { outcome: 'appended', at: expect.any(Number) as number };

/** Creates a run that nothing keeps from being created. */
export async function start(journal: Journal, run: NewRun): Promise<RunRow> {
  const result = await journal.create(run);
  if (result.outcome !== 'created') throw new Error(`The start was answered "${result.outcome}".`);
  return result.run;
}

/** Appends `count` records and the patch. */
export function write(journal: Journal, run: RunRow, count: number, patch: RunPatch = {}): Promise<AppendResult> {
  const records = Array.from({ length: count }, (_, index) => newRecord(run.seq + index));
  return journal.append(newAppend(run, { records, patch }));
}

export async function createWaiting(
  journal: Journal,
  wakeAt: number | null,
  fields?: Partial<NewRun>,
): Promise<RunRow> {
  const run = await start(journal, newRun(fields));
  await write(journal, run, 0, { status: 'waiting', wakeAt, waitingFor: '{"kind":"sleep"}', release: true });
  return run;
}

export async function read(journal: Journal, runId: string): Promise<RunRow> {
  const run = await journal.getRun(runId);
  if (!run) throw new Error(`There is no run "${runId}".`);
  return run;
}

export function claim(
  journal: Journal,
  fields: { owner?: string; leaseMs?: number; limit?: number; takeover?: boolean } = {},
): Promise<RunRow[]> {
  return journal.claim({ owner: 'b', leaseMs: 30_000, limit: 100, ...fields });
}

export function ids(runs: { runId: string }[]): string[] {
  return runs.map((run) => run.runId);
}

/** The run's hooks of every kind, open or not; of each kind the newest first. */
export async function listHooks(journal: Journal, runId: string): Promise<HookRow[]> {
  const kinds: HookKind[] = ['hook', 'webhook', 'approval'];
  const lists = kinds.map((kind) => journal.hooks.listEntries({ kind, runId }, { limit: 100 }));
  return (await Promise.all(lists)).flat().map((entry) => entry.hook);
}

/** All resumes of the run's hooks. */
export async function listEvents(journal: Journal, runId: string): Promise<Omit<HookEvents, 'missing' | 'more'>> {
  const hooks = await listHooks(journal, runId);
  const waits = hooks.map(({ token }) => ({ token, n: 0 }));
  const { missing, more: _, ...found } = await journal.hooks.listEvents(runId, waits);
  expect(missing).toStrictEqual([]);
  return found;
}

/** Polls until the condition holds. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 2_000) throw new Error('The condition did not become true.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
