import { EXIT } from '../errors.ts';
import type { Group } from '../group.ts';
import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { SAMPLE_ID } from './samples.ts';

const ofOperations = operationGroup({
  summary: 'See and control the runs of a box.',
  page: 'operating',
  examples: ['svc runs list --status failed', 'svc runs get <id>'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List runs, newest first.',
      operation: 'runs.list',
      examples: ['svc runs list --status failed --limit 20', 'svc runs list --has o-77 --json'],
      hint: howFarOf,
      columns: [
        'id=runId:id',
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
      form: async () => ({ human: (await import('../operations/run-card.ts')).formatRunCard }),
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
    step: {
      summary: 'Show one step with its input and output: of a model call, what the model was asked with.',
      operation: 'runs.step',
      examples: [`svc runs step ${SAMPLE_ID} 0`, `svc runs step ${SAMPLE_ID} 0 --json`],
      wrap: 'step',
    },
    state: {
      summary: 'Show what a run has published last.',
      operation: 'runs.state',
      examples: ['svc runs state <id>', 'svc runs state <id> --json'],
    },
    watch: {
      summary: 'Follow what a run publishes, until it is over.',
      operation: 'runs.state_stream',
      examples: ['svc runs watch <id>', 'svc runs watch <id> --json'],
      form: async () => ({ stream: (await import('../operations/run-streams.ts')).STATE_STREAM }),
    },
    streams: {
      summary: 'List the streams that a run has written to.',
      operation: 'runs.streams',
      items: 'streams',
      columns: ['name', 'frames', 'closed=isClosed'],
    },
    stream: {
      summary: 'Print what a run has written to one of its streams.',
      operation: 'runs.stream',
      examples: ['svc runs stream <id> default --follow', 'svc runs stream <id> default --start-index -10'],
      form: async () => ({ stream: (await import('../operations/run-streams.ts')).RUN_STREAM }),
    },
    webhooks: {
      summary: 'List the addresses that resume a run, which are credentials.',
      operation: 'runs.webhooks',
      items: 'webhooks',
      columns: ['url:text', 'open=isOpen', 'answers', 'made=createdAt:ago', 'called=firstCalledAt:ago'],
    },
    retry: {
      summary: 'Start a run again, from the step that failed or from the start.',
      operation: 'runs.retry',
      done: 'Started',
      subject: ({ runId, triggerId }) =>
        runId ? `run ${String(runId)}` : `start ${String(triggerId)}, which is queued`,
      hint: ({ runId }) => (runId ? `See it with: svc runs get ${String(runId)}` : undefined),
    },
    'cancel-all': {
      summary: 'Cancel all unfinished runs that match.',
      operation: 'runs.cancel_all',
      hint: moreOf,
      examples: ['svc runs cancel-all --name import --dry-run', 'svc runs cancel-all --name import --yes'],
    },
    'retry-all': {
      summary: 'Retry all failed and cancelled runs that match.',
      operation: 'runs.retry_all',
      hint: moreOf,
      examples: [
        'svc runs retry-all --name import --status failed --dry-run',
        'svc runs retry-all --name import --yes',
      ],
    },
    'delete-all': {
      summary: 'Delete all finished runs that match, with their steps.',
      operation: 'runs.delete_all',
      hint: moreOf,
      examples: [
        'svc runs delete-all --to 2026-01-01T00:00:00Z --dry-run',
        'svc runs delete-all --status cancelled --yes',
      ],
    },
    pause: {
      summary: 'Pause a run: it begins no further step until it is resumed.',
      operation: 'runs.pause',
      wrap: 'run',
      done: 'Paused',
      subject: runOf,
      hint: ({ runId }) => `Let it go on with: svc runs resume ${String(runId)}`,
    },
    resume: {
      summary: 'Continue a paused run, or a blocked one on the current code.',
      operation: 'runs.resume',
      wrap: 'run',
      human: formatResumed,
      exitCode: ({ status }) => (status === 'blocked' ? EXIT.generic : EXIT.ok),
      hint: ({ runId, status }) => (status === 'blocked' ? `See why with: svc why ${String(runId)}` : undefined),
    },
    cancel: {
      summary: 'Cancel a run and the runs it started.',
      operation: 'runs.cancel',
      wrap: 'run',
      human: formatCancelled,
      hint: ({ runId, cancelling }) =>
        cancelling ? `End it at once with: svc runs cancel ${String(runId)}` : undefined,
    },
    delete: {
      summary: 'Delete a finished run with its steps.',
      operation: 'runs.delete',
      done: 'Deleted',
      subject: runOf,
    },
  },
});

/** Two of its verbs show what would be executed again before they ask. */
export const runs: Group = {
  ...ofOperations,
  verbs: {
    ...ofOperations.verbs,
    fork: {
      summary: 'Start a new run with what a run has recorded up to a step, and show first what is executed again.',
      load: async () => (await import('../commands/runs/fork.ts')).forkRun,
    },
    rewind: {
      summary: 'Cancel a run, and let a new one go on in its place from a step.',
      load: async () => (await import('../commands/runs/fork.ts')).rewindRun,
    },
  },
};

// --- internal ---

function moreOf({ nextCursor }: Row): string | undefined {
  return typeof nextCursor === 'string' ? `There are more: add --cursor ${nextCursor}` : undefined;
}

/** Of a search for a text. */
function howFarOf({ looked, nextCursor }: Row): string | undefined {
  const { runs: count = 0, to, stored = 0 } = (looked ?? {}) as { runs?: number; to?: string | null; stored?: number };
  if (looked === undefined) return undefined;
  const rest = stored > 0 ? ` ${stored} values were too large to be looked through.` : '';
  if (typeof nextCursor !== 'string') return rest.trim() || undefined;
  return `${count} runs were looked through, back to ${to}.${rest} Look further: add --cursor ${nextCursor}, or --all`;
}

function formatResumed(run: Row, style: Style): string {
  if (run.status !== 'blocked') return `${style.green('Resumed')} ${runOf(run)}`;
  const { message = '' } = (run.waitingFor ?? {}) as { message?: string };
  return `${style.red('Blocked again')} ${runOf(run)}. ${toPlainText(message)}`.trimEnd();
}

function formatCancelled(run: Row, style: Style): string {
  const { until } = (run.cancelling ?? {}) as { until?: string };
  if (until === undefined) return `${style.green('Cancelled')} ${runOf(run)}`;
  return `${style.yellow('Cancelling')} ${runOf(run)}: it cleans up, until ${until} at the latest.`;
}

function runOf({ runId }: Row): string {
  return `run ${String(runId)}`;
}
