import { operationGroup } from '../operations/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const sessions = operationGroup({
  summary: 'See the sessions of a box.',
  page: 'sessions',
  examples: ['svc sessions list', 'svc sessions get <id>'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List sessions, the last active first.',
      operation: 'sessions.list',
      columns: [
        'id=sessionId:id',
        'agent:name',
        'name:text',
        'turns',
        'tokens=totalTokens',
        'active=lastActiveAt:ago',
        'owner=owner.id:text',
        'created=createdAt:ago',
      ],
    },
    get: {
      summary: 'Show one session with its tokens and what it waits for.',
      operation: 'sessions.get',
      form: async () => ({ human: (await import('../operations/session-card.ts')).formatSessionCard }),
    },
    delete: {
      summary: 'Delete a session with its turns and their runs.',
      operation: 'sessions.delete',
      done: 'Deleted',
      subject: ({ sessionId }) => `session ${String(sessionId)}`,
    },
  },
});
