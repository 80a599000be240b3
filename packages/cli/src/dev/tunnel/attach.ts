import type { IncomingMessage } from 'node:http';
import { constants } from 'node:http2';
import { joinWrites, watchPeer } from '@svc/runtime/host';
import { createWebSocketStream, WebSocket } from 'ws';
import { serveStreams } from './serve.ts';

/** A connection to the relay, over which it asks. */
export interface Attached {
  /** Resolves when it is lost or ended, with the code of the WebSocket. */
  closed: Promise<number>;
  close(): Promise<void>;
}

export interface AttachOptions {
  relayUrl: string;
  token: string;
  /** Where the box listens for what comes through. */
  port: number;
  /** Milliseconds between two looks whether the relay is there. */
  beatMs?: number;
}

/** What a relay answers that does not let in. */
export class AttachRefused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** Asked again, it would say the same. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429;
  }
}

export function attach({ relayUrl, token, port, beatMs = BEAT_MS }: AttachOptions): Promise<Attached> {
  const socket = new WebSocket(relayUrl, [SUBPROTOCOL], {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
    maxPayload: MOST_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  return new Promise((resolve, reject) => {
    socket.once('unexpected-response', (request, response) => {
      void readMessage(response).then((message) => {
        reject(new AttachRefused(response.statusCode ?? 0, message));
        request.destroy();
      });
    });
    socket.on('error', reject);
    socket.once('open', () => {
      const duplex = joinWrites(createWebSocketStream(socket));
      duplex.on('error', () => {});
      const session = serveStreams(duplex, { port, isOpen: () => socket.readyState === WebSocket.OPEN });
      watchPeer(socket, beatMs);
      session.once('close', () => socket.terminate());
      socket.once('close', () => session.destroy(undefined, constants.NGHTTP2_CANCEL));
      resolve({ closed, close: () => end(socket, closed) });
    });
  });
}

// --- internal ---

const SUBPROTOCOL = 'svc-tunnel';
const BEAT_MS = 10_000;
const MOST_BYTES = 1_024 * 1_024;
const HANDSHAKE_MS = 10_000;
const CLOSE_MS = 1_000;

async function end(socket: WebSocket, closed: Promise<number>): Promise<void> {
  socket.close(1000);
  const cut = setTimeout(() => socket.terminate(), CLOSE_MS);
  await closed;
  clearTimeout(cut);
}

/** In the words of the control plane, where it has any. */
async function readMessage(response: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of response) if (text.length < 10_000) text += String(chunk);
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {}
  return `The relay answered ${response.statusCode}.`;
}
