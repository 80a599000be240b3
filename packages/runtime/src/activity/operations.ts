import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { ActivityDetail, ActivityEntry } from './activity.ts';
import type { Activity } from './activity.ts';

const operation = operationsOf<{ activity: Activity }>();

const room = { tag: 'activity', permission: 'activity:read', kind: 'read', copilot: 'yes' } as const;
const time = z.iso.datetime({ offset: true });

export const listActivity = operation({
  ...room,
  id: 'activity.list',
  summary: 'List who changed or decided what, newest first',
  route: 'GET /api/activity',
  cli: 'activity list',
  input: z.strictObject({
    operation: z.string().optional().describe('Id of the operation: `config.set`'),
    actor: z.string().optional().describe('Id of who did it'),
    client: z.string().optional().describe('The application that did it, or whose user did'),
    user: z.string().optional().describe('What a client calls its user'),
    target: z.string().optional().describe('Id or name of what was changed'),
    from: time.optional().describe('Then or later'),
    to: time.optional().describe('Before then'),
    ...Page,
  }),
  output: z.object({ items: z.array(ActivityEntry), nextCursor: z.string().nullable() }),
  handle({ activity }, { limit, cursor, from, to, ...filter }, { caller }) {
    const times = { from: from ? new Date(from) : undefined, to: to ? new Date(to) : undefined };
    return activity.list(withoutUndefined({ ...filter, ...times }), withoutUndefined({ limit, cursor }), caller);
  },
});

export const getActivity = operation({
  ...room,
  id: 'activity.get',
  summary: 'Get one change with what was before and after it; secret values never',
  route: 'GET /api/activity/:id',
  cli: 'activity get',
  errors: ['activity_not_found'],
  input: z.strictObject({ id: z.string() }),
  output: ActivityDetail,
  handle: ({ activity }, { id }, { caller }) => activity.get(id, caller),
});
