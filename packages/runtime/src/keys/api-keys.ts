import { timingSafeEqual } from 'node:crypto';
import { and, desc, eq, inArray, isNull, lt } from 'drizzle-orm';
import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { apiKeys } from './table.ts';
import type { Caller } from '../auth/caller.ts';
import { digestOfKey, KEY_PREFIX, keyIdOf, newKey } from '../auth/credential.ts';
import { createKeyLookup } from './key-lookup.ts';

const Granted = z
  .union([z.literal('all'), z.array(z.string().min(1).max(256)).max(1_000)])
  .describe('Names, or "all" for every one there is and will be');

export const Grants = z.strictObject({ agents: Granted.default([]), workflows: Granted.default([]) });
export type Grants = z.infer<typeof Grants>;

/** A key as every surface shows it: never its value. */
export const ApiKey = z.object({
  id: z.string(),
  prefix: z.string().describe('What its value begins with'),
  name: z.string(),
  grants: z.object({ agents: Granted, workflows: Granted }),
  status: z.enum(['active', 'expired', 'revoked']),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
  lastUsedAt: z.iso.datetime().nullable().describe('To the minute'),
});
export type ApiKey = z.infer<typeof ApiKey>;

export interface NewKey {
  name: string;
  grants: Grants;
  /** Null: it never expires. */
  expiresAt: Date | null;
  createdBy: string;
}

export interface ApiKeys {
  /** Newest first. Throws `invalid_cursor`. */
  list(page: { limit: number; cursor?: string }): Promise<{ items: ApiKey[]; nextCursor: string | null }>;
  /** `value` is shown here and never again. */
  create(key: NewKey): Promise<ApiKey & { value: string }>;
  /** Throws `key_not_found`. */
  update(id: string, change: { name?: string; grants?: Partial<Grants> }): Promise<ApiKey>;
  /** Throws `key_not_found`. Of a key that is revoked, nothing changes. */
  revoke(id: string): Promise<ApiKey>;
  /** Who holds the key. Throws `unauthorized` when it is unknown, revoked or expired. */
  verify(value: string): Promise<Caller>;
  close(): Promise<void>;
}

/** A change is seen at once where a key-value store publishes it, and by any replica within 3 s. */
export function createApiKeys({ db, kv }: { db: Drizzle; kv?: KeyValueStore | undefined }): ApiKeys {
  const keys = createKeyLookup<Row>((ids) => db.select().from(apiKeys).where(inArray(apiKeys.id, ids)));
  const noted = new Map<string, number>();
  const noting = new Set<Promise<unknown>>();
  const listening = kv?.subscribe(TOPIC, (id) => keys.forget(id));

  const noteUse = (id: string): void => {
    const now = performance.now();
    if (now - (noted.get(id) ?? -Infinity) < NOTE_MS) return;
    if (noted.size >= MAX_KNOWN) noted.clear();
    noted.set(id, now);
    const note = db
      .update(apiKeys)
      .set({ lastUsedAt: new Date() })
      .where(eq(apiKeys.id, id))
      .catch(() => {})
      .finally(() => noting.delete(note));
    noting.add(note);
  };
  const changed = async (id: string, row: Row | undefined): Promise<ApiKey> => {
    if (!row) throw new BoxError('key_not_found', `There is no API key "${id}".`);
    keys.forget(id);
    // Unheard, the others find out by themselves.
    await kv?.publish(TOPIC, id).catch(() => {});
    return toApiKey(row);
  };

  return {
    async list({ limit, cursor }) {
      const before = cursor === undefined ? undefined : lt(apiKeys.id, parseIdCursor(cursor));
      const rows = await db
        .select()
        .from(apiKeys)
        .where(before)
        .orderBy(desc(apiKeys.id))
        .limit(limit + 1);
      const items = rows.slice(0, limit).map(toApiKey);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { items, nextCursor: last ? toIdCursor(last.id) : null };
    },
    async create({ name, grants, expiresAt, createdBy }) {
      const { id, value } = newKey();
      const digest = digestOfKey(value);
      const [row] = await db
        .insert(apiKeys)
        .values({ id, name, digest, ...grants, expiresAt, createdBy })
        .returning();
      return { ...(await changed(id, row)), value };
    },
    async update(id, { name, grants }) {
      const change = { ...(name === undefined ? {} : { name }), ...grants };
      if (Object.keys(change).length === 0) return changed(id, await keys.find(id));
      const [row] = await db.update(apiKeys).set(change).where(eq(apiKeys.id, id)).returning();
      return changed(id, row);
    },
    async revoke(id) {
      await db
        .update(apiKeys)
        .set({ revokedAt: new Date() })
        .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
      const [row] = await db.select().from(apiKeys).where(eq(apiKeys.id, id));
      return changed(id, row);
    },
    async verify(value) {
      const id = keyIdOf(value);
      const row = id === undefined ? undefined : await keys.find(id);
      if (!row || !isSame(row.digest, digestOfKey(value))) throw unknownKey();
      const status = statusOf(row);
      if (status !== 'active') throw new BoxError('unauthorized', `The API key "${row.name}" is ${status}.`);
      noteUse(row.id);
      const { agents, workflows } = row;
      return { kind: 'key', role: null, id: `key ${row.id}`, name: nameOf(row), grants: { agents, workflows } };
    },
    async close() {
      (await listening)?.();
      await Promise.all(noting);
    },
  };
}

// --- internal ---

type Row = typeof apiKeys.$inferSelect;

const NOTE_MS = 60_000;
const MAX_KNOWN = 10_000;
const TOPIC = 'api-keys';

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}

/** The same for an id that is unknown and a value that is wrong. */
function unknownKey(): BoxError {
  return new BoxError('unauthorized', 'The API key is not one of this box.');
}

function nameOf({ id, name }: Row): string {
  return `API key "${name}" (${KEY_PREFIX}${id})`;
}

function statusOf({ revokedAt, expiresAt }: Row): ApiKey['status'] {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active';
}

function toApiKey(row: Row): ApiKey {
  const { id, name, agents, workflows, createdBy } = row;
  const toText = (date: Date | null) => date?.toISOString() ?? null;
  return {
    id,
    prefix: `${KEY_PREFIX}${id}`,
    name,
    grants: { agents, workflows },
    status: statusOf(row),
    createdBy,
    createdAt: row.createdAt.toISOString(),
    expiresAt: toText(row.expiresAt),
    revokedAt: toText(row.revokedAt),
    lastUsedAt: toText(row.lastUsedAt),
  };
}
