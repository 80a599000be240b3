import { defineRoom } from '../operations/room.ts';
import type { Logs } from './logs.ts';
import { listRunLogs, searchLogs, streamRunLogs, tailLogs } from './operations.ts';

/** The engine writes there, so they are there before it. */
export const logsRoom = defineRoom({
  name: 'logs',
  operations: [listRunLogs, streamRunLogs, searchLogs, tailLogs],
  create: ({ foundation }: { foundation: { logs: Logs } }) => foundation.logs,
});
