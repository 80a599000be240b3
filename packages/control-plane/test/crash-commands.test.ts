import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { backUpToFile } from '../src/backup-file.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { addInstallation, mint, readToken } from './_box.ts';
import { addPerson, ask, logIn, signUpFirst } from './_people.ts';
import { makeFolder, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import { canDie, dieAtEachWrite, Victim } from './_victim.ts';

type Env = Record<string, string>;

function toFull(env: Env): FullSettings {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  if (!full) throw new Error('The full mode has a store.');
  return full;
}

/** What is in the store, read beside whoever has it. */
async function read<Row>(env: Env, query: ReturnType<typeof sql>): Promise<Row[]> {
  const db = await openStore(toFull(env), { beside: 'read' });
  return db.all<Row>(query).finally(() => db.close());
}

interface KeyRow {
  kid: string;
  activeAt: number | null;
  retiredAt: number | null;
}

const readKeys = (env: Env) =>
  read<KeyRow>(env, sql`select kid, active_at, retired_at from plane_signing_keys order by created_at, kid`);

describeWhen(await canDie(), 'a command that dies at any write', () => {
  test.each(STORES)(
    'leaves the keys as they were, or rotated, on %s, and a control plane beside it signs all the while',
    async (store) => {
      const env = await makeStore(store);
      const plane = await startPlane({ env });
      const ada = await signUpFirst(plane);
      const id = await addInstallation(plane, ada.cookie);
      for (const args of [['rotate-keys'], ['rotate-keys', '--revoke']]) {
        const before = await readKeys(env);
        const deaths = await dieAtEachWrite(env, args, async () => {
          expect(await readKeys(env)).toStrictEqual(before);
          expect(readToken(await mint(plane, id, ada)).payload).toMatchObject({ inst: id });
        });
        expect(deaths).toBeGreaterThanOrEqual(3);
        const after = await readKeys(env);
        expect(after.filter(({ activeAt, retiredAt }) => activeAt !== null && retiredAt === null)).toHaveLength(1);
        const stay = before.filter(({ kid }) => after.some((one) => one.kid === kid));
        expect(stay).toHaveLength(args.length === 1 ? before.length : 0);
      }
      const rows = await read<{ action: string }>(
        env,
        sql`select action from plane_audit where actor = ${'operator'} order by id`,
      );
      expect(rows.map(({ action }) => action)).toStrictEqual(['keys.rotate', 'keys.revoke']);
    },
    300_000,
  );

  test.each(STORES)(
    'restores all of a backup to %s, or nothing',
    async (store) => {
      const env = await makeStore(store);
      const plane = await startPlane({ env });
      const ada = await signUpFirst(plane);
      await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
      const file = join(makeFolder(), 'plane.backup');
      const rows = await backUpToFile(toFull(env), file);
      expect(readFileSync(file, 'utf8').split('\n').length).toBeGreaterThan(rows);
      await plane.close();
      const target = await makeStore(store);
      const count = async () =>
        (await read<{ n: number }>(target, sql`select count(*) as n from plane_users`).catch(() => [{ n: 0 }]))[0]?.n;
      const deaths = await dieAtEachWrite(
        target,
        ['restore', file],
        async () => expect(Number(await count())).toBe(0),
        4,
      );
      expect(deaths).toBeGreaterThan(3);
      const restored = await startPlane({ env: target });
      expect((await logIn(restored, ada.email)).status).toBe(200);
      expect((await logIn(restored, 'bo@example.com')).status).toBe(200);
    },
    300_000,
  );

  test.each(STORES)(
    'makes a personal token that is listed and good on %s, or none',
    async (store) => {
      const plane = new Victim(await makeStore(store));
      await plane.start();
      const ada = await signUpFirst(plane);
      const list = async () => (await ask(plane, 'GET /api/v1/tokens', ada)).body.items as { name: string }[];
      const countRows = async () => {
        const { items } = (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, ada)).body;
        return items.filter(({ action }: { action: string }) => action === 'tokens.create').length;
      };
      let token = '';
      const deaths = await plane.dieAtEach(
        async () => {
          const answer = await ask(plane, 'POST /api/v1/tokens', {
            ...ada,
            body: { name: 'ci', role: 'viewer', days: 1 },
          });
          token = answer.body?.token;
          return answer;
        },
        async () => expect([await list(), await countRows()]).toStrictEqual([[], 0]),
      );
      expect(deaths).toBeGreaterThanOrEqual(3);
      expect([(await list()).map(({ name }) => name), await countRows()]).toStrictEqual([['ci'], 1]);
      expect((await ask(plane, 'GET /api/v1/installations', { token })).status).toBe(200);
    },
    300_000,
  );
});
