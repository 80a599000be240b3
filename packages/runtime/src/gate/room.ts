import { defineRoom } from '../operations/room.ts';
import type { Gate } from './gate.ts';

export const gateRoom = defineRoom({
  name: 'gate',
  operations: [],
  create: ({ opening }: { opening: { gate: Gate } }) => opening.gate,
});
