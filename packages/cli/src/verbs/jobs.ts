import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';

export const jobs = operationGroup({
  summary: 'See and control the timers of a box.',
  page: 'operating',
  examples: ['svc jobs list', 'svc jobs pause <id>'],
  sample: 'report:0',
  verbs: {
    list: {
      summary: 'List timers with their next and last firing.',
      operation: 'jobs.list',
      columns: [
        'id',
        'schedule=cron:text',
        'zone=timeZone',
        'paused=isPaused',
        'next=nextFireAt:when',
        'waiting=waitingFor.code:text',
        'last=lastFiredAt:ago',
        'outcome=lastOutcome:state',
        'run=lastRunId:id',
      ],
    },
    pause: {
      summary: 'Stop a timer from firing.',
      operation: 'jobs.update',
      fixed: { isPaused: true },
      done: 'Paused',
      subject: jobOf,
    },
    resume: {
      summary: 'Let a paused timer fire again.',
      operation: 'jobs.update',
      fixed: { isPaused: false },
      done: 'Resumed',
      subject: jobOf,
    },
    run: {
      summary: 'Fire a timer now, outside its schedule.',
      operation: 'jobs.run',
      done: 'Fired',
      subject: jobOf,
      hint: ({ lastRunId }) => (lastRunId ? `See its run with: svc runs get ${String(lastRunId)}` : undefined),
    },
  },
});

// --- internal ---

function jobOf({ id }: Row): string {
  return `job ${String(id)}`;
}
