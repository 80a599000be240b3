import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import type { Files } from './files.ts';

const operation = operationsOf<{ storage: Files }>();

const room = { tag: 'storage' } as const;
const errors = ['storage_missing', 'storage_refused'] as const;

const key = z.string().min(1).describe('The key of the object, as `storage.list` answers it');
const expiresIn = z.int().min(1).max(3_600).default(300).describe('Seconds for which the address is valid');
const overwrite = z.boolean().default(false).describe('Replace what is there under that key');

const StoredObject = z.object({
  key: z.string(),
  size: z.int().describe('In bytes'),
  etag: z.string(),
  lastModified: z.string(),
});

export const ObjectStat = StoredObject.extend({
  contentType: z.string(),
  metadata: z.record(z.string(), z.string()).describe('What it was put with, under names in lower case'),
});

const SignedUrl = z.object({
  url: z.string().describe('A credential by itself: do not log or share it'),
  expiresAt: z.string(),
});

const Moved = z.object({ key: z.string(), etag: z.string() });

export const listBuckets = operation({
  ...room,
  id: 'storage.buckets',
  summary: 'List the bucket this box keeps objects in, and the prefix that is its own; none without object storage',
  route: 'GET /api/storage/buckets',
  kind: 'read',
  permission: 'storage:read',
  copilot: 'yes',
  cli: 'storage buckets',
  input: z.strictObject({}),
  output: z.object({
    items: z.array(
      z.object({
        name: z.string(),
        prefix: z
          .string()
          .describe('The prefix of every key of this box; callers neither see it nor get outside of it'),
        region: z.string(),
        forcePathStyle: z.boolean(),
      }),
    ),
    nextCursor: z.string().nullable(),
  }),
  async handle({ storage }) {
    const place = await storage.place();
    if (!place) return { items: [], nextCursor: null };
    const { bucket, prefix, region, forcePathStyle } = place;
    return { items: [{ name: bucket, prefix, region, forcePathStyle }], nextCursor: null };
  },
});

export const listObjects = operation({
  ...room,
  id: 'storage.list',
  summary: 'List objects in the order of their keys; with a delimiter, folders and what lies directly in one',
  route: 'GET /api/storage/objects',
  kind: 'read',
  permission: 'storage:read',
  copilot: 'yes',
  cli: 'storage ls',
  errors: [...errors, 'invalid_cursor'],
  input: z.strictObject({
    prefix: z.string().default('').describe('What the keys begin with'),
    delimiter: z
      .string()
      .min(1)
      .max(16)
      .optional()
      .describe('`/` groups what lies deeper into folders; absent, every key is listed'),
    limit: z.coerce.number().int().min(1).max(1_000).default(200).describe('A folder counts as one'),
    cursor: z.string().min(1).optional().describe('`nextCursor` of the page before'),
  }),
  output: z.object({
    items: z.array(StoredObject),
    folders: z.array(z.string()).describe('Up to and with the delimiter: each is a `prefix` to list'),
    nextCursor: z.string().nullable(),
  }),
  handle: ({ storage }, input) => storage.list(withoutUndefined(input)),
});

export const statObject = operation({
  ...room,
  id: 'storage.stat',
  summary: 'Get size, type, etag and metadata of one object',
  route: 'GET /api/storage/objects/stat',
  kind: 'read',
  permission: 'storage:read',
  copilot: 'yes',
  errors: [...errors, 'object_not_found'],
  input: z.strictObject({ key }),
  output: ObjectStat,
  handle: ({ storage }, input) => storage.stat(input.key),
});

export const downloadObject = operation({
  ...room,
  id: 'storage.download',
  summary: 'Make a short-lived signed address that one object is read from',
  route: 'POST /api/storage/objects/download-url',
  kind: 'read',
  permission: 'storage:read',
  copilot: 'no: secret or signed URL in the answer',
  cli: 'storage get',
  secret: ['url'],
  errors: [...errors, 'object_not_found'],
  input: z.strictObject({
    key,
    expiresIn,
    show: z
      .boolean()
      .default(false)
      .describe('Browsers show the object; else they save it under the name it ends with'),
  }),
  output: SignedUrl.extend({ method: z.literal('GET'), object: ObjectStat }),
  async handle({ storage }, { show, ...asked }) {
    const { method: _, ...signed } = await storage.downloadUrl(asked.key, {
      expiresIn: asked.expiresIn,
      isShown: show,
    });
    return { ...signed, method: 'GET' as const };
  },
});

export const uploadObject = operation({
  ...room,
  id: 'storage.upload',
  summary: 'Make a short-lived signed address that one object is written to, with the headers to send',
  route: 'POST /api/storage/objects/upload-url',
  kind: 'write',
  permission: 'storage:write',
  copilot: 'no: upload',
  cli: 'storage put',
  secret: ['url'],
  errors,
  input: z.strictObject({
    key,
    expiresIn,
    contentType: z.string().min(1).max(255).optional().describe('The backend refuses another one'),
    size: z.int().min(0).optional().describe('In bytes, up to 5 GiB; the backend refuses another length'),
    metadata: z.record(z.string(), z.string()).optional().describe('Up to 2 KB of printable ASCII'),
    overwrite,
  }),
  output: SignedUrl.extend({
    method: z.literal('PUT'),
    headers: z.record(z.string(), z.string()).describe('To be sent as they are, or the backend refuses'),
  }),
  async handle({ storage }, { contentType, size, metadata, ...asked }) {
    const { method: _, ...signed } = await storage.uploadUrl({
      ...asked,
      ...withoutUndefined({ contentType, size, metadata }),
    });
    return { ...signed, method: 'PUT' as const };
  },
});

export const moveObject = operation({
  ...room,
  id: 'storage.move',
  summary: 'Copy one object under a new key, then delete it under the old one; refuses an existing target',
  route: 'POST /api/storage/objects/move',
  kind: 'write',
  permission: 'storage:write',
  copilot: 'yes',
  errors: [...errors, 'object_not_found', 'object_exists'],
  input: z.strictObject({ from: key, to: z.string().min(1).describe('The new key'), overwrite }),
  output: Moved,
  before: ({ storage }, { from, to }) => storage.findMoved(from, to),
  settles: { isDone: ({ storage }, { from, to }) => storage.isMoved(from, to) },
  handle: ({ storage }, { from, to, ...options }) => storage.move(from, to, options),
});

export const deleteObjects = operation({
  ...room,
  id: 'storage.delete',
  summary: 'Delete objects by their keys, or all with a prefix, up to 1,000 a request',
  route: 'DELETE /api/storage/objects',
  kind: 'write',
  permission: 'storage:write',
  copilot: 'yes',
  confirm: true,
  cli: 'storage rm',
  errors,
  repeated: ['keys'],
  input: z.strictObject({
    keys: z.array(z.string().min(1)).min(1).max(1_000).optional().describe('What is not there is fine'),
    prefix: z.string().min(1).optional().describe('Instead of keys: what they begin with'),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(1_000)
      .default(1_000)
      .describe('Of a prefix: most objects of one request'),
  }),
  output: z.object({
    deleted: z.int(),
    isMore: z.boolean().describe('More objects have the prefix: ask again'),
  }),
  async before({ storage }, input) {
    const { keys, isMore } = await storage.findDoomed(input);
    return { objects: keys.length, isMore, keys: keys.slice(0, SHOWN) };
  },
  settles: { begun: ({ storage }, what) => storage.reachedOf(what as string[]) },
  handle: ({ storage }, input, { begin }) => storage.delete(input, begin),
});

// --- internal ---

/** Of many keys, so many are written down. */
const SHOWN = 20;
