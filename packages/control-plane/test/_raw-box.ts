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

// --- internal ---

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
