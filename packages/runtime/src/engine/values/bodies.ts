import { currentContext } from '../context.ts';

/**
 * The bytes of a Request's or a Response's body, kept beside it: a record is made in one go, and a body can only be
 * read bit by bit. Undefined: they are not known; null: there is no body.
 */
export function bytesOf(message: Request | Response): Uint8Array | null | undefined {
  const known = (message as unknown as Record<symbol, Uint8Array | null | undefined>)[BYTES];
  return known === undefined && message.body === null && !message.bodyUsed ? null : known;
}

export function keepBytes<T extends Request | Response>(message: T, bytes: Uint8Array | null): T {
  return Object.defineProperty(message, BYTES, { value: bytes, configurable: true });
}

/** Reads the body, at most `limit` bytes, and keeps it. Throws when other code has begun to read it. */
export async function readBytes(message: Request | Response, limit: number): Promise<void> {
  if (bytesOf(message) !== undefined) return;
  if (message.bodyUsed || !message.body)
    throw fatal('The body has been read already. Hand on what was read, or a clone().', 'body_used');
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of message.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit)
      throw fatal(
        `The body is larger than the ${limit} bytes that may be recorded. Read it in a step and store it elsewhere.`,
        'result_too_large',
      );
    chunks.push(chunk);
  }
  keepBytes(message, Buffer.concat(chunks));
}

/**
 * Remembers what a Request or a Response is made of when that is text or bytes, so that one made in a body can be
 * recorded. Installed once per process, before any user module.
 */
export function installBodies(): void {
  const marked = globalThis as Record<symbol, unknown>;
  if (marked[INSTALLED]) return;
  marked[INSTALLED] = true;
  globalThis.Response = remembering(Response, ([body]) => body);
  globalThis.Request = remembering(Request, ([source, init]) => {
    const { body } = (init ?? {}) as RequestInit;
    return body ?? (source instanceof Request ? bytesOf(source) : null);
  });
  for (const { prototype } of [Request, Response]) {
    const clone = prototype.clone as (this: Request | Response) => Request | Response;
    const value = function (this: Request | Response) {
      const bytes = bytesOf(this);
      const copy = clone.call(this);
      return bytes === undefined ? copy : keepBytes(copy, bytes);
    };
    Object.defineProperty(prototype, 'clone', { value, configurable: true, writable: true, enumerable: true });
  }
}

// --- internal ---

const BYTES = Symbol.for('svc.engine.bytes');
const INSTALLED = Symbol.for('svc.engine.bodies');

type MessageClass = typeof Request | typeof Response;

function remembering<T extends MessageClass>(type: T, bodyOf: (args: unknown[]) => unknown): T {
  return new Proxy(type, {
    construct(target, args: unknown[], newTarget) {
      const message = Reflect.construct(target, args, newTarget) as Request | Response;
      return remember(message, () => bodyOf(args));
    },
    get(target, key, receiver) {
      if (key === 'json' && 'json' in target)
        return (data: unknown, init?: ResponseInit) => remember(target.json(data, init), () => JSON.stringify(data));
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

/** Outside of a body there is time to read what is to be recorded. */
function remember<T extends Request | Response>(message: T, bodyOf: () => unknown): T {
  if (currentContext()?.kind !== 'body') return message;
  const bytes = toBytes(bodyOf());
  return bytes ? keepBytes(message, bytes) : message;
}

function toBytes(body: unknown): Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof URLSearchParams) return Buffer.from(String(body));
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice(0));
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  return undefined;
}

function fatal(message: string, code: string): Error {
  return Object.assign(new Error(message), { code, fatal: true });
}
