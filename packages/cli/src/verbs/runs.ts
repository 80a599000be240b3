import type { Row } from '../operate/row.ts';
import { operateGroup } from '../operate/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const runs = operateGroup({
  summary: 'See and control the runs of a box.',
  page: 'operating',
  examples: ['svc runs list --status failed', 'svc runs get <id>'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List runs, newest first.',
      operation: 'runs.list',
      examples: ['svc runs list --status failed --limit 20', 'svc runs list --name greet --json'],
      columns: [
        'id=runId',
        'kind',
        'name:name',
        'status:state',
        'started=startedAt:ago',
        'duration:duration',
        'tokens=totalTokens',
      ],
      completes: { name: { names: ['agents', 'workflows'] } },
    },
    get: {
      summary: 'Show one run with its input, output and tokens.',
      operation: 'runs.get',
      wrap: 'run',
      form: async () => ({ human: (await import('../operate/run-card.ts')).formatRunCard }),
    },
    steps: {
      summary: 'List the steps of a run in order.',
      operation: 'runs.steps',
      items: 'steps',
      columns: [
        'call',
        'kind',
        'name:name',
        'status:state',
        'attempt',
        'started=startedAt:ago',
        'duration:duration',
        'tokens=totalTokens',
      ],
    },
    retry: {
      summary: 'Start a run again, from the step that failed or from the start.',
      operation: 'runs.retry',
      done: 'Started',
      subject: ({ runId, triggerId }) =>
        runId ? `run ${String(runId)}` : `start ${String(triggerId)}, which is queued`,
      hint: ({ runId }) => (runId ? `See it with: svc runs get ${String(runId)}` : undefined),
    },
    resume: {
      summary: 'Continue a blocked run on the current code.',
      operation: 'runs.resume',
      wrap: 'run',
      done: 'Resumed',
      subject: runOf,
    },
    cancel: {
      summary: 'Cancel a run and the runs it started.',
      operation: 'runs.cancel',
      wrap: 'run',
      done: 'Cancelled',
      subject: runOf,
    },
    delete: {
      summary: 'Delete a finished run with its steps.',
      operation: 'runs.delete',
      done: 'Deleted',
      subject: runOf,
    },
  },
});

// --- internal ---

function runOf({ runId }: Row): string {
  return `run ${String(runId)}`;
}
