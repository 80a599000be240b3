import { eachOf } from '../engine/each-of.ts';
import { atMost } from '../engine/at-most.ts';
import type { Journal } from '../engine/journal.ts';
import type { LargeStore } from '../engine/large-values.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { deleteBelow } from './storage.ts';
import type { ListOptions, Storage, StoredObject } from './storage.ts';
import { createSweeper } from './sweeper.ts';

/** What the keys of the box's own objects begin with. */
const OWN = '.svc/';
const VALUES = `${OWN}values/`;

/** Values of runs that are too large for the journal, as objects: `.svc/values/<run>/<digest>`. */
export interface BoxLargeStore extends LargeStore {
  /** Deletes what no run needs any more, should the last look be long ago. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface LargeStoreOptions {
  storage: Storage;
  journal: Pick<Journal, 'listStandings'>;
  log: Log;
  /** Milliseconds between two looks for objects of runs that are not there. Default: a day. */
  everyMs?: number;
  /** Milliseconds an object of such a run is left: its run may be about to come. Default: a day. */
  leftMs?: number;
}

export function createLargeStore(options: LargeStoreOptions): BoxLargeStore {
  const { storage, journal, log, everyMs, leftMs } = options;
  /** Most boxes have no such object, and delete many runs. */
  const sweeper = createSweeper({
    storage,
    prefix: VALUES,
    // A run that is deleted while its store was away, or that was never made: its process died between the two.
    async collect(old) {
      const known = await journal.listStandings([...new Set(old.map(runOf))]);
      const kept = new Set(known.map(({ id }) => id));
      await eachOf(
        old.filter((object) => !kept.has(runOf(object))),
        AT_ONCE,
        ({ key }) => storage.delete(key),
      );
    },
    log,
    failure: 'Values that no run needs could not be deleted.',
    everyMs,
    leftMs,
  });
  const dropRun = async (runId: string): Promise<void> => {
    for (let cursor: string | undefined; ;) {
      const page = await storage.list({ prefix: `${VALUES}${runId}/`, ...(cursor === undefined ? {} : { cursor }) });
      await eachOf(page.items, AT_ONCE, ({ key }) => storage.delete(key));
      if (page.nextCursor === null) return;
      cursor = page.nextCursor;
    }
  };

  return {
    async put(runId, digest, text) {
      await storage.put(toKey(runId, digest), text);
      sweeper.notEmpty();
    },
    async get(runId, digest) {
      return (await storage.get(toKey(runId, digest))).text();
    },
    async drop(runIds) {
      try {
        if (runIds.length > 0 && !(await sweeper.isEmpty())) await atMost(DROP_MS, eachOf(runIds, AT_ONCE, dropRun));
      } catch (error) {
        // A sweep deletes them.
        log.warn('Values of deleted runs are still in object storage.', { runs: runIds.length, error });
      }
    },
    sweep: sweeper.sweep,
    close: sweeper.close,
  };
}

/** The storage as authors and operators have it: the box's own objects are not in it. */
export function withoutOwn<S extends Storage>(storage: S): S {
  const check = (key: string): string => {
    if (String(key).startsWith(OWN))
      throw new BoxError('invalid_request', `Keys that begin with "${OWN}" are the box's own. Choose another.`);
    return key;
  };
  const isOwn = (name: string): boolean => name.startsWith(OWN);
  const checked: Storage = {
    put: async (key, ...rest) => storage.put(check(key), ...rest),
    get: async (key, ...rest) => storage.get(check(key), ...rest),
    stream: async (key, ...rest) => storage.stream(check(key), ...rest),
    stat: async (key) => storage.stat(check(key)),
    async list(options = {}) {
      for (let asked = skipped(options); ;) {
        const { items, folders, nextCursor } = await storage.list(asked);
        const others = {
          items: items.filter(({ key }) => !isOwn(key)),
          folders: folders.filter((name) => !isOwn(name)),
        };
        // However many there are of its own, they are gone over in one step.
        const next = nextCursor !== null && isOwn(items.at(-1)?.key ?? '') ? BEHIND_OWN : nextCursor;
        if (next !== BEHIND_OWN || others.items.length + others.folders.length > 0)
          return { ...others, nextCursor: next };
        asked = skipped({ ...options, cursor: BEHIND_OWN });
      }
    },
    delete: async (keys) => storage.delete(typeof keys === 'string' ? check(keys) : keys.map(check)),
    deletePrefix: async (prefix, options) => deleteBelow(checked, check(prefix), options),
    copy: async (from, to, ...rest) => storage.copy(check(from), check(to), ...rest),
    move: async (from, to, ...rest) => storage.move(check(from), check(to), ...rest),
    url: async (key, ...rest) => storage.url(check(key), ...rest),
  };
  return { ...storage, ...checked };
}

// --- internal ---

/** Whoever deletes runs waits no longer for their objects to go. */
const DROP_MS = 10_000;
const AT_ONCE = 8;
/** A cursor that no backend gives. */
const BEHIND_OWN = '.svc';
/** Behind every key of the box's own. */
const LAST_OWN = `${OWN}~`;

function skipped({ cursor, ...options }: ListOptions): ListOptions {
  if (cursor === BEHIND_OWN) return { ...options, startAfter: LAST_OWN };
  return cursor === undefined ? options : { ...options, cursor };
}

function toKey(runId: string, digest: string): string {
  return `${VALUES}${runId}/${digest}`;
}

function runOf({ key }: Pick<StoredObject, 'key'>): string {
  return key.slice(VALUES.length).split('/')[0] ?? '';
}
