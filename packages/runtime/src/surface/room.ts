import { createSecurityLog } from '../auth/security-log.ts';
import type { Log } from '../log.ts';
import type { Operation } from '../operations/define.ts';
import { defineRoom } from '../operations/room.ts';
import { createOperationCatalog } from './catalog.ts';
import { getOperation, listOperations } from './operations.ts';

/** The list of all, as models read it. */
export const operationsRoom = defineRoom({
  name: 'operations',
  operations: [listOperations, getOperation],
  create: ({ allOperations }: { allOperations: readonly Operation[] }) => createOperationCatalog(allOperations),
});

/** What is refused on any surface, and whatever changes who may call. */
export const securityRoom = defineRoom({
  name: 'security',
  operations: [],
  create: ({ log }: { log: Log }) => createSecurityLog({ log }),
});
