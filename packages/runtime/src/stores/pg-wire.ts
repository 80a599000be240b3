/**
 * The client's half of the Postgres wire protocol: bytes in, whole messages out.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export type WireFrame =
  /** Asks for TLS or GSS; the answer is one byte, `N`. */
  | { kind: 'encryption' }
  /** A cancel request, or something that is not a Postgres client at all: close the connection. */
  | { kind: 'foreign' }
  | { kind: 'startup'; bytes: Uint8Array }
  | { kind: 'terminate' }
  | { kind: 'password'; text: string }
  /** Messages up to the first that asks for an answer. `synced`: the server ends its answer with "ready for query". */
  | { kind: 'messages'; bytes: Uint8Array; synced: boolean; mayChangeSettings: boolean };

export interface FrameReaderOptions {
  /** Goes before names of prepared statements: all clients of the embedded database share one session. */
  prefix: string;
  /** The client is asked for a password once it has begun, and sends nothing else before. */
  asksPassword: boolean;
}

export function createFrameReader({ prefix, asksPassword }: FrameReaderOptions): (chunk: Uint8Array) => WireFrame[] {
  let buffer = Buffer.alloc(0);
  let isStarted = false;
  let isAsked = asksPassword;
  let batch: Uint8Array[] = [];
  let mayChangeSettings = false;

  const readStartup = (): WireFrame | undefined => {
    if (buffer.length < 8) return undefined;
    const length = buffer.readInt32BE(0);
    const code = buffer.readInt32BE(4);
    if (length < 8 || length > STARTUP_BYTES) return { kind: 'foreign' };
    if (buffer.length < length) return undefined;
    const bytes = Uint8Array.from(buffer.subarray(0, length));
    buffer = buffer.subarray(length);
    if (code === SSL_REQUEST || code === GSS_REQUEST) return { kind: 'encryption' };
    if (code >> 16 !== PROTOCOL_MAJOR) return { kind: 'foreign' };
    isStarted = true;
    return { kind: 'startup', bytes };
  };
  const readMessage = (): WireFrame | 'batched' | undefined => {
    if (buffer.length < 5) return undefined;
    const length = 1 + buffer.readInt32BE(1);
    if (length < 5 || length > (isAsked ? STARTUP_BYTES : MESSAGE_BYTES)) return { kind: 'foreign' };
    if (buffer.length < length) return undefined;
    const type = String.fromCharCode(buffer[0] ?? 0);
    const body = buffer.subarray(5, length);
    buffer = buffer.subarray(length);
    if (type === 'X') return { kind: 'terminate' };
    if (isAsked) {
      isAsked = false;
      return type === 'p' ? { kind: 'password', text: body.toString('utf8', 0, body.length - 1) } : { kind: 'foreign' };
    }
    if (type === 'Q' || type === 'P') mayChangeSettings ||= SETTINGS.test(body.toString('latin1'));
    batch.push(toMessage(type, rewrite(type, body, prefix)));
    if (!ASKING.has(type)) return 'batched';
    const bytes = new Uint8Array(Buffer.concat(batch));
    const frame: WireFrame = { kind: 'messages', bytes, synced: SYNCED.has(type), mayChangeSettings };
    batch = [];
    mayChangeSettings = false;
    return frame;
  };

  return (chunk) => {
    buffer = Buffer.concat([buffer, chunk]);
    const frames: WireFrame[] = [];
    for (;;) {
      const frame = isStarted ? readMessage() : readStartup();
      if (frame === undefined) return frames;
      if (frame === 'batched') continue;
      frames.push(frame);
      if (frame.kind === 'foreign' || frame.kind === 'terminate') return frames;
    }
  };
}

/** An error after which the server closes the connection. */
export function formatFatal(code: string, message: string): Uint8Array {
  const fields = ['SFATAL', 'VFATAL', `C${code}`, `M${message}`].map((field) => `${field}\0`).join('');
  return toMessage('E', Buffer.from(`${fields}\0`, 'utf8'));
}

/** Asks for the password, as it is: nothing listens in on loopback. */
export const ASK_PASSWORD: Uint8Array = toMessage('R', Buffer.from([0, 0, 0, 3]));

/** Ends an extended query whose client is gone. */
export const SYNC: Uint8Array = toMessage('S', Buffer.alloc(0));

// --- internal ---

const PROTOCOL_MAJOR = 3;
const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
/** As the server itself. A browser that finds the port sends `POST`, which reads as a length far beyond it. */
const STARTUP_BYTES = 10_000;
const MESSAGE_BYTES = 256 * 1024 * 1024;
/** Query, sync, function call, flush, copy done, copy fail: the client waits for an answer. */
const ASKING = new Set(['Q', 'S', 'F', 'H', 'c', 'f']);
const SYNCED = new Set(['Q', 'S', 'F']);
/** Rather once too often than missed: it costs two statements. */
const SETTINGS = /set|discard/i;
const COPY_IN = /\bcopy\b[\s\S]*\bfrom\s+stdin\b/i;
/** PGlite ends its process when it asks for copy data: https://github.com/electric-sql/pglite has no copy-in. */
const COPY_REFUSED = `do $$ begin raise exception using errcode = '0A000', message = 'The embedded database cannot do COPY FROM STDIN. Use INSERT, or a Postgres server (DATABASE_URL).'; end $$`;

function toMessage(type: string, body: Buffer): Uint8Array {
  const message = Buffer.alloc(5 + body.length);
  message.write(type, 0, 'latin1');
  message.writeInt32BE(4 + body.length, 1);
  body.copy(message, 5);
  return message;
}

function rewrite(type: string, body: Buffer, prefix: string): Buffer {
  if (type === 'Q') return COPY_IN.test(body.toString('latin1')) ? Buffer.from(`${COPY_REFUSED}\0`) : body;
  if (type === 'P') return rewriteParse(body, prefix);
  if (type === 'B') return addPrefix(body, body.indexOf(0) + 1, prefix);
  const isStatement = body[0] === 'S'.charCodeAt(0);
  return (type === 'D' || type === 'C') && isStatement ? addPrefix(body, 1, prefix) : body;
}

function rewriteParse(body: Buffer, prefix: string): Buffer {
  const named = addPrefix(body, 0, prefix);
  const start = named.indexOf(0) + 1;
  const end = named.indexOf(0, start);
  if (!COPY_IN.test(named.toString('latin1', start, end))) return named;
  return Buffer.concat([named.subarray(0, start), Buffer.from(COPY_REFUSED), named.subarray(end)]);
}

/** The unnamed statement keeps its empty name. */
function addPrefix(body: Buffer, at: number, prefix: string): Buffer {
  if (body[at] === 0) return body;
  return Buffer.concat([body.subarray(0, at), Buffer.from(prefix), body.subarray(at)]);
}
