import type { Group } from '../group.ts';
import { operationLeaf } from '../operations/group.ts';
import type { Row } from '../operations/row.ts';

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
    'start-many': {
      summary: 'Start a run of a workflow for each line of a file.',
      load: async () => (await import('../commands/workflows/start-many.ts')).startManyWorkflows,
    },
    queue: operationLeaf(
      {
        summary: 'List the starts that wait for a place or a time.',
        operation: 'workflows.queue',
        columns: ['position', 'triggerId:id', 'for=waitsFor', 'until=readyAt:when', 'priority', 'queued=createdAt:ago'],
      },
      'greet',
    ),
    dequeue: operationLeaf(
      { summary: 'Drop a start that waits.', operation: 'workflows.dequeue', done: 'Dropped', subject: startOf },
      'greet',
    ),
    changes: operationLeaf(
      {
        summary: 'List the versions open runs have by svc.version, and what nothing needs any more.',
        operation: 'workflows.changes',
        columns: ['change', 'newest', 'versions', 'unasked', 'needed=isNeeded'],
      },
      'greet',
    ),
    find: operationLeaf({ summary: 'Find a run by the id it was started with.', operation: 'workflows.find' }, 'greet'),
  },
};

// --- internal ---

function startOf({ triggerId }: Row): string {
  return `start ${String(triggerId)}`;
}
