import { ServerResponse } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Upgrade } from '../ground.ts';
import { hasBody } from './hop.ts';

/**
 * A request may offer to go on as something else, as `curl --http2` does: what offers no WebSocket is answered as if it had not,
 * and the connection ends then. With a body it is `take`'s to refuse: Node reads none any more.
 */
export function createUpgrades({ take, answer }: { take: Upgrade; answer: RequestListener }): Upgrade {
  return (request, socket, head) => {
    if (isWebSocket(request) || hasBody(request.headers)) return take(request, socket, head);
    answerHere(answer, request, socket);
  };
}

// --- internal ---

function isWebSocket({ headers }: IncomingMessage): boolean {
  return (headers.upgrade ?? '').split(',').some((name) => /^websocket(?:\/|$)/i.test(name.trim()));
}

function answerHere(answer: RequestListener, request: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(request);
  // Whoever is silent, or reads nothing, is not waited for longer than where a request is none of these.
  (socket as Socket).setTimeout(IDLE_MS, () => socket.destroy());
  socket.on('error', () => {});
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  answer(request, response);
}

const IDLE_MS = 65_000;
