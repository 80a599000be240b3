import { operationGroup } from '../operations/group.ts';

export const events = operationGroup({
  summary: 'Send events to the workflows of a box.',
  page: 'workflows',
  examples: ['svc events send order.paid --payload \'{"orderId":"7"}\'', 'svc events send order.paid --json'],
  verbs: {
    send: {
      summary: 'Send an event: runs that wait for it go on, workflows that start by it start.',
      operation: 'events.send',
      examples: [
        'svc events send order.paid --payload \'{"orderId":"7"}\'',
        'svc events send order.paid --payload-file event.json --idempotency-key evt-7 --json',
      ],
    },
  },
});
