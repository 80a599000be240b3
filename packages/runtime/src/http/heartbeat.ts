/** What of a WebSocket is needed to know whether its peer is there. */
export interface BeatingSocket {
  readonly isPaused: boolean;
  on(event: 'message' | 'ping' | 'pong', heard: () => void): unknown;
  once(event: 'close', gone: () => void): unknown;
  ping(): void;
  terminate(): void;
}

/** Ends a connection from which nothing comes: a peer that is gone without a word is known within two beats. */
export function watchPeer(socket: BeatingSocket, beatMs: number): void {
  let heardAt = performance.now();
  const heard = (): void => void (heardAt = performance.now());
  for (const event of ['message', 'ping', 'pong'] as const) socket.on(event, heard);
  const timer = setInterval(() => {
    // While it is not read, for want of room, nothing can be heard.
    if (!socket.isPaused && performance.now() - heardAt > 2 * beatMs) return socket.terminate();
    return socket.ping();
  }, beatMs);
  timer.unref();
  socket.once('close', () => clearInterval(timer));
}
