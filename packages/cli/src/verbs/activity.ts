import { operationGroup } from '../operations/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const activity = operationGroup({
  summary: 'See who changed or decided what.',
  page: 'operating',
  examples: ['svc activity list', 'svc activity list --operation config.set'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List changes and decisions, newest first.',
      operation: 'activity.list',
      items: 'changes',
      columns: ['id:spare', 'at:ago', 'actor:actor', 'operation:what', 'target:target', 'source'],
    },
    get: { summary: 'Show one change with what was before and after it.', operation: 'activity.get' },
  },
});
