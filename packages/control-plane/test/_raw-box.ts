import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';

export interface RawBoxOptions {
  relayUrl: string;
  token: string;
  /** Of the answer to every request: a head that Node itself would not send. */
  status: string;
  /** Whether the head is all of the answer. Default: false. */
  isEnd?: boolean;
}

/** Frames without an end, in place of an answer. */
export type Flood = 'headers' | 'settings' | 'pings';

/** What attaches to a tunnel and is no `svc dev`: HTTP/2 written by hand, which answers every request with one head. */
export async function attachRawBox({ relayUrl, token, status, isEnd = false }: RawBoxOptions): Promise<WebSocket> {
  const socket = new WebSocket(relayUrl, ['svc-tunnel', token]);
  let rest = Buffer.alloc(0);
  let hasPreface = false;
  socket.on('message', (part: Buffer) => {
    rest = Buffer.concat([rest, part]);
    if (!hasPreface && rest.length >= PREFACE) {
      hasPreface = true;
      rest = rest.subarray(PREFACE);
      socket.send(toFrame(SETTINGS, 0, 0));
    }
    if (!hasPreface) return;
    while (rest.length >= HEAD && rest.length >= HEAD + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      const [type, flags, stream] = [rest.readUInt8(3), rest.readUInt8(4), rest.readUInt32BE(5)];
      rest = rest.subarray(HEAD + length);
      if (type === SETTINGS && flags === 0) socket.send(toFrame(SETTINGS, ACK, 0));
      if (type === HEADERS)
        socket.send(toFrame(HEADERS, END_HEADERS + (isEnd ? END_STREAM : 0), stream, toHead(status)));
    }
  });
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

/**
 * The same, which answers the first request with a flood, as fast as it is taken. Answers how much was sent of it when the
 * connection was closed, or at `most` bytes.
 */
export async function attachFlood(
  { relayUrl, token }: Pick<RawBoxOptions, 'relayUrl' | 'token'>,
  { flood, most }: { flood: Flood; most: number },
): Promise<{ ended: Promise<{ sent: number; isClosed: boolean }> }> {
  const socket = new WebSocket(relayUrl, ['svc-tunnel', token]);
  let sent = 0;
  const ended = new Promise<{ sent: number; isClosed: boolean }>((resolve) => {
    const end = () => resolve({ sent, isClosed: socket.readyState !== socket.OPEN });
    socket.once('close', end);
    socket.once('message', () => {
      socket.send(toFrame(SETTINGS, 0, 0));
      // The first stream of a client is 1.
      if (flood === 'headers') socket.send(toFrame(HEADERS, 0, 1, toHead('200')));
      const part = makeFlood(flood);
      const go = (): void => {
        if (socket.readyState !== socket.OPEN || sent >= most) return end();
        sent += part.length;
        socket.send(part, () => setImmediate(go));
      };
      go();
    });
  });
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  return { ended };
}

// --- internal ---

/** About 64 KiB. */
function makeFlood(flood: Flood): Buffer {
  if (flood === 'settings') return Buffer.concat(Array.from({ length: 7_000 }, () => toFrame(SETTINGS, 0, 0)));
  if (flood === 'pings')
    return Buffer.concat(Array.from({ length: 3_800 }, () => toFrame(PING, 0, 0, Buffer.alloc(PING_BYTES))));
  // Literals that are kept in no table: "a": 100 bytes.
  const value = Buffer.concat([Buffer.from([0, 1, 97, 100]), Buffer.alloc(100, 98)]);
  return toFrame(CONTINUATION, 0, 1, Buffer.concat(Array.from({ length: 150 }, () => value)));
}

const PING = 6;
const PING_BYTES = 8;
const CONTINUATION = 9;

/** Bytes of what a client of HTTP/2 begins with. */
const PREFACE = 24;
/** Bytes of what a frame begins with. */
const HEAD = 9;
const HEADERS = 1;
const SETTINGS = 4;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;

function toFrame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:status`, as HPACK writes a value that is in no table. */
function toHead(status: string): Buffer {
  return Buffer.concat([Buffer.from([8, status.length]), Buffer.from(status)]);
}
