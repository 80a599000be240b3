import { describe, expect, test } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { backUp } from '../src/backup.ts';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { resetPassword } from '../src/recovery.ts';
import type { Db } from '../src/store/db.ts';
import { LEAST_KNOWN, MIGRATIONS } from '../src/store/migrations.ts';
import { raw, sql } from '../src/store/sql.ts';
import { addInstallation, askBox, mint, openBox } from './_box.ts';
import { refresh, signInCli } from './_oauth.ts';
import { addPerson, ask, cookieOf, logIn, signUpFirst } from './_people.ts';
import { makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

const boxes = setupBoxes();
const SECRET = 'f'.repeat(64);

/** What a later version does to the tables as it starts. `least`: how many migrations it takes to serve beside it. */
const LATER = { number: MIGRATIONS.length + 2, least: LEAST_KNOWN };

function placeOf(env: Record<string, string>) {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  if (!full) throw new Error('The full mode has a store.');
  return full;
}

async function migrateLater(db: Db, { least }: { least: number }): Promise<void> {
  const statements = [
    'create table plane_later (id text primary key, user_id text not null references plane_users (id) on delete cascade)',
    'create index plane_later_user on plane_later (user_id)',
    ...['users', 'sessions', 'members', 'deployments', 'invites'].map(
      (table) => `alter table plane_${table} add column later text`,
    ),
  ];
  for (const text of statements) await (db.dialect === 'sqlite' ? db.run : db.all)(sql`${raw(text)}`);
  await db.run(
    sql`insert into plane_migrations (number, applied_at, least) values (${LATER.number}, ${Date.now()}, ${least})`,
  );
}

/** What people, command lines and boxes ask a control plane for. */
async function useAll(plane: RunningPlane, { name, cli }: { name: string; cli: { refresh_token: string } }) {
  const signedIn = await logIn(plane, 'ada@example.com');
  const [cookie, organizationId] = [cookieOf(signedIn), signedIn.body.organization.id];
  const bo = await addPerson(plane, { cookie, organizationId }, { email: `${name}@example.com`, role: 'member' });
  const id = await addInstallation(plane, cookie, name);
  const registration = { installationId: id, hmacSecret: SECRET };
  const box = await openBox(boxes, { issuer: plane.url, installationId: id, registration });
  const linked = await ask(plane, `POST /api/v1/installations/${id}/deployments`, {
    cookie,
    body: { url: await box.listen(), hmacSecret: SECRET, imageTag: 'shop:1' },
  });
  const renewed = await refresh(plane, cli.refresh_token);
  const ended = await ask(plane, `DELETE /api/v1/orgs/${organizationId}/members/${bo.userId}`, { cookie });
  return {
    statuses: [
      linked.status,
      (await askBox(box, await mint(plane, id, { cookie }))).status,
      renewed.status,
      ended.status,
    ],
    cli: renewed.body as { refresh_token: string },
  };
}

describe('a migration', () => {
  /** What an earlier version that serves on the same database does not meet. */
  const ADDS = [
    /^create table \w+ \(/,
    /^create index /,
    /^alter table \w+ add column \w+ (?:text|integer|bigint)(?: default \S+| not null default \S+)?$/,
  ];

  test.each(MIGRATIONS.slice(LEAST_KNOWN).map((text, at) => [LEAST_KNOWN + at + 1, text] as const))(
    '%i only adds: what takes something away raises LEAST_KNOWN',
    (_, text) => {
      for (const statement of text.split(';').map((one) => one.trim())) {
        if (statement === '') continue;
        expect([statement, ADDS.some((one) => one.test(statement))]).toStrictEqual([statement, true]);
        // A row that earlier versions delete takes along what refers to it.
        expect(statement.replace(/ on delete (?:cascade|set null)/g, '!')).not.toMatch(/references \w+ \(\w+\)(?!!)/);
      }
    },
  );

  test('that is the last has said which versions may serve', async () => {
    expect(LEAST_KNOWN).toBeLessThanOrEqual(MIGRATIONS.length);
    const db = await openStore(placeOf(await makeStore('sqlite')));
    const rows = await db.all(sql`select number, least from plane_migrations order by number desc limit 2`);
    await db.close();
    expect(rows).toMatchObject([{ number: MIGRATIONS.length, least: LEAST_KNOWN }, { least: null }]);
  });
});

describeWhen(realServers.database, 'a later version on the same PostgreSQL', () => {
  test('leaves an earlier one that serves as it was, and one that is started again', async () => {
    const env = await makeStore('postgres');
    const earlier = await startPlane({ env });
    const ada = await signUpFirst(earlier);
    const cli = await signInCli(earlier, ada);
    const db = await openStore(placeOf(env));
    await migrateLater(db, LATER);
    await db.close();
    const served = await useAll(earlier, { name: 'one', cli });
    expect(served.statuses).toStrictEqual([200, 200, 200, 204]);
    // As a pod of the version before is, while it is rolled out or when that is taken back.
    const again = await startPlane({ env });
    const both = await useAll(again, { name: 'two', cli: served.cli });
    expect(both.statuses).toStrictEqual([200, 200, 200, 204]);
    expect((await ask(earlier, 'GET /api/v1/me', ada)).status).toBe(200);
  });
});

describe.each(STORES)('a database on %s that a later version has written', (store) => {
  async function makeLater(later: { least: number }) {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    await plane.close();
    const db = await openStore(placeOf(env));
    await migrateLater(db, later);
    await db.close();
    return { env, ada };
  }

  test('is served by an earlier one where that version only adds, and helped beside it; a backup is that version’s', async () => {
    const { env, ada } = await makeLater(LATER);
    const plane = await startPlane({ env });
    expect((await ask(plane, 'GET /api/v1/me', ada)).status).toBe(200);
    const { password } = await resetPassword(placeOf(env), ada.email);
    expect((await logIn(plane, ada.email, password)).status).toBe(200);
    const db = await openStore(placeOf(env), { beside: 'read' });
    await expect(backUp(db, Date.now(), async () => async () => {})).rejects.toMatchObject({ code: 'database_newer' });
    await db.close();
  });

  test('is refused in words by one that knows too little', async () => {
    const { env, ada } = await makeLater({ least: LATER.number });
    await expect(startPlane({ env })).rejects.toMatchObject({ code: 'database_newer' });
    await expect(resetPassword(placeOf(env), ada.email)).rejects.toMatchObject({ code: 'database_newer' });
  });
});
