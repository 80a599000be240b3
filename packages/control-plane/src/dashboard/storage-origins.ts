import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { isLoopbackHost } from '../../../runtime/src/provider/egress.ts';
import { isOrigin } from '../pages/origin.ts';

/** A box that answers where its object storage is. */
export interface StorageOwner {
  id: string;
  /** Where it answers. Another one is asked again. */
  url: string;
  /** What it answers to `GET /api/services`; undefined: it is no JSON object. May fail. */
  ask(): Promise<unknown>;
}

/** Where browsers find the object storage of boxes. */
export interface StorageOrigins {
  /**
   * Of those of the boxes that have one, without repeats. What a box has said is kept for a minute; then it is asked again,
   * while the answer is what it said before. Waits a second at most, and leaves out what is not known by then.
   */
  list(boxes: readonly StorageOwner[]): Promise<string[]>;
}

export interface StorageOriginsOptions {
  now(): number;
  /** Of the control plane: one on this machine alone may send browsers to what listens on their own. */
  publicUrl(): string;
}

export function createStorageOrigins({ now, publicUrl }: StorageOriginsOptions): StorageOrigins {
  const known = new LRUCache<string, { origin: string | undefined; readAt: number }>({ max: MOST_KNOWN });
  const reading = new Map<string, Promise<void>>();
  const waiting: (() => Promise<void>)[] = [];
  let active = 0;

  const work = async (): Promise<void> => {
    active++;
    for (let next = waiting.shift(); next; next = waiting.shift()) await next();
    active--;
  };
  const read = async (key: string, { ask }: StorageOwner): Promise<void> => {
    // One that does not answer has not moved its storage.
    const before = known.peek(key)?.origin;
    const origin = await ask().then(
      (services) => toStorageOrigin(services, { isLocal: isLoopbackHost(new URL(publicUrl()).hostname) }),
      () => before,
    );
    known.set(key, { origin, readAt: now() });
  };
  const begin = (key: string, box: StorageOwner): Promise<void> => {
    const asked = new Promise<void>((resolve) => {
      waiting.push(() => read(key, box).finally(() => resolve(void reading.delete(key))));
    });
    reading.set(key, asked);
    if (active < MOST_AT_ONCE) void work();
    return asked;
  };

  return {
    async list(boxes) {
      const missing: Promise<void>[] = [];
      const keys = boxes.slice(0, MOST_BOXES).map((box) => {
        const key = `${box.id} ${box.url}`;
        const found = known.get(key);
        const isFresh = found && Math.abs(now() - found.readAt) < FRESH_MS;
        const asked = isFresh ? undefined : (reading.get(key) ?? begin(key, box));
        if (asked && found?.origin === undefined) missing.push(asked);
        return key;
      });
      if (missing.length > 0) await withinPatience(Promise.all(missing));
      return [...new Set(keys.flatMap((key) => known.get(key)?.origin ?? []))];
    },
  };
}

/**
 * The origin that a box's signed addresses have. Undefined: it has no storage, or what it says is no origin that a page may be
 * let ask: HTTPS, or, with `isLocal`, whatever this machine listens on.
 */
export function toStorageOrigin(services: unknown, { isLocal }: { isLocal: boolean }): string | undefined {
  const { storage } = Services.safeParse(services).data ?? {};
  if (!storage || !URL.canParse(storage.endpoint)) return undefined;
  const url = new URL(storage.endpoint);
  const host = storage.forcePathStyle ? url.host : `${storage.bucket}.${url.host}`;
  const origin = `${url.protocol}//${host}`;
  if (!isOrigin(origin)) return undefined;
  const { protocol, hostname } = new URL(origin);
  return (isLoopbackHost(hostname) ? isLocal : protocol === 'https:') ? origin : undefined;
}

// --- internal ---

/** Of an organisation with more, the first. Each may stand in the header twice. */
const MOST_BOXES = 100;
const MOST_KNOWN = 10_000;
const MOST_AT_ONCE = 16;
const FRESH_MS = 60_000;
const PATIENCE_MS = 1_000;

const Services = z.object({
  storage: z
    .object({ endpoint: z.string().max(2_048), bucket: z.string().max(63), forcePathStyle: z.boolean() })
    .nullable(),
});

async function withinPatience(asked: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
  await Promise.race([asked, over]).finally(() => clearTimeout(timer));
}
