import nodeCrypto from 'node:crypto';
import { real } from './real.ts';

/** Taken before the guard refuses it in bodies: a token is drawn while a body runs. */
const nodeRandomBytes = nodeCrypto.randomBytes;

/**
 * Makes UUIDv7 texts: time-ordered, and each greater than the one before it, unless the clock goes back by more than an hour:
 * it was wrong then, and ids of the time it showed would be in no list of today.
 */
export function createRunIds(options: { now?: () => number } = {}): () => string {
  const now = options.now ?? real.now;
  const random = createRandomPool();
  let time = 0;
  let counter = 0;
  let prefix = '';

  function tick(): void {
    const present = now();
    if (present > time || time - present > CLOCK_BACK_MS) {
      time = present;
      // The upper half of the counter stays free, so that a millisecond holds at least 2,048 ids.
      counter = random(2).readUInt16BE() & 0x7ff;
    } else if (++counter > 0xfff) {
      time += 1;
      counter = 0;
    } else return;
    prefix = formatTime(time);
  }

  return () => {
    tick();
    const tail = random(8);
    tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80;
    const hex = tail.toString('hex');
    return `${prefix}-7${counter.toString(16).padStart(3, '0')}-${hex.slice(0, 4)}-${hex.slice(4)}`;
  };
}

/** A new run id: UUIDv7, so ids sort by the time of creation. The order is kept per process, by this one generator. */
export const newRunId: () => string = createRunIds();

/** The engine's own id of a run, which is an OpenTelemetry trace id: the same 128 bits as 32 hex digits. */
export function toTraceId(runId: string): string {
  return runId.replaceAll('-', '').toLowerCase();
}

/** The inverse. */
export function toRunId(traceId: string): string {
  return traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Names one record among all that were ever offered for its position: 96 random bits. */
export function newRecordId(): string {
  return recordBytes(12).toString('base64url');
}

/** An unguessable token: 256 random bits, less what is lost as it begins with a letter or a digit: a shell takes it as it is. */
export function newToken(): string {
  for (;;) {
    const token = nodeRandomBytes(32).toString('base64url');
    if (/^[a-z\d]/i.test(token)) return token;
  }
}

/** The same for a webhook, where it lets its holder in: by what it begins with it is found wherever it is written. */
export function newWebhookToken(): string {
  return `whk_${newToken()}`;
}

// --- internal ---

const POOL_BYTES = 12 * 1024;
const CLOCK_BACK_MS = 60 * 60 * 1000;

// Taken when the module loads: inside a workflow body the live binding refuses.
const { randomFillSync } = nodeCrypto;

const recordBytes = createRandomPool();

/** Hands out slices of random bytes, filled in bulk: one call to the system per id would be most of its cost. */
function createRandomPool(): (length: number) => Buffer {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (length) => {
    if (used + length > pool.length) {
      pool = randomFillSync(Buffer.allocUnsafeSlow(POOL_BYTES));
      used = 0;
    }
    const slice = pool.subarray(used, used + length);
    used += length;
    return slice;
  };
}

function formatTime(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
