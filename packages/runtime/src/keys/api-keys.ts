import { timingSafeEqual } from 'node:crypto';
import { and, desc, eq, inArray, isNull, lt } from 'drizzle-orm';
import type { z } from 'zod';
import { BoxError } from '../errors.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { KeyLimits, Limited, Limits } from '../limits/limits.ts';
import type { Caller } from '../auth/caller.ts';
import type { Speakers } from '../auth/user-tokens.ts';
import { digestOfKey, keyIdOf, newKey } from '../auth/credential.ts';
import type { ApiKey, Grants, KeySecrets, RotatedKey, SessionScope } from './api-key.ts';
import {
  clientOf,
  keyNotActive,
  keyNotFound,
  requireActive,
  requireRotatable,
  toApiKey,
  toCaller,
  toLimited,
} from './key-row.ts';
import type { KeyRow } from './key-row.ts';
import { createKeyLookup } from './key-lookup.ts';
import { createKeyUse } from './key-use.ts';
import { createSpeakers } from './speakers.ts';
import { apiKeys } from './table.ts';
import type { UserSecrets } from './user-secrets.ts';

export interface NewKey {
  name: string;
  grants: Grants;
  /** Default: none. */
  limits?: KeyLimits | null;
  /** Default: itself. */
  client?: string;
  users?: boolean;
  sessions?: z.infer<typeof SessionScope>;
  /** Addresses and networks it may be used from. Default: anywhere. */
  addresses?: string[] | null;
  /** Null: it never expires. Default: as the workspace is set to, else never. */
  expiresAt?: Date | null;
  createdBy: string;
}

export interface KeyChange {
  name?: string;
  grants?: Partial<Grants>;
  limits?: KeyLimits | null;
  addresses?: string[] | null;
}

export interface ApiKeys extends Speakers {
  /** Newest first. Throws `invalid_cursor`. */
  list(page: { limit: number; cursor?: string }): Promise<{ items: ApiKey[]; nextCursor: string | null }>;
  /** What it is used with is shown here and never again. */
  create(key: NewKey): Promise<ApiKey & KeySecrets>;
  /** Throws `key_not_found`. */
  update(id: string, change: KeyChange): Promise<ApiKey>;
  /**
   * Makes a key like that one, of the same client: what is its is the new one's too. The old one is good for `overlapMs`,
   * or until its own end. The new one ends when the old one would have. Throws `key_not_found`, `key_not_active`.
   */
  rotate(id: string, how: { overlapMs: number; createdBy: string }): Promise<RotatedKey>;
  /** Throws `key_not_found`. Of a key that is revoked, nothing changes. */
  revoke(id: string): Promise<ApiKey>;
  /** Who holds the key. Throws `unauthorized` when it is unknown, revoked or expired. */
  verify(value: string): Promise<Caller>;
  /** Whether the box has made any, good or not. */
  hasAny(): Promise<boolean>;
  /** What it grants. Throws `unauthorized` when there is no such key, or it is revoked or expired. As it was at most 3 s ago. */
  requireKey(id: string): Promise<Grants>;
  /** The limits of the key of that id. Undefined: there is no such key. */
  findLimited(id: string): Promise<Limited | undefined>;
  /** Those of each user of the client. Undefined: it has no key that speaks for users. */
  findUserLimits(client: string): Promise<Limits | undefined>;
  close(): Promise<void>;
}

export interface ApiKeysOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  userSecrets: UserSecrets;
  /** How many days a key is good that is made without an end. Default, and undefined: it has none. */
  findDays?(): Promise<number | undefined>;
  /** Called with the id of a key that has changed here, or of which another replica says so. */
  onChange?(id: string): void;
}

/** A change is seen at once where a key-value store publishes it, and by any replica within 3 s. */
export function createApiKeys({
  db,
  kv,
  userSecrets,
  findDays = async () => undefined,
  onChange = () => {},
}: ApiKeysOptions): ApiKeys {
  const keys = createKeyLookup<KeyRow>((ids) => db.select().from(apiKeys).where(inArray(apiKeys.id, ids)));
  let isUsed = false;
  const use = createKeyUse(db);
  const speakers = createSpeakers({ db, keys, userSecrets, onUse: use.note });
  const forget = (id: string, client: string): void => {
    keys.forget(id);
    speakers.forget(client);
    onChange(id);
  };
  const listening = kv?.subscribe(TOPIC, (text) => {
    const [id = '', ...client] = text.split(' ');
    forget(id, client.join(' '));
  });
  const changed = async (id: string, row: KeyRow | undefined): Promise<ApiKey> => {
    if (!row) throw keyNotFound(id);
    forget(id, clientOf(row));
    // Unheard, the others find out by themselves.
    await kv?.publish(TOPIC, `${id} ${clientOf(row)}`).catch(() => {});
    return toApiKey(row);
  };

  /** Both in one commit: no crash leaves an old key that ends, and no new one. */
  const insert = async (
    values: Omit<typeof apiKeys.$inferInsert, 'id' | 'digest'>,
    old?: { id: string; end: Date },
  ) => {
    const { id, value } = newKey();
    const makeSecret = values.users ? await userSecrets.open() : undefined;
    const made = await db.transaction(async (tx) => {
      if (old) await requireUpdated(tx as Drizzle, old);
      const [row] = await tx
        .insert(apiKeys)
        .values({ ...values, id, digest: digestOfKey(value) })
        .returning();
      return { row, userSecret: (await makeSecret?.(tx as Drizzle, id)) ?? null };
    });
    return { ...(await changed(id, made.row)), value, userSecret: made.userSecret };
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
    async create({ grants, expiresAt, ...given }) {
      return insert({ ...grants, ...given, expiresAt: expiresAt === undefined ? toEnd(await findDays()) : expiresAt });
    },
    async rotate(id, { overlapMs, createdBy }) {
      const [row] = await db.select().from(apiKeys).where(eq(apiKeys.id, id));
      requireRotatable(id, row);
      const { name, agents, workflows, limits, addresses, users, sessions, expiresAt } = row;
      const end = new Date(Math.min(Date.now() + overlapMs, expiresAt?.getTime() ?? Infinity));
      const copied = { name, agents, workflows, limits, addresses, users, sessions, expiresAt };
      const made = await insert({ ...copied, client: clientOf(row), createdBy }, { id, end });
      await changed(id, { ...row, expiresAt: end });
      return { ...made, replaces: { id, expiresAt: end.toISOString() } };
    },
    async update(id, { grants, ...rest }) {
      const change = { ...rest, ...grants };
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
      requireActive(row);
      use.note(row.id);
      return toCaller(row);
    },
    async hasAny() {
      // No key is ever deleted: once there is one, there is.
      isUsed ||= (await db.select({ id: apiKeys.id }).from(apiKeys).limit(1)).length > 0;
      return isUsed;
    },
    async requireKey(id) {
      const { agents, workflows } = requireGood(await keys.find(id));
      return { agents, workflows };
    },
    async findLimited(id) {
      const row = await keys.find(id);
      return row && toLimited(row);
    },
    async findUserLimits(client) {
      const row = await speakers.findRowOf(client);
      return row && (row.limits?.users ?? {});
    },
    findSpeaker: speakers.findSpeaker,
    findSpeakerOf: speakers.findSpeakerOf,
    async close() {
      (await listening)?.();
      await use.settled();
    },
  };
}

// --- internal ---

function requireGood(row: KeyRow | undefined): KeyRow {
  if (!row) throw unknownKey();
  requireActive(row);
  return row;
}

const TOPIC = 'api-keys';
const DAY_MS = 86_400_000;

/** Throws where it has been revoked meanwhile. Of two rotations at once each makes a key. */
async function requireUpdated(tx: Drizzle, { id, end }: { id: string; end: Date }): Promise<void> {
  const [row] = await tx
    .update(apiKeys)
    .set({ expiresAt: end })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
    .returning();
  if (!row) throw keyNotActive(id, 'revoked');
}

function toEnd(days: number | undefined): Date | null {
  return days === undefined ? null : new Date(Date.now() + days * DAY_MS);
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}

/** The same for an id that is unknown and a value that is wrong. */
function unknownKey(): BoxError {
  return new BoxError('unauthorized', 'The API key is not one of this box.');
}
