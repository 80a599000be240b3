import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import { createDeliveries } from './deliveries.ts';
import type { Notify } from './notify.ts';
import { listDeliveries, listReceivers, redeliver } from './operations.ts';

export const deliveriesRoom = defineRoom({
  name: 'deliveries',
  operations: [listReceivers, listDeliveries, redeliver],
  create: ({ journal, notify }: { journal: Journal; notify: Notify }) => createDeliveries({ journal, notify }),
});
