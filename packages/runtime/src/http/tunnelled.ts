import type { IncomingMessage } from 'node:http';

/** Has a request known as one that came through the tunnel of `svc dev`: by the port it came in at, never by what it says. */
export function markTunnelled(request: IncomingMessage): void {
  tunnelled.add(request);
}

export function isTunnelled(request: IncomingMessage | undefined): boolean {
  return request !== undefined && tunnelled.has(request);
}

// --- internal ---

const tunnelled = new WeakSet<IncomingMessage>();
