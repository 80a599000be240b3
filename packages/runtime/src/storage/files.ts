import { eachOf } from '../engine/each-of.ts';
import type { Reached } from '../operations/define.ts';
import { isGone } from '../operations/inputs.ts';
import { withoutOwn } from './large-store.ts';
import { checkOther, checkPrefix, invalid, storageMissing } from './objects.ts';
import type { ListedObjects, ListOptions, ObjectStat } from './objects.ts';
import { toPresigned } from './storage.ts';
import type { BoxStorage, Storage, StoragePlace, UrlOptions } from './storage.ts';

export interface SignedUrl {
  url: string;
  method: 'GET' | 'PUT';
  /** ISO 8601. */
  expiresAt: string;
}

export interface UploadAsked extends Pick<UrlOptions, 'contentType' | 'size' | 'metadata' | 'overwrite'> {
  key: string;
  expiresIn: number;
}

export interface DeleteAsked {
  keys?: string[] | undefined;
  prefix?: string | undefined;
  limit: number;
}

/** The objects of the box as those who operate it have them. What the box keeps of its runs is not in them. */
export interface Files {
  /** Undefined: the box has no object storage. */
  place(): Promise<StoragePlace | undefined>;
  list(options: ListOptions): Promise<ListedObjects>;
  stat(key: string): Promise<ObjectStat>;
  /** Throws `object_not_found`: an address to nothing helps no one. */
  downloadUrl(key: string, asked: { expiresIn: number; isShown: boolean }): Promise<SignedUrl & { object: ObjectStat }>;
  uploadUrl(asked: UploadAsked): Promise<SignedUrl & { headers: Record<string, string> }>;
  /** What a move is about to take, once both keys are good. */
  findMoved(from: string, to: string): Promise<ObjectStat>;
  move(from: string, to: string, options: { overwrite: boolean }): Promise<{ key: string; etag: string }>;
  isMoved(from: string, to: string): Promise<boolean>;
  /** The keys that a delete is about, at most as many as its limit. */
  findDoomed(asked: DeleteAsked): Promise<{ keys: string[]; isMore: boolean }>;
  delete(asked: DeleteAsked, begin?: (keys: string[]) => Promise<void>): Promise<{ deleted: number; isMore: boolean }>;
  /** How many of the keys are gone. */
  reachedOf(keys: string[]): Promise<Reached>;
}

export function createFiles(whole: BoxStorage | undefined): Files {
  const open = whole && withoutOwn(whole);
  const storage = (): Storage => {
    if (open) return open;
    throw storageMissing();
  };
  const isMissing = (key: string): Promise<boolean> => isGone('object_not_found', async () => storage().stat(key));
  const files: Files = {
    place: async () => open?.place(),
    list: async (options) => storage().list(options),
    stat: async (key) => storage().stat(key),
    async downloadUrl(key, { expiresIn, isShown }) {
      const object = await storage().stat(key);
      const expiresAt = toExpiry(expiresIn);
      const url = await storage().url(key, {
        expiresIn,
        ...(isShown ? {} : { download: key.split('/').at(-1) ?? key }),
      });
      return { url, method: 'GET', expiresAt, object };
    },
    async uploadUrl({ key, ...asked }) {
      const options = { ...asked, method: 'PUT' } as const;
      const { headers } = toPresigned(options);
      const expiresAt = toExpiry(asked.expiresIn);
      return { url: await storage().url(key, options), method: 'PUT', headers, expiresAt };
    },
    async findMoved(from, to) {
      checkOther(from, to);
      return storage().stat(from);
    },
    move: async (from, to, options) => storage().move(from, to, options),
    isMoved: async (from, to) => !(await isMissing(to)) && isMissing(from),
    async findDoomed({ keys, prefix, limit }) {
      if ((keys === undefined) === (prefix === undefined))
        throw invalid('Say what is to be deleted: "keys", or a "prefix", and not both.');
      if (keys) return { keys: [...new Set(keys)], isMore: false };
      if (checkPrefix(prefix ?? '') === '')
        throw invalid('An empty "prefix" would mean every object. Give a longer one.');
      const { items, nextCursor } = await storage().list({ prefix: prefix ?? '', limit });
      return { keys: items.map(({ key }) => key), isMore: nextCursor !== null };
    },
    async delete(asked, begin) {
      const { keys, isMore } = await files.findDoomed(asked);
      if (keys.length > 0) await begin?.(keys);
      await storage().delete(keys);
      return { deleted: keys.length, isMore };
    },
    async reachedOf(keys) {
      let done = 0;
      await eachOf(keys, AT_ONCE, async (key) => {
        if (await isMissing(key)) done += 1;
      });
      return { done, of: keys.length };
    },
  };
  return files;
}

// --- internal ---

const AT_ONCE = 16;

function toExpiry(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}
