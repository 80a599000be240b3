import { createSecretKey, randomBytes } from 'node:crypto';
import { and, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkCanary } from '../secrets/canary.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { StoreClient } from './client.ts';
import { migrate, openDatabase } from './database.ts';
import type { Database } from './database.ts';
import { ensureInstallation } from './installation.ts';
import { secrets } from '../secrets/table.ts';
import { settings } from './table.ts';

/** Migrations, drizzle and sealed rows: the same on every home. The caller opens and closes the client. */
export function describeDatabase(name: string, getClient: () => StoreClient): void {
  let database: Database;
  beforeAll(() => {
    database = openDatabase(getClient());
  });

  describe(`database on ${name}`, () => {
    it('answers a query made before it is open and migrated', async () => {
      expect(await database.db.select().from(settings)).toEqual([]);
    });

    it('runs several boots at once on one database', async () => {
      await Promise.all([migrate(getClient()), migrate(getClient()), migrate(getClient())]);
      const rows = await getClient().query<{ hash: string }>('select hash from svc.migrations');
      expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length);
    });

    it('has the vector extension', async () => {
      expect(await getClient().query(`select '[3,4]'::vector <-> '[0,0]'::vector as distance`)).toEqual([
        { distance: 5 },
      ]);
    });

    it('maps columns both ways through drizzle', async () => {
      const updatedAt = new Date('2026-01-02T03:04:05.678Z');
      await database.db.insert(settings).values({ key: 'map', value: ['a', { b: 1 }], updatedAt });
      const [row] = await database.db.select().from(settings).where(eq(settings.key, 'map'));
      expect(row).toEqual({ key: 'map', value: ['a', { b: 1 }], updatedAt });
    });

    it('counts, and executes raw statements, through drizzle', async () => {
      expect(await database.db.$count(settings, eq(settings.key, 'map'))).toBe(1);
      expect(await database.db.execute(sql`select ${41}::int + 1 as answer`)).toEqual([{ answer: 42 }]);
    });

    it('names the broken rule when a drizzle query fails', async () => {
      const insert = database.db.insert(settings).values({ key: 'map', value: 1 });
      await expect(insert.execute()).rejects.toMatchObject({ cause: { code: '23505', constraint: 'settings_pkey' } });
    });

    it('commits and rolls back drizzle transactions', async () => {
      await database.db.transaction((tx) => tx.insert(settings).values({ key: 'kept', value: 1 }), {
        isolationLevel: 'serializable',
      });
      const failing = database.db.transaction(async (tx) => {
        await tx.insert(settings).values({ key: 'lost', value: 1 });
        tx.rollback();
      });
      await expect(failing).rejects.toThrow('Rollback');
      expect(await database.db.$count(settings, eq(settings.key, 'kept'))).toBe(1);
      expect(await database.db.$count(settings, eq(settings.key, 'lost'))).toBe(0);
    });

    it('undoes only the inner one of two nested drizzle transactions', async () => {
      await database.db.transaction(async (tx) => {
        await tx.insert(settings).values({ key: 'outer', value: 1 });
        const inner = tx.transaction(async (nested) => {
          await nested.insert(settings).values({ key: 'inner', value: 1 });
          throw new Error('inner fails');
        });
        await expect(inner).rejects.toThrow('inner fails');
      });
      expect(await database.db.$count(settings, eq(settings.key, 'outer'))).toBe(1);
      expect(await database.db.$count(settings, eq(settings.key, 'inner'))).toBe(0);
    });

    it('keeps one identity, made by the first who asks', async () => {
      const made = await Promise.all([ensureInstallation(database.db), ensureInstallation(database.db)]);
      expect(made[0].id).toMatch(/^[0-9a-f-]{36}$/);
      expect(made[1].id).toBe(made[0].id);
      await expect(getClient().exec('insert into svc.installation default values')).rejects.toMatchObject({
        code: '23505',
      });
    });

    it('refuses a database that a newer build has migrated', async () => {
      await getClient().query('insert into svc.migrations (hash) values ($1)', ['of-tomorrow']);
      await expect(openDatabase(getClient()).ready).rejects.toMatchObject({ code: 'database_newer' });
      const behind = openDatabase(getClient()).db.select().from(settings);
      await expect(behind.execute()).rejects.toMatchObject({ cause: { code: 'database_newer' } });
      await getClient().query('delete from svc.migrations where hash = $1', ['of-tomorrow']);
    });
  });

  describe(`secrets on ${name}`, () => {
    const key = createKey('aaaa');
    let installation: string;
    const store = (owner?: string) => createSecretStore({ db: database.db, key, installation, owner });
    beforeAll(async () => {
      installation = (await ensureInstallation(database.db)).id;
    });
    afterAll(() => database.db.delete(secrets).execute());

    it('gives back what was set, and nothing for another name', async () => {
      await store().set('token', 'first');
      await store().set('token', 'second: ü');
      expect(await store().get('token')).toBe('second: ü');
      expect(await store().get('other')).toBeUndefined();
      expect(await store().has('token')).toBe(true);
      expect(await store().has('other')).toBe(false);
    });

    it('keeps the secrets of two owners apart', async () => {
      await store('project').set('token', 'theirs');
      expect(await store().get('token')).toBe('second: ü');
      expect(await store('project').get('token')).toBe('theirs');
    });

    it('stores no readable value', async () => {
      const rows = await getClient().query<{ sealed: object }>('select sealed from svc.secrets');
      expect(JSON.stringify(rows)).not.toContain('second');
      expect(Object.keys(rows[0]?.sealed ?? {}).sort()).toEqual(['data', 'iv', 'kid', 'tag', 'v', 'wrappedKey']);
    });

    it('lets the last of many sets at once win whole', async () => {
      await Promise.all(['a', 'b', 'c', 'd'].map((value) => store().set('raced', value)));
      expect(['a', 'b', 'c', 'd']).toContain(await store().get('raced'));
    });

    it('does not open a row copied to another name, owner or version', async () => {
      await getClient().exec(`
        insert into svc.secrets (owner, name, version, sealed)
          select owner, 'copied', version, sealed from svc.secrets where owner = 'system' and name = 'token';
        insert into svc.secrets (owner, name, version, sealed)
          select 'thief', name, version, sealed from svc.secrets where owner = 'system' and name = 'token';
        update svc.secrets set version = version + 1 where owner = 'project'`);
      await expect(store().get('copied')).rejects.toMatchObject({ code: 'secret_unreadable' });
      await expect(store('thief').get('token')).rejects.toMatchObject({ code: 'secret_unreadable' });
      await expect(store('project').get('token')).rejects.toMatchObject({ code: 'secret_unreadable' });
    });

    it('says whether there was a secret to delete', async () => {
      expect(await store().delete('token')).toBe(true);
      expect(await store().delete('token')).toBe(false);
      expect(await store().get('token')).toBeUndefined();
    });

    it('refuses to start with another master key than before, naming the variable', async () => {
      await Promise.all([checkCanary(database.db, key, installation), checkCanary(database.db, key, installation)]);
      const start = checkCanary(database.db, createKey('bbbb'), installation);
      await expect(start).rejects.toMatchObject({ code: 'secret_key_wrong' });
      await expect(start).rejects.toThrow(/^SVC_SECRET_KEY is not the key/);
    });

    it('refuses a key that only pretends to be the one before', async () => {
      await expect(checkCanary(database.db, createKey('aaaa'), installation)).rejects.toMatchObject({
        code: 'secret_unreadable',
      });
    });

    it('keeps the canary out of the names of the system', async () => {
      const where = and(eq(secrets.owner, 'system'), eq(secrets.name, 'canary'));
      expect(await database.db.$count(secrets, where)).toBe(0);
    });
  });
}

// --- internal ---

function createKey(kid: string): MasterKey {
  return { key: createSecretKey(randomBytes(32)), kid };
}
