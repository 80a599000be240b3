import { operateGroup } from '../operate/group.ts';

export const guardrails = operateGroup({
  summary: 'See the rules about what may pass.',
  page: 'guardrails',
  examples: ['svc guardrails list', 'svc guardrails list --json'],
  verbs: {
    list: {
      summary: 'List the rules in the order in which they are asked.',
      operation: 'guardrails.list',
      columns: [
        'order',
        'name:name',
        'check=check.kind',
        'action',
        'sides:names',
        'of=attachment.kind',
        'which=attachment.name:text',
        'enabled',
        'id:id',
      ],
    },
  },
});
