import { z } from 'zod';
import { historyOf } from '../engine/call.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { ForkPlan } from '../engine/worker/forks.ts';
import { toSteps } from './steps.ts';
import type { Step } from './steps.ts';

export const ForkKind = z.enum(['fork', 'rewind']);
export type ForkKind = z.infer<typeof ForkKind>;

const Repeated = z.object({
  name: z.string(),
  kind: z.enum(['step', 'model', 'tool', 'sleep', 'hook', 'approval', 'child']),
  isEffect: z.boolean().describe('It executes code, asks a model or starts a run; otherwise it is waited for again'),
  steps: z.array(z.string()).describe('The numbers of its calls in the run, up to 20'),
  count: z.int().describe('Its calls in the run'),
  done: z.int().describe('How many of them had completed: they are done a second time'),
  totalTokens: z.int().describe('What they took in the run'),
});

/** What a fork would take and do again, shown before it is made. */
export const ForkPreview = z.object({
  runId: z.uuid(),
  as: ForkKind,
  step: z.string().nullable().describe('The first step that is executed again. Null: all of them'),
  name: z.string().nullable().describe('Its name; null: it has no record yet, or all are'),
  taken: z.object({ steps: z.int(), totalTokens: z.int() }).describe('What is taken as it is recorded'),
  again: z
    .array(Repeated)
    .describe('What the run has recorded from there on, by name. Code that has changed may call other steps'),
  againTokens: z.int(),
  heldHooks: z
    .array(
      z.object({
        step: z.string(),
        by: z.enum(['source', 'other']).describe('The run itself, which goes on, or another open run'),
      }),
    )
    .describe(
      'Hooks it would make again whose token an open run has, up to 20: it fails there with hook_token_taken, unless its code or what it is given makes another token',
    ),
  ends: z.boolean().describe('The run is still open and is cancelled, without its clean-up, with what it has started'),
  etag: z.string().describe('Send it with the fork: it is refused once the run has changed'),
});
export type ForkPreview = z.infer<typeof ForkPreview>;

export function toForkPreview(run: RunRow, as: ForkKind, plan: ForkPlan): ForkPreview {
  const steps = toSteps(plan.records);
  const taken = takenCalls(plan);
  const again = steps.filter(({ call }) => !taken.has(call));
  const sum = (some: Step[]): number => some.reduce((all, { totalTokens }) => all + totalTokens, 0);
  return {
    runId: run.runId,
    as,
    step: plan.isWhole ? null : String(plan.call),
    name: plan.isWhole ? null : (steps.find(({ call }) => call === plan.call)?.name ?? null),
    taken: { steps: taken.size, totalTokens: sum(steps.filter(({ call }) => taken.has(call))) },
    again: groupByName(again),
    againTokens: sum(again),
    heldHooks: plan.heldHooks
      .slice(0, SHOWN)
      .map(({ call, isOfSource }) => ({ step: String(call), by: isOfSource ? 'source' : 'other' })),
    ends: as === 'rewind' && !isFinal(run.status),
    etag: plan.etag,
  };
}

// --- internal ---

const SHOWN = 20;
const WAITS: ReadonlySet<Step['kind']> = new Set(['sleep', 'hook', 'approval']);

/** Calls whose answer is taken, and hooks that are found as they were made. */
function takenCalls({ records, isTaken }: ForkPlan): Set<number> {
  const taken = new Set<number>();
  for (const [call, { answer, set }] of historyOf(records)) {
    const record = answer ?? (set?.kind === 'hook' && !set.stepId.startsWith('await ') ? set : undefined);
    if (record && isTaken(record)) taken.add(call);
  }
  return taken;
}

function groupByName(steps: Step[]): ForkPreview['again'] {
  const groups = new Map<string, ForkPreview['again'][number]>();
  for (const { kind, name, stepId, status, totalTokens } of steps) {
    const key = `${kind} ${name}`;
    const group = groups.get(key) ?? {
      name,
      kind,
      isEffect: !WAITS.has(kind),
      steps: [],
      count: 0,
      done: 0,
      totalTokens: 0,
    };
    groups.set(key, group);
    if (group.steps.length < SHOWN) group.steps.push(stepId);
    group.count += 1;
    group.done += status === 'completed' ? 1 : 0;
    group.totalTokens += totalTokens;
  }
  return [...groups.values()];
}
