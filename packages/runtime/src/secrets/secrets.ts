import { and, asc, eq, gt, inArray } from 'drizzle-orm';
import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { secrets } from './table.ts';
import { seal, unseal } from './seal.ts';
import type { MasterKey, SealPlace } from './seal.ts';

/** A secret as every surface shows it: never its value. */
export const Secret = z.object({
  name: z.string(),
  owner: z.literal('workspace'),
  version: z.int().describe('1 when it is set, and one more with every rotation'),
  keyId: z.string().describe('Which SVC_SECRET_KEY it is encrypted with: the beginning of the SHA-256 of the key'),
  setAt: z.iso.datetime(),
  setBy: z.string().nullable(),
  lastUsedAt: z.iso.datetime().nullable().describe('When code last read it, to the minute'),
});
export type Secret = z.infer<typeof Secret>;

/** The secrets of the workspace. Those of the box itself have other owners and are not among them. */
export interface Secrets {
  /** By name. Throws `invalid_cursor`. */
  list(page: { limit: number; cursor?: string }): Promise<{ items: Secret[]; nextCursor: string | null }>;
  find(name: string): Promise<Secret | undefined>;
  /** Those of the names that are not set, in their order. */
  missing(names: readonly string[]): Promise<string[]>;
  /** Throws `secret_exists`: a value is written once, and replaced by `rotate`. */
  create(name: string, value: string, by: string): Promise<Secret>;
  /** Throws `secret_not_found`. */
  rotate(name: string, value: string, by: string): Promise<Secret>;
  /** Throws `secret_not_found`. */
  delete(name: string): Promise<void>;
  /** The value, for code of the workspace. Throws `secret_not_found`. */
  read(name: string): Promise<string>;
  close(): Promise<void>;
}

export interface SecretsOptions {
  db: Drizzle;
  key: MasterKey;
  /** The id of the installation's row: what values are sealed for. */
  installation(): Promise<string>;
  /** Nothing has been written to the store, so there is no secret in it. */
  isBlank?(): boolean;
}

export function createSecrets({ db, key, installation, isBlank = () => false }: SecretsOptions): Secrets {
  const noted = new Map<string, number>();
  const noting = new Set<Promise<unknown>>();

  const placeOf = async (name: string, version: number): Promise<SealPlace> => {
    return { table: 'secrets', installation: await installation(), name: `${OWNER}/${name}`, version };
  };
  const findRow = async (name: string): Promise<Row | undefined> => {
    if (isBlank()) return undefined;
    const [row] = await db.select().from(secrets).where(at(name));
    return row;
  };
  const noteUse = (name: string): void => {
    const now = performance.now();
    if (now - (noted.get(name) ?? -Infinity) < NOTE_MS) return;
    noted.set(name, now);
    const note = db
      .update(secrets)
      .set({ lastUsedAt: new Date() })
      .where(at(name))
      .catch(() => noted.delete(name))
      .finally(() => noting.delete(note));
    noting.add(note);
  };

  return {
    async list({ limit, cursor }) {
      const after = cursor === undefined ? undefined : gt(secrets.name, parseIdCursor(cursor));
      const rows = await db
        .select()
        .from(secrets)
        .where(and(eq(secrets.owner, OWNER), after))
        .orderBy(asc(secrets.name))
        .limit(limit + 1);
      const items = rows.slice(0, limit).map(toSecret);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { items, nextCursor: last ? toIdCursor(last.name) : null };
    },
    async find(name) {
      const row = await findRow(name);
      return row && toSecret(row);
    },
    async missing(names) {
      if (names.length === 0 || isBlank()) return [...names];
      const rows = await db
        .select({ name: secrets.name })
        .from(secrets)
        .where(and(eq(secrets.owner, OWNER), inArray(secrets.name, [...names])));
      return names.filter((name) => !rows.some((row) => row.name === name));
    },
    async create(name, value, by) {
      const sealed = seal(key, await placeOf(name, 1), value);
      const [row] = await db
        .insert(secrets)
        .values({ owner: OWNER, name, version: 1, sealed, setBy: by })
        .onConflictDoNothing()
        .returning();
      if (row) return toSecret(row);
      throw new BoxError(
        'secret_exists',
        `There is a secret "${name}". Replace its value with POST /api/secrets/${name}/rotate.`,
      );
    },
    async rotate(name, value, by) {
      // The version is part of what the value is sealed for: a rotation that lost a race seals again.
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const before = await findRow(name);
        if (!before) throw secretNotFound(name);
        const version = before.version + 1;
        const [row] = await db
          .update(secrets)
          .set({ version, sealed: seal(key, await placeOf(name, version), value), setBy: by, setAt: new Date() })
          .where(and(at(name), eq(secrets.version, before.version)))
          .returning();
        if (row) return toSecret(row);
      }
      throw new BoxError('store_unavailable', `The secret "${name}" is being rotated by many callers. Try again.`);
    },
    async delete(name) {
      const rows = await db.delete(secrets).where(at(name)).returning({ name: secrets.name });
      if (rows.length === 0) throw secretNotFound(name);
      noted.delete(name);
    },
    async read(name) {
      const row = await findRow(name);
      if (!row) throw secretNotFound(name);
      const value = unseal(key, await placeOf(name, row.version), row.sealed);
      noteUse(name);
      return value;
    },
    async close() {
      await Promise.all(noting);
    },
  };
}

export function secretNotFound(name: string): BoxError {
  return new BoxError('secret_not_found', `There is no secret "${name}". Set it with PUT /api/secrets/${name}.`);
}

// --- internal ---

type Row = typeof secrets.$inferSelect;

const OWNER = 'workspace';
const ATTEMPTS = 20;
const NOTE_MS = 60_000;

function at(name: string) {
  return and(eq(secrets.owner, OWNER), eq(secrets.name, name));
}

function toSecret({ name, version, sealed, setAt, setBy, lastUsedAt }: Row): Secret {
  return {
    name,
    owner: OWNER,
    version,
    keyId: sealed.kid,
    setAt: setAt.toISOString(),
    setBy,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
