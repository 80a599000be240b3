import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

test('of a thousand logins at once few are worked on, and the process answers meanwhile', async () => {
  const plane = await startPlane({ passwordCost: 'full', env: { PLANE_TRUST_PROXY: '127.0.0.1' } });
  const { email } = await signUpFirst(plane);
  const giveUp = new AbortController();
  const statuses: number[] = [];
  const send = async (at: number) => {
    const response = await fetch(`${plane.url}/api/v1/auth/login`, {
      method: 'POST',
      // Each comes from an address of its own.
      headers: {
        origin: plane.url,
        'content-type': 'application/json',
        'x-forwarded-for': `198.18.${at >> 8}.${at & 255}`,
      },
      body: JSON.stringify({ email: `p${at}@example.com`, password: PASSWORD }),
      signal: giveUp.signal,
    });
    statuses.push(response.status);
  };
  const all = Promise.allSettled(Array.from({ length: 1_000 }, (_, at) => send(at)));
  // Beyond those that wait none is kept.
  while (statuses.filter((status) => status === 429).length < 100) await sleep(10);
  for (let at = 0; at < 20; at++) expect((await fetch(`${plane.url}/live`)).status).toBe(200);
  // The work is still going on: what answered has not waited for it.
  expect(statuses.length).toBeLessThan(1_000);
  giveUp.abort();
  await all;
  // What no caller waits for any more is passed over, and who comes next is served.
  while ((await logIn(plane, email)).status !== 200) await sleep(50);
});

test('a hundred guesses at once are answered as five made one after the other', async () => {
  // A clock that stands still: the minute they are counted in slides while a busy machine works on them.
  const plane = await startPlane({ passwordCost: 'full', now: makeClock().now });
  const { email } = await signUpFirst(plane);
  const guesses = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      ask(plane, 'POST /api/v1/auth/login', { body: { email, password: `guess ${at}` } }),
    ),
  );
  const wrong = guesses.filter(({ status }) => status === 401);
  expect(wrong.length).toBeGreaterThan(0);
  expect(wrong.length).toBeLessThanOrEqual(5);
  expect(guesses.filter(({ status }) => status === 429)).toHaveLength(100 - wrong.length);
});

describe.each(STORES)('a password on %s', (store) => {
  test('is stored as what it was hashed with, and rehashed at the next login once there is better', async () => {
    const env = await makeStore(store);
    const first = await startPlane({ env });
    const { email } = await signUpFirst(first);
    await first.close();
    expect(await readPassword(env)).toMatch(
      /^(?:argon2id\$m=256,t=1,p=1|scrypt\$N=256,r=8,p=1)\$[\w-]{22}\$[\w-]{43}$/,
    );
    const second = await startPlane({ env, passwordCost: 'full' });
    expect((await logIn(second, email, 'another that is long')).status).toBe(401);
    expect((await logIn(second, email)).status).toBe(200);
    await second.close();
    const better = await readPassword(env);
    expect(better).toMatch(/^(?:argon2id\$m=19456,t=2,p=1|scrypt\$N=32768,r=8,p=3)\$/);
    const third = await startPlane({ env, passwordCost: 'full' });
    expect((await logIn(third, email)).status).toBe(200);
    await third.close();
    expect(await readPassword(env)).toBe(better);
  });

  test('is changed by who knows it; other browsers and command lines are signed out', async () => {
    const plane = await startPlane({ store });
    const { cookie, email } = await signUpFirst(plane);
    const other = cookieOf(await logIn(plane, email));
    const change = (body: object) => ask(plane, 'POST /api/v1/auth/password', { cookie, body });
    const next = 'another that is long';
    expect((await change({ current: 'wrong', password: next })).body.code).toBe('wrong_credentials');
    expect((await change({ current: PASSWORD, password: 'short' })).body.code).toBe('invalid_request');
    expect((await change({ current: PASSWORD, password: next })).status).toBe(204);
    expect((await ask(plane, 'GET /api/v1/me', { cookie: other })).status).toBe(401);
    expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(200);
    expect((await logIn(plane, email)).status).toBe(401);
    expect((await logIn(plane, email, next)).status).toBe(200);
  });

  test('is compared as characters, however the keyboard composes them', async () => {
    const plane = await startPlane({ store });
    const body = { email: 'ada@example.com', name: 'Ada', password: 'u\u0308ber alle Berge' };
    expect((await ask(plane, 'POST /api/v1/auth/signup', { body })).status).toBe(201);
    expect((await logIn(plane, 'ada@example.com', '\u00fcber alle Berge')).status).toBe(200);
  });
});

async function readPassword(env: Record<string, string>): Promise<string | undefined> {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  if (!full) throw new Error('The full mode has a store.');
  const db = await openStore(full);
  try {
    return (await db.get<{ password: string }>(sql`select password from plane_users`))?.password;
  } finally {
    await db.close();
  }
}
