import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import type { Events } from './events.ts';

const operation = operationsOf<{ events: Events }>();

export const streamEvents = operation({
  id: 'events.stream',
  summary: 'Stream what happens to runs, steps, sessions and approvals as server-sent events',
  route: 'GET /api/events',
  tag: 'events',
  kind: 'read',
  permission: 'events:read',
  // Of its own runs.
  keys: true,
  staysOpen: true,
  copilot: 'no: stream',
  answer: 'sse',
  headers: { 'last-event-id': 'lastEventId' },
  errors: ['too_many_streams'],
  input: z.strictObject({
    lastEventId: z.string().optional().describe('Goes on after this event; as a header, or in the query'),
  }),
  output: z.unknown(),
  handle: ({ events }, { lastEventId }, { caller, signal }) => events.open(caller, lastEventId, signal),
});
