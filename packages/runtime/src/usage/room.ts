import type { Limiter } from '../limits/limiter.ts';
import { defineRoom } from '../operations/room.ts';
import { getUsage, listUsage } from './operations.ts';
import { createUsage } from './usage.ts';

export const usageRoom = defineRoom({
  name: 'usage',
  operations: [listUsage, getUsage],
  create: ({ limiter }: { limiter: Limiter }) => createUsage(limiter),
});
