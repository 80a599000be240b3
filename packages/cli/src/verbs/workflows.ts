import type { Group } from '../group.ts';

export const workflows: Group = {
  summary: 'See and start the workflows of a box.',
  page: 'workflows',
  examples: ['svc workflows list', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  verbs: {
    list: {
      summary: 'List the workflows a box exposes.',
      load: async () => (await import('../commands/workflows/list.ts')).listWorkflows,
    },
    schema: {
      summary: 'Show what a workflow accepts and answers, as JSON Schema.',
      load: async () => (await import('../commands/workflows/schema.ts')).showSchema,
    },
    start: {
      summary: 'Start a run of a workflow.',
      load: async () => (await import('../commands/workflows/start.ts')).startWorkflow,
    },
  },
};
