import { describe, expect, test } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { resetPassword, rotateKeys } from '../src/recovery.ts';
import { sql } from '../src/store/sql.ts';
import { addInstallation, askBox, mint, openBox, readToken } from './_box.ts';
import { ask, cookieOf, logIn, signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane, StoreName } from './_setup.ts';

const boxes = setupBoxes();
const MINUTE = 60_000;

async function start(store: StoreName) {
  const clock = makeClock();
  const env = await makeStore(store);
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  const plane = await startPlane({ env, now: clock.now });
  const ada = await signUpFirst(plane);
  return { clock, plane, ada, full: full as FullSettings };
}

const readKids = async (plane: RunningPlane) =>
  ((await ask(plane, 'GET /.well-known/jwks.json')).body.keys as { kid: string }[]).map(({ kid }) => kid);

describe.each(STORES)('beside a control plane that runs on %s', (store) => {
  test('a password is reset: the old one and what was signed in with it are good no more', async () => {
    const { plane, ada, full } = await start(store);
    const { password } = await resetPassword(full, ' ADA@example.com ');
    expect((await ask(plane, 'GET /api/v1/me', { cookie: ada.cookie })).status).toBe(401);
    const again = await logIn(plane, 'ada@example.com', password);
    expect(again.status).toBe(200);
    const log = await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, { cookie: cookieOf(again) });
    expect(log.body.items).toContainEqual(
      expect.objectContaining({ action: 'auth.password_reset', actor: 'operator', target: 'ada@example.com' }),
    );
    for (const email of ['bo@example.com', '', 'no address'])
      await expect(resetPassword(full, email)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('the next key signs, what the one before has signed stays good, and a box is never in doubt', async () => {
    const { clock, plane, ada, full } = await start(store);
    const id = await addInstallation(plane, ada.cookie);
    const box = await openBox(boxes, { issuer: plane.url, installationId: id, now: clock.now });
    const before = await mint(plane, id, ada);
    expect((await askBox(box, before)).status).toBe(200);
    const kids = await readKids(plane);
    const { kid, removed } = await rotateKeys(full, { revoke: false });
    expect([kids.includes(kid), removed]).toEqual([true, []]);
    clock.move(MINUTE);
    const after = await mint(plane, id, ada);
    expect(readToken(after).header.kid).toBe(kid);
    expect([(await askBox(box, before)).status, (await askBox(box, after)).status]).toEqual([200, 200]);
    expect(await readKids(plane)).toHaveLength(3);
    await rotateKeys(full, { revoke: false });
    await expect(rotateKeys(full, { revoke: false })).rejects.toMatchObject({ code: 'limit_reached' });
  });

  test('keys that have leaked are revoked: what they have signed is refused once a box reads the set', async () => {
    const { clock, plane, ada, full } = await start(store);
    const id = await addInstallation(plane, ada.cookie);
    const box = await openBox(boxes, { issuer: plane.url, installationId: id, now: clock.now });
    const leaked = await mint(plane, id, ada);
    expect((await askBox(box, leaked)).status).toBe(200);
    const kids = await readKids(plane);
    const { kid, removed } = await rotateKeys(full, { revoke: true });
    expect(removed.toSorted()).toEqual(kids.toSorted());
    clock.move(MINUTE);
    const fresh = await mint(plane, id, ada);
    expect(readToken(fresh).header.kid).toBe(kid);
    expect((await askBox(box, fresh)).status).toBe(200);
    expect(await askBox(box, leaked)).toMatchObject({ status: 401 });
  });
});

test('nothing is written beside a database of another version, or under another key', async () => {
  const { full } = await start('sqlite');
  const other = { ...full, secretKey: Buffer.alloc(32, 9).toString('base64') };
  await expect(rotateKeys(other, { revoke: true })).rejects.toMatchObject({ code: 'secret_key_wrong' });
  const db = await openStore(full, { beside: 'write' });
  await db.run(sql`delete from plane_migrations`);
  await db.close();
  await expect(resetPassword(full, 'ada@example.com')).rejects.toMatchObject({ code: 'database_older' });
});
