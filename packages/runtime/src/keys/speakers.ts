import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { BoxError } from '../errors.ts';
import type { Speaker, Speakers } from '../auth/user-tokens.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createKeyLookup } from './key-lookup.ts';
import type { KeyLookup } from './key-lookup.ts';
import { clientOf, requireActive, statusOf, toCaller } from './key-row.ts';
import type { KeyRow } from './key-row.ts';
import { apiKeys } from './table.ts';
import type { UserSecrets } from './user-secrets.ts';

export interface SpeakersOptions {
  db: Drizzle;
  keys: KeyLookup<KeyRow>;
  userSecrets: Pick<UserSecrets, 'read'>;
  onUse(keyId: string): void;
}

export interface ClientSpeakers extends Speakers {
  /** The newest key of the client that speaks for users and is good, as it was at most 3 s ago. */
  findRowOf(client: string): Promise<KeyRow | undefined>;
  /** A key of the client has changed, or is new. */
  forget(client: string): void;
}

/** The keys that speak for users: each by its id, and the newest of each client. */
export function createSpeakers({ db, keys, userSecrets, onUse }: SpeakersOptions): ClientSpeakers {
  const newest = createKeyLookup<{ id: string; row: KeyRow }>(async (clients) => {
    const rows = await db
      .select()
      .from(apiKeys)
      .where(
        and(
          eq(apiKeys.users, true),
          isNull(apiKeys.revokedAt),
          inArray(sql<string>`coalesce(${apiKeys.client}, ${apiKeys.id})`, clients),
        ),
      )
      .orderBy(asc(apiKeys.id));
    const active = rows.filter((row) => statusOf(row) === 'active');
    return Array.from(new Map(active.map((row) => [clientOf(row), row])), ([id, row]) => ({ id, row }));
  });
  const findRowOf = async (client: string): Promise<KeyRow | undefined> => {
    const row = (await newest.find(client))?.row;
    return row && statusOf(row) === 'active' ? row : undefined;
  };
  const toSpeaker = (row: KeyRow): Speaker => ({
    toCaller() {
      requireActive(row);
      if (!row.users) throw new BoxError('unauthorized', `The API key "${row.name}" does not speak for users.`);
      onUse(row.id);
      return toCaller(row);
    },
    readSecret: () => userSecrets.read(row.id),
  });
  return {
    findRowOf,
    forget: newest.forget,
    async findSpeaker(keyId) {
      const row = isKeyId(keyId) ? await keys.find(keyId) : undefined;
      return row?.users ? toSpeaker(row) : undefined;
    },
    async findSpeakerOf(client) {
      const row = await findRowOf(client);
      return row && toSpeaker(row);
    },
  };
}

// --- internal ---

/** What is not made here is not looked for. */
function isKeyId(text: string): boolean {
  return /^[\da-f]{20}$/.test(text);
}
