import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OWNER } from '../src/auth/caller.ts';
import { findRole } from '../src/auth/permissions.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { defineDynamicConfig } from '../src/config-values/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { listReadersOf } from '../src/surface/readable.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const config = defineDynamicConfig({ limit: z.number().default(1) });

/** The token names the role. */
const strategy: Strategy = {
  name: 'test',
  checksKeys: true,
  authenticate: async (token) => ({ ...OWNER, by: 'identity token', role: findRole(token) ?? null, id: `${token}` }),
};
const by = (role: string) => ({ authorization: `Bearer ${role}` });

/** The rooms that a person with that role is told of, in order; `runs` and the like are those of runs. */
async function listen(box: TestBox, role: string): Promise<() => string[]> {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const answer = await fetch(`${await box.listen()}/api/events`, { headers: by(role), signal: gone.signal });
  expect(answer.status).toBe(200);
  let text = '';
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part as Uint8Array, { stream: true });
  })().catch(() => {});
  return () => [...text.matchAll(/event: workspace\.changed\ndata: (.*)\n\n/g)].map(([, data = '']) => roomOf(data));
}

function roomOf(data: string): string {
  const { room, at, ...rest } = JSON.parse(data) as Record<string, unknown>;
  expect([at, rest]).toEqual([expect.stringMatching(/Z$/), {}]);
  return String(room);
}

async function send(box: TestBox, route: string, body?: unknown): Promise<void> {
  const [method = '', path = ''] = route.split(' ');
  const answer = await box.request(path, json(body ?? {}, { method, headers: by('owner') }));
  expect([route, answer.status < 300]).toEqual([route, true]);
}

test('a change of a room is pushed to callers who may read it', async () => {
  const box = await boxes.open({ config, options: { strategy } });
  const told = {
    owner: await listen(box, 'owner'),
    member: await listen(box, 'member'),
    viewer: await listen(box, 'viewer'),
  };
  await send(box, 'PUT /api/secrets/TOKEN', { value: 'never' });
  await send(box, 'POST /api/keys', { name: 'a', client: 'shop' });
  await send(box, 'PUT /api/config/limit', { value: 2 });
  await send(box, 'PATCH /api/settings', { name: 'Shop' });
  await until(() => told.viewer().includes('settings') && told.owner().includes('settings'));
  expect(told.owner()).toEqual(['secrets', 'keys', 'config', 'settings']);
  await until(() => told.member().includes('settings'));
  expect(told.member()).toEqual(['config', 'settings']);
  expect(told.viewer()).toEqual(['settings']);
});

test('what is refused or read tells nothing', async () => {
  const box = await boxes.open({ config, options: { strategy } });
  const told = await listen(box, 'owner');
  const refused = await box.request('/api/config/limit', json({ value: 2 }, { method: 'PUT', headers: by('viewer') }));
  expect(refused.status).toBe(403);
  await box.request('/api/config', { headers: by('owner') });
  await send(box, 'PATCH /api/settings', { name: 'Shop' });
  await until(() => told().length > 0);
  expect(told()).toEqual(['settings']);
});

test('every operation that changes something has readers who are notified', () => {
  const writes = OPERATIONS.filter(({ kind, activity }) => kind === 'write' && activity !== false);
  expect(writes.filter(({ id }) => listReadersOf(id).length === 0).map(({ id }) => id)).toEqual([]);
});

describeWhen(bothServers, 'replicas over Redis', (servers) => {
  test('tell each other who may know of a change', async () => {
    const openReplica = createCluster(boxes, servers);
    const here = await openReplica({ config, options: { strategy }, engine: WITHOUT_LOOKS });
    const there = await openReplica({ config, options: { strategy }, engine: WITHOUT_LOOKS });
    const owner = await listen(here, 'owner');
    const viewer = await listen(here, 'viewer');
    // Until the other one has heard that someone listens.
    await until(async () => {
      await send(there, 'PATCH /api/settings', { name: 'Shop' });
      return viewer().length > 0;
    });
    await send(there, 'POST /api/keys', { name: 'a', client: 'shop' });
    await until(() => owner().includes('keys'));
    await send(there, 'PATCH /api/settings', { name: 'Store' });
    await until(() => viewer().length > owner().indexOf('keys'));
    expect(viewer()).not.toContain('keys');
  });
});
