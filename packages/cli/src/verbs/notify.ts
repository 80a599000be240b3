import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';

export const notify = operationGroup({
  summary: 'See who is notified of runs that stop, and what was sent.',
  page: 'operating',
  examples: ['svc notify list --state failed', 'svc notify redeliver <id>'],
  sample: 'msg_2vXy0c1VYq8gN1cJ8mF4aZk7uQe',
  verbs: {
    receivers: {
      summary: 'List the receivers of svc.config.ts, and how sending to them goes.',
      operation: 'notify.receivers',
      items: 'receivers',
      columns: ['name', 'url:text', 'pending', 'failures', 'paused=pausedUntil:when', 'error=lastError:text'],
    },
    list: {
      summary: 'List messages, newest first, with the last error of each.',
      operation: 'notify.deliveries',
      items: 'messages',
      columns: [
        'id=deliveryId:id',
        'receiver',
        'type',
        'run=runId:id',
        'state:state',
        'attempts',
        'next=nextAt:when',
        'error=lastError:text',
      ],
    },
    redeliver: {
      summary: 'Send a message again.',
      operation: 'notify.redeliver',
      done: 'Sent again',
      subject: ({ deliveryId }: Row) => `message ${String(deliveryId)}`,
    },
  },
});
