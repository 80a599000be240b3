import { operationGroup } from '../operations/group.ts';

export const hooks = operationGroup({
  summary: 'Signal runs by the tokens of their hooks.',
  page: 'workflows',
  examples: ['svc hooks signal paid:7 --payload \'{"amount":5}\'', 'svc hooks kept'],
  verbs: {
    signal: {
      summary: 'Resume a hook, or keep the payload until there is one.',
      operation: 'hooks.signal',
      examples: [
        'svc hooks signal paid:7 --payload \'{"amount":5}\' --wait-for 10m',
        'svc hooks signal paid:7 --start \'{"workflow":"order","input":{"id":"7"},"id":"7"}\'',
      ],
    },
    kept: {
      summary: 'List the payloads that wait for their hooks.',
      operation: 'hooks.kept',
      items: 'payloads',
      columns: ['token', 'since=createdAt:ago', 'until=keptUntil:when'],
    },
  },
});
