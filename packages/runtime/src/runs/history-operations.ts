import { z } from 'zod';
import { may } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { operationsOf } from '../operations/define.ts';
import { Recording } from './recording.ts';
import { runNotFound } from './runs.ts';
import { Why } from './why.ts';
import { RunState } from './state.ts';
import type { RunExports } from './export.ts';
import type { Runs } from './runs.ts';
import type { RunWhy } from './why.ts';

const operation = operationsOf<{ activity: Cancellations; exports: RunExports; runs: Runs; why: RunWhy }>();

/** What the activity log has of the cancels of a run. */
export interface Cancellations {
  list(
    filter: { operation: string; target: string },
    page: { limit: number },
    reader: Caller,
  ): Promise<{ items: { actor: { name: string } }[] }>;
}

const id = z.string().describe('The run id');
const room = { tag: 'runs', kind: 'read', permission: 'runs:read' } as const;

export const getRunState = operation({
  ...room,
  id: 'runs.state',
  summary: 'Get what a run has published last, while it runs or after',
  route: 'GET /api/runs/:id/state',
  copilot: 'yes',
  cli: 'runs state',
  keys: true,
  errors: ['run_not_found'],
  input: z.strictObject({ id }),
  output: RunState,
  handle: ({ runs }, input) => runs.state(input.id),
});

export const streamRunState = operation({
  ...room,
  id: 'runs.state_stream',
  summary: 'Stream what a run publishes as server-sent events, from what there is until the run is over',
  route: 'GET /api/runs/:id/state/stream',
  copilot: 'no: stream',
  cli: 'runs watch',
  keys: true,
  answer: 'sse',
  errors: ['run_not_found', 'too_many_streams'],
  input: z.strictObject({ id }),
  output: z.unknown(),
  handle: ({ runs }, input, { signal }) => runs.followState(input.id, signal),
});

export const explainRun = operation({
  ...room,
  id: 'runs.why',
  summary: 'Explain the state of a run: what it waits for, which process has it, and what to do next',
  route: 'GET /api/runs/:id/why',
  copilot: 'yes',
  cli: 'why',
  errors: ['run_not_found'],
  input: z.strictObject({ id: id.describe('The id of a run, or of a start that waits in a queue') }),
  output: Why,
  async handle({ activity, runs, why }, input, { caller }) {
    const findCanceller = may(caller, 'activity:read')
      ? // Nothing is looked up of a run that is hidden from the caller.
        async (runId: string) => ((await runs.find(runId)) ? readCanceller(activity, runId, caller) : undefined)
      : async () => undefined;
    const answer = await why.explain(input.id, { findCanceller });
    // What is hidden from the caller is answered like what there is not.
    if (answer.runId !== null && !(await runs.find(answer.runId))) throw runNotFound(input.id);
    return answer;
  },
});

export const exportRun = operation({
  ...room,
  id: 'runs.export',
  summary: 'Export the whole history of a run in one document, with its secrets masked',
  route: 'GET /api/runs/:id/export',
  copilot: 'no: larger than a model reads',
  cli: 'pull run',
  errors: ['run_not_found', 'run_too_large'],
  input: z.strictObject({ id }),
  output: Recording,
  async handle({ runs, exports }, input, { caller }) {
    if (!(await runs.find(input.id))) throw runNotFound(input.id);
    return exports.export(input.id, { mayKnowSecrets: may(caller, 'secrets:read') });
  },
});

// --- internal ---

/** The name of who cancelled it over the API, as the caller may see it. A log that cannot be read keeps no answer back. */
async function readCanceller(activity: Cancellations, runId: string, caller: Caller): Promise<string | undefined> {
  const filter = { operation: 'runs.cancel', target: runId };
  const { items } = await activity.list(filter, { limit: 1 }, caller).catch(() => ({ items: [] }));
  return items[0]?.actor.name;
}
