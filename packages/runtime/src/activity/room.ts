import type { Caller } from '../auth/caller.ts';
import type { Journal } from '../engine/journal.ts';
import type { Log } from '../log.ts';
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
}

export const activityRoom = defineRoom({
  name: 'activity',
  operations: [listActivity, getActivity],
  create: ({ db, journal, log, mayReadChangesOf }: Given) =>
    createActivity({ db, log, findAsker: createAskerFinder({ journal, db }), mayRead: mayReadChangesOf }),
});
