import { operationGroup } from '../operations/group.ts';

export const usage = operationGroup({
  summary: 'See what agents, keys and users use of models, its cost, and their limits.',
  page: 'operating',
  examples: ['svc usage list --kind model --period month', 'svc usage get agent support'],
  sample: 'support',
  verbs: {
    list: {
      summary: 'List the tokens used and what they cost, by day or month, newest first.',
      operation: 'usage.list',
      items: 'figures',
      columns: ['period', 'kind', 'id', 'tokens', 'cost'],
    },
    get: {
      summary: 'Get what an agent, a key or a user uses of its limits now.',
      operation: 'usage.get',
      examples: ['svc usage get key 01m2n8p4', 'svc usage get user shop/ada'],
      form: async () => ({ human: (await import('../operations/usage.ts')).formatUsage }),
    },
  },
});
