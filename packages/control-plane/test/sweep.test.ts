import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { onTestFinished } from 'vitest';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { createSweep } from '../src/sweep.ts';
import { createLog } from '../../runtime/src/log.ts';
import { sql } from '../src/store/sql.ts';
import { ask, logIn, signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

const DAY = 24 * 3_600_000;
const TABLES = ['sessions', 'invites', 'personal_tokens', 'attempts', 'audit'];

describe.each(STORES)('on %s', (store) => {
  test('what has expired is removed, and what has not stays', async () => {
    const clock = makeClock();
    const env = await makeStore(store);
    const plane = await startPlane({ env, now: clock.now });
    const { cookie, organizationId, email } = await signUpFirst(plane);
    const invite = { email: 'bo@example.com', role: 'viewer' };
    await ask(plane, `POST /api/v1/orgs/${organizationId}/invites`, { cookie, body: invite });
    await ask(plane, 'POST /api/v1/tokens', { cookie, body: { name: 'ci' } });
    await logIn(plane, email, 'wrong');
    await plane.close();

    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full);
    onTestFinished(() => db.close());
    const count = async () => {
      const counts: number[] = [];
      for (const table of TABLES) {
        const text = { texts: [`select count(*) as count from plane_${table}`], values: [] };
        counts.push((await db.get<{ count: number }>(text))?.count ?? 0);
      }
      return counts;
    };
    const log = createLog({ level: 'silent', write: () => {} });
    const sweepAt = async (time: number) => {
      const sweep = createSweep({ db, log, now: () => time });
      // What it has begun with, to its end.
      await sweep.run();
      await sweep.close();
      return count();
    };
    expect(await sweepAt(clock.now())).toStrictEqual([1, 1, 1, 2, 4]);
    expect(await sweepAt(clock.now() + 5 * 60_000)).toStrictEqual([1, 1, 1, 0, 4]);
    expect(await sweepAt(clock.now() + DAY)).toStrictEqual([0, 1, 1, 0, 4]);
    expect(await sweepAt(clock.now() + 8 * DAY)).toStrictEqual([0, 0, 1, 0, 4]);
    expect(await sweepAt(clock.now() + 31 * DAY)).toStrictEqual([0, 0, 0, 0, 4]);
    expect(await sweepAt(clock.now() + 366 * DAY)).toStrictEqual([0, 0, 0, 0, 0]);
    expect(await db.get(sql`select email from plane_users`)).toStrictEqual({ email });
  });
});

test('a control plane removes what has expired when it starts', async () => {
  const clock = makeClock();
  const env = await makeStore('sqlite');
  const first = await startPlane({ env, now: clock.now });
  const { email } = await signUpFirst(first);
  await logIn(first, email, 'wrong');
  await first.close();
  clock.move(400 * DAY);
  const second = await startPlane({ env, now: clock.now });
  const cookies = await logIn(second, email);
  expect(cookies.status).toBe(200);
  const { organization } = cookies.body;
  const read = async () => {
    const cookie = cookies.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const { body } = await ask(second, `GET /api/v1/orgs/${organization.id}/audit`, { cookie });
    return body.items.map(({ action }: { action: string }) => action);
  };
  while ((await read()).length > 1) await sleep(20);
  expect(await read()).toStrictEqual(['auth.login']);
});
