import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { createWebSocketStream } from 'ws';
import type { WebSocket } from 'ws';
import { watchPeer } from '../../../runtime/src/http/heartbeat.ts';
import { joinWrites } from '../../../runtime/src/http/join-writes.ts';
import type { Log } from '../../../runtime/src/log.ts';
import type { RelayLimits } from './limits.ts';

/** The connection of one box: HTTP/2 over its WebSocket, the box being the server. */
export interface Attachment {
  /** Undefined: it carries as many as it may. Throws where the connection is lost. */
  open(headers: OutgoingHttpHeaders, options: { endStream: boolean }): ClientHttp2Stream | undefined;
  /** Once it is not, a stream that ends may have broken off: Node ends those of a lost connection as if they were whole. */
  isOpen(): boolean;
  /** `code`: of the WebSocket. */
  close(code: number, reason: string): void;
}

export interface AttachmentOptions {
  limits: RelayLimits;
  log: Log;
  onClosed(): void;
}

export function openAttachment(socket: WebSocket, { limits, log, onClosed }: AttachmentOptions): Attachment {
  const duplex = joinWrites(createWebSocketStream(socket));
  const session = connect('http://box', {
    createConnection: () => duplex,
    maxSessionMemory: limits.memoryMb,
    peerMaxConcurrentStreams: limits.streams,
    settings: { enablePush: false, initialWindowSize: limits.window },
  });
  let streams = 0;
  session.once('connect', () => widen(session, limits.sessionWindow));
  session.on('error', (error) => log.debug('The connection of a tunnel has failed.', { error }));
  duplex.on('error', () => {});
  watchPeer(socket, limits.beatMs);
  socket.once('close', () => {
    session.destroy(undefined, constants.NGHTTP2_CANCEL);
    onClosed();
  });
  session.once('close', () => socket.terminate());
  return {
    open(headers, { endStream }) {
      if (streams >= limits.streams) return undefined;
      const stream = session.request(headers, { endStream });
      streams += 1;
      stream.once('close', () => (streams -= 1));
      stream.on('error', () => {});
      return stream;
    },
    isOpen: () => socket.readyState === socket.OPEN,
    close(code, reason) {
      socket.close(code, reason);
      // Whoever does not answer a close is not waited for.
      const cut = setTimeout(() => socket.terminate(), CLOSE_MS);
      socket.once('close', () => clearTimeout(cut));
    },
  };
}

// --- internal ---

const CLOSE_MS = 1_000;

/** Of all answers together: one that is read slowly holds no other. */
function widen(session: ClientHttp2Session, size: number): void {
  if (!session.destroyed) session.setLocalWindowSize(size);
}
