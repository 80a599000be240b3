import type { Group } from '../group.ts';

export const contract: Group = {
  summary: 'See what a box can do.',
  page: 'deploy',
  examples: ['svc contract show', 'svc contract show --json'],
  verbs: {
    show: {
      summary: 'Show the protocol version and capabilities of a box.',
      load: async () => (await import('../commands/contract/show.ts')).showContract,
    },
    validate: {
      summary: 'Check that a box offers what the workspace needs.',
      load: async () => (await import('../commands/contract/validate.ts')).validateContract,
    },
  },
};
