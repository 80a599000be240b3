import { operationGroup } from '../operations/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const logs = operationGroup({
  summary: 'Read the log of a box.',
  page: 'operating',
  examples: ['svc logs tail --level warn', 'svc logs list --level error --from 2h'],
  verbs: {
    list: {
      summary: 'Search the stored log records, newest first.',
      operation: 'logs.search',
      examples: ['svc logs list --level error --from 2h', 'svc logs list --text refused --json'],
      items: 'records',
      columns: ['at:ago', 'level:level', 'name', 'message:long', 'run=runId:id'],
      completes: { name: { names: ['agents', 'workflows'] } },
    },
    tail: {
      summary: 'Follow log records as they come; with --run those of one run, to its end.',
      operation: 'logs.tail',
      examples: ['svc logs tail --level warn', `svc logs tail --run ${SAMPLE_ID}`],
      completes: { name: { names: ['agents', 'workflows'] } },
      form: async () => ({ stream: (await import('../operations/log-tail.ts')).LOG_TAIL }),
    },
  },
});
