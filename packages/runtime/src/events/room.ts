import { defineRoom } from '../operations/room.ts';
import type { Events } from './events.ts';
import { streamEvents } from './operations.ts';

/** The engine publishes its own, so they are there before it. */
export const eventsRoom = defineRoom({
  name: 'events',
  operations: [streamEvents],
  create: ({ foundation }: { foundation: { events: Events } }) => foundation.events,
});
