import { realpathSync } from 'node:fs';
import type { Box } from '@svc/runtime/host';

/** Where a dev box says which folder it serves. */
export const WORKSPACE_PATH = '/.svc/workspace';

/**
 * Says which folder the box serves, for commands that are run in another one. Only to this machine: a path is nothing
 * for who comes through the tunnel or over the network.
 */
export function mountOwnWorkspace({ app }: Pick<Box, 'app'>, root: string): void {
  const workspace = realpathSync(root);
  app.on('GET', WORKSPACE_PATH, (event: Peered) =>
    isFromHere(event) ? Response.json({ workspace }) : new Response('Not found.\n', { status: 404 }),
  );
}

// --- internal ---

/** What is known of the socket a request came over; what comes through the tunnel has none. */
interface Peered {
  runtime?: { node?: { req: { socket: { remoteAddress?: string | undefined } } } };
}

function isFromHere({ runtime }: Peered): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(runtime?.node?.req.socket.remoteAddress ?? '');
}
