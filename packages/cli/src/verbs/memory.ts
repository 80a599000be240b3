import { operationGroup } from '../operations/group.ts';

export const memory = operationGroup({
  summary: 'See and clear what agents remember of their end users.',
  page: 'sessions',
  examples: ['svc memory list --user ada', 'svc memory clear --user ada --client shop'],
  verbs: {
    list: {
      summary: 'List what agents remember, the newest first.',
      operation: 'memory.list',
      items: 'remembered turns',
      columns: [
        'run=runId:id',
        'session=sessionId:id',
        'agent:name',
        'user:text',
        'client:text',
        'state',
        'at=createdAt:ago',
      ],
      examples: ['svc memory list --user ada', 'svc memory list --agent-name friend --limit 20 --json'],
    },
    clear: {
      summary: 'Forget what agents remember of an end user. The sessions stay.',
      operation: 'memory.clear',
      examples: ['svc memory clear --user ada --client shop', 'svc memory clear --user ada --yes --json'],
      done: 'Forgotten',
      subject: ({ user, forgotten }) => `${String(forgotten)} turns of "${String(user)}"`,
    },
  },
});
