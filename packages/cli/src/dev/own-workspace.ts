import { realpathSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createHostCheck, isTunnelled } from '@svc/runtime/host';
import type { Box } from '@svc/runtime/host';
import { WORKSPACE_PATH } from './workspace-path.ts';

/**
 * Says which folder the box serves and the `id` of its note, for commands that are run in another one. Only to this machine: a
 * path is nothing for who comes through a tunnel, ours or another, or over the network.
 */
export function mountOwnWorkspace({ app }: Pick<Box, 'app'>, { root, id }: { root: string; id: string }): void {
  const workspace = realpathSync(root);
  app.on('GET', WORKSPACE_PATH, ({ runtime }: Asked) =>
    isFromHere(runtime?.node?.req as IncomingMessage | undefined)
      ? Response.json({ workspace, id })
      : new Response('Not found.\n', { status: 404 }),
  );
}

// --- internal ---

/** What is known of the connection a request came over. */
interface Asked {
  runtime?: { node?: { req: unknown } };
}

const isHostOfHere = createHostCheck({ listen: false });

/** A tunnel connects from this machine: it is known by the name that was asked for, or by saying whom it asks for. */
function isFromHere(request: IncomingMessage | undefined): boolean {
  if (!request || isTunnelled(request)) return false;
  const { host = '', forwarded, 'x-forwarded-for': forwardedFor } = request.headers;
  if (!isHostOfHere(host) || forwarded !== undefined || forwardedFor !== undefined) return false;
  return /^(?:::ffff:)?127\.|^::1$/.test(request.socket.remoteAddress ?? '');
}
