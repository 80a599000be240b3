import type { Caller } from '../auth/caller.ts';
import type { Permission } from '../auth/permissions.ts';
import type { Journal } from '../engine/journal.ts';
import type { Log } from '../log.ts';
import type { WorkspaceChanged } from '../events/events.ts';
import { defineRoom } from '../operations/room.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createActivity } from './activity.ts';
import { createAskerFinder } from './asker.ts';
import { getActivity, listActivity } from './operations.ts';

export interface Given {
  db: Drizzle;
  journal: Journal;
  log: Log;
  mayReadChangesOf(caller: Caller, operation: string): boolean;
  listReadersOf(operation: string): Permission[];
  events: { publish(event: WorkspaceChanged, needed: readonly Permission[]): void };
}

export const activityRoom = defineRoom({
  name: 'activity',
  operations: [listActivity, getActivity],
  create: ({ db, journal, log, mayReadChangesOf, listReadersOf, events }: Given) =>
    createActivity({
      db,
      log,
      findAsker: createAskerFinder({ journal, db }),
      mayRead: mayReadChangesOf,
      onRecord({ operation, askedBy }) {
        const [room = ''] = operation.split('.');
        events.publish({ type: 'workspace.changed', room, askedBy }, listReadersOf(operation));
      },
    }),
});
