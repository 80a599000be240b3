import type { ServerResponse } from 'node:http';

/**
 * Sends what is written of an answer before the event loop comes to its next turn at once: the head and what has come with it, if
 * anything has. Each write by itself costs as much as all else that passing on does, and wakes the reader.
 */
export function writeTogether({ socket }: ServerResponse): void {
  if (!socket) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}
