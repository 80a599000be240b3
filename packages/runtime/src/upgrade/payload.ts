import { z } from 'zod';
import type { MoveCheck } from '../engine/worker/moves.ts';
import { toIso } from '../json-value.ts';
import { RunKind, RunStatus } from '../runs/run.ts';

const Stop = z.object({
  code: z
    .string()
    .describe(
      '`code_changed`: the code calls something else than is recorded. `wait_gone`: it does not wait for what the run waits for. `code_fails`, `code_stuck`. Or the code of an error',
    ),
  message: z.string(),
  call: z.int().nullable().describe('The number of the step, as `runs.steps` lists it'),
  recorded: z.string().nullable().describe('What is recorded of it'),
  called: z.string().nullable().describe('What the code calls in its place'),
  at: z.string().nullable().describe('The line that calls: `workflows/refund.workflow.ts:12`'),
  difference: z
    .object({ path: z.string(), recorded: z.string(), called: z.string() })
    .optional()
    .describe('Where the arguments differ of a call that is the same but for them'),
});

/** Whether the newest code fits what a run has recorded, or the outcome of the run. */
export const RunUpgrade = z.object({
  runId: z.uuid(),
  kind: RunKind,
  name: z.string(),
  status: RunStatus,
  records: z.int().describe('What is recorded of it, by which it was judged'),
  outcome: z
    .enum(['current', 'safe', 'stops', 'unchecked', 'moved', 'busy'])
    .describe(
      '`current`: it has the newest code. `safe`: the newest leads to where it is. `stops`: it does not, as `stop` says. `unchecked`: that is not known. Of a move: `moved`, or `busy` where a process has it at work. Of either: `busy` where another replica serves its code',
    ),
  codeHash: z.string().nullable().describe('Of the code it has'),
  newestCodeHash: z.string().nullable().describe('Of the newest code. Null: there is none that loads'),
  createdAt: z.iso.datetime(),
  movedAt: z.iso.datetime().nullable(),
  stop: Stop.nullable(),
});
export type RunUpgrade = z.infer<typeof RunUpgrade>;

const Counts = z.object({
  kind: RunKind,
  name: z.string(),
  runs: z.int(),
  safe: z.int().describe('Those that were moved, too'),
  moved: z.int(),
  stops: z.int(),
  busy: z.int(),
  unchecked: z.int(),
});

export const UpgradePage = z.object({
  items: z.array(RunUpgrade).describe('In the order in which they were created'),
  counts: z.array(Counts).describe('The same by workflow and agent'),
  nextCursor: z.string().nullable().describe('There are more: pass it as `cursor`. A page may be empty'),
});
export type UpgradePage = z.infer<typeof UpgradePage>;

export function toRunUpgrade({ run, outcome, codeHash, stop }: MoveCheck): RunUpgrade {
  return {
    runId: run.runId,
    kind: run.kind,
    name: run.name,
    status: run.status,
    records: run.seq,
    outcome,
    codeHash: run.codeHash,
    newestCodeHash: codeHash,
    createdAt: toIso(run.createdAt),
    movedAt: run.movedAt === null ? null : toIso(run.movedAt),
    stop: stop && toShownStop(stop),
  };
}

export function toCounts(items: readonly RunUpgrade[]): UpgradePage['counts'] {
  const counts = new Map<string, UpgradePage['counts'][number]>();
  for (const { kind, name, outcome } of items) {
    const key = `${kind} ${name}`;
    const one = counts.get(key) ?? { kind, name, runs: 0, safe: 0, moved: 0, stops: 0, busy: 0, unchecked: 0 };
    counts.set(key, one);
    one.runs += 1;
    if (outcome === 'moved') one.safe += 1;
    if (outcome !== 'current') one[outcome] += 1;
  }
  return [...counts.values()];
}

// --- internal ---

function toShownStop({ code, message, call, recorded, called, at, difference }: NonNullable<MoveCheck['stop']>) {
  return { code, message, call, recorded, called, at, ...(difference ? { difference } : {}) };
}
