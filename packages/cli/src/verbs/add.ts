import type { Group } from '../group.ts';

export const add: Group = {
  summary: 'Add an agent or a workflow to the workspace.',
  page: 'first-workspace',
  examples: ['svc add agent support', 'svc add workflow triage --calls support'],
  verbs: {
    agent: {
      summary: 'Add an agent.',
      load: async () => (await import('../commands/add/agent.ts')).addAgent,
    },
    'deep-agent': {
      summary: 'Another name of `svc add agent`.',
      load: async () => (await import('../commands/add/agent.ts')).addDeepAgent,
    },
    workflow: {
      summary: 'Add a workflow.',
      load: async () => (await import('../commands/add/workflow.ts')).addWorkflow,
    },
    'workflow-agent': {
      summary: 'Add an agent, and a workflow that holds a conversation with it.',
      load: async () => (await import('../commands/add/workflow-agent.ts')).addWorkflowAgent,
    },
  },
};
