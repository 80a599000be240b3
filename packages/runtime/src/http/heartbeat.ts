import { startTimeout } from '../timeout.ts';

/** What of a WebSocket is needed to know whether its peer is there. */
export interface BeatingSocket {
  readonly isPaused: boolean;
  on(event: 'message' | 'ping' | 'pong', heard: () => void): unknown;
  once(event: 'close', gone: () => void): unknown;
  ping(): void;
  terminate(): void;
}

/**
 * Ends a connection from which nothing comes: a peer that is gone without a word is known after two to three beats. A
 * standstill of this process, in which it neither asks nor hears, counts as one beat at most.
 * @param beatMs milliseconds between two pings
 */
export function watchPeer(socket: BeatingSocket, beatMs: number): void {
  let silentBeats = 0;
  const heard = (): void => void (silentBeats = 0);
  for (const event of ['message', 'ping', 'pong'] as const) socket.on(event, heard);
  const look = (): void => {
    // While it is not read, for want of room, nothing can be heard.
    silentBeats = socket.isPaused ? 0 : silentBeats + 1;
    if (silentBeats > MOST_SILENT_BEATS) return socket.terminate();
    beat = startTimeout(beatMs, look);
    return socket.ping();
  };
  let beat = startTimeout(beatMs, look);
  socket.once('close', () => beat.end());
}

// --- internal ---

/** In a row: after these, two pings have had a beat each to be answered. */
const MOST_SILENT_BEATS = 2;
