import { atMost } from '../../engine/at-most.ts';
import { eachOf } from '../../engine/each-of.ts';
import { BoxError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ObjectStat } from '../../storage/objects.ts';
import type { Storage } from '../../storage/storage.ts';
import { createSweeper } from '../../storage/sweeper.ts';
import type { Decoded } from './base64.ts';

/** The files of a session, as objects: `.svc/files/<session>/<digest>`. */
export interface FileStore {
  /** Undefined: the session has no such file. */
  find(sessionId: string, digest: string): Promise<ObjectStat | undefined>;
  /** Keeps the bytes, unless the session has them. */
  put(sessionId: string, file: Decoded & { mediaType: string }): Promise<void>;
  /** Undefined: it is gone. */
  read(sessionId: string, digest: string): Promise<Buffer | undefined>;
  /** An address that whoever has it may read the file at for a quarter of an hour. */
  url(sessionId: string, digest: string, download?: string): Promise<string>;
  /** Of which file it is the address, whoever's; undefined: it is none. */
  findAddressed(address: string): Promise<Addressed | undefined>;
  /** Deletes all files of the session. What fails is left to a sweep. */
  drop(sessionId: string): Promise<void>;
  /** Deletes the files of sessions that are not there, should the last look be long ago. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface Addressed {
  sessionId: string;
  digest: string;
}

export interface FileStoreOptions {
  storage: Storage;
  /** Those that are there. */
  listSessions(ids: readonly string[]): Promise<string[]>;
  log: Log;
  /** Milliseconds between two looks. Default: a day. */
  everyMs?: number;
  /** Milliseconds a file of no session is left. Default: a day. */
  leftMs?: number;
}

export function createFileStore(options: FileStoreOptions): FileStore {
  const { storage, listSessions, log, everyMs, leftMs } = options;
  let base: string | undefined;

  const find: FileStore['find'] = async (sessionId, digest) => unlessGone(storage.stat(toKey(sessionId, digest)));
  /** What comes before session and digest in the address of a file. */
  const readBase = async (): Promise<string> => {
    if (base === undefined) {
      const { origin, pathname } = new URL(await storage.url(`${FILES}x`));
      base = `${origin}${pathname.slice(0, -1)}`;
    }
    return base;
  };
  const dropWithoutSession = async (sessionId: string): Promise<void> => {
    // Asked again for each: a session may have come back meanwhile, under the same name and so with the same id.
    if ((await listSessions([sessionId])).length === 0) await storage.deletePrefix(`${FILES}${sessionId}/`);
  };
  /** Most boxes have no file, and delete many sessions. */
  const sweeper = createSweeper({
    storage,
    prefix: FILES,
    async collect(old) {
      const ids = [...new Set(old.map(({ key }) => sessionOf(key)))];
      const known = new Set(await listSessions(ids));
      await eachOf(
        ids.filter((id) => !known.has(id)),
        AT_ONCE,
        dropWithoutSession,
      );
    },
    log,
    failure: 'Files of no session could not be deleted.',
    everyMs,
    leftMs,
  });

  return {
    find,
    async put(sessionId, { bytes, digest, mediaType }) {
      if (await find(sessionId, digest)) return;
      // In pieces, what is large is sent in parts: the hash of each is made on its own.
      const body = bytes.length > WHOLE_BYTES ? toPieces(bytes) : bytes;
      await storage.put(toKey(sessionId, digest), body, { contentType: mediaType });
      sweeper.notEmpty();
    },
    async read(sessionId, digest) {
      const blob = await unlessGone(storage.get(toKey(sessionId, digest)));
      return blob && Buffer.from(await blob.arrayBuffer());
    },
    url: (sessionId, digest, download) =>
      storage.url(toKey(sessionId, digest), download === undefined ? {} : { download }),
    async findAddressed(address) {
      const [, sessionId, digest] = (address.length <= LONGEST_ADDRESS && ADDRESS.exec(address)) || [];
      if (sessionId === undefined || digest === undefined || !URL.canParse(address)) return undefined;
      const { origin, pathname } = new URL(address);
      const isOwn = `${origin}${pathname}` === `${await readBase()}${sessionId}/${digest}`;
      return isOwn ? { sessionId, digest } : undefined;
    },
    async drop(sessionId) {
      try {
        if (!(await sweeper.isEmpty())) await atMost(DROP_MS, storage.deletePrefix(`${FILES}${sessionId}/`));
      } catch (error) {
        log.warn('Files of a deleted session are still in object storage.', { session: sessionId, error });
      }
    },
    sweep: sweeper.sweep,
    close: sweeper.close,
  };
}

// --- internal ---

const FILES = '.svc/files/';
/** Whoever deletes a session waits no longer for its files to go. */
const DROP_MS = 10_000;
const AT_ONCE = 8;
const WHOLE_BYTES = 4 * 1_048_576;
const PIECE_BYTES = 1_048_576;
const LONGEST_ADDRESS = 4_096;
const ADDRESS = /^https?:\/\/[^?#]*\/\.svc\/files\/([\da-f-]{36})\/([\da-f]{64})(?:[?#]|$)/;

function toKey(sessionId: string, digest: string): string {
  return `${FILES}${sessionId}/${digest}`;
}

function sessionOf(key: string): string {
  return key.slice(FILES.length).split('/')[0] ?? '';
}

async function* toPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof BoxError && error.code === 'object_not_found') return undefined;
    throw error;
  }
}
