import type { TurnFiles } from '../agents/files/turn-files.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createSessionHistory } from './history.ts';
import type { SessionHistoryOptions } from './history.ts';
import { deleteSession, getSession, listSessionRuns, listSessions, listSessionTurns } from './operations.ts';

export interface Given {
  db: Drizzle;
  journal: Journal;
  deleteRun: SessionHistoryOptions['deleteRun'];
  approvals: Approvals;
  turnFiles: Pick<TurnFiles, 'show' | 'drop'>;
  events: { publish(event: { type: 'session.deleted'; sessionId: string; askedBy: string | undefined }): void };
}

export const sessionsRoom = defineRoom({
  name: 'sessions',
  operations: [listSessions, getSession, listSessionTurns, listSessionRuns, deleteSession],
  create: ({ db, journal, deleteRun, approvals, turnFiles, events }: Given) =>
    createSessionHistory({
      db,
      journal,
      deleteRun,
      approvals,
      files: turnFiles,
      onRemove: (sessionId, askedBy) => events.publish({ type: 'session.deleted', sessionId, askedBy }),
    }),
});
