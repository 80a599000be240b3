import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ask, logIn, PASSWORD, signUpFirst } from './_people.ts';
import { startPlane } from './_setup.ts';

test('of a thousand logins at once few are worked on, and the process answers meanwhile', async () => {
  const plane = await startPlane({ env: { PLANE_TRUST_PROXY: '127.0.0.1' } });
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
  const plane = await startPlane();
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
