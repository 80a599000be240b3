import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import type { Connection } from '../src/connections/store.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { CLIENT, useOAuthServer } from './_oauth-server.ts';
import { describeWhen, realServers } from './require.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-connections-crash-'));
const oauth = useOAuthServer();
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => oauth.reset());

const BEFORE_ASKING: Death = { sql: '"connection_credentials" set "lease_id"', when: 'after', nth: 1 };
const BEFORE_RECORD: Death = { sql: '"connection_credentials" set "version"', when: 'before', nth: 1 };
const IN_RECORD: Death = { sql: '"connection_credentials" set "version"', when: 'after', nth: 1 };

describe('a process that is killed while it refreshes a token', () => suite('alone', () => undefined));

describeWhen(realServers.database, 'one of two replicas that is killed while it refreshes a token', (server) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase(server);
  });
  afterAll(() => database?.drop());
  suite('replica', () => database.url);
});

interface Run {
  status: string;
  output: unknown;
  error: unknown;
}

function suite(name: string, database: () => string | undefined): void {
  let worker: Worker;
  let other: Worker | undefined;
  let ids = 0;
  const fork = () => forkWorker({ folder, modelUrl: model.url, database: database() });
  beforeAll(async () => {
    worker = await fork();
    if (database() !== undefined) other = await fork();
  }, 60_000);
  afterAll(() => Promise.all([worker?.kill(), other?.kill()]));
  /** Where the box goes on once the process has died. */
  const alive = () => other ?? worker;

  const ask = async <T>(at: Worker, route: string, body?: object, user?: string): Promise<T> => {
    const [method = '', path = ''] = route.split(' ');
    const headers = { 'content-type': 'application/json', ...(user === undefined ? {} : { 'x-svc-user': user }) };
    const init = body ? { body: JSON.stringify(body), headers } : { headers };
    return (await (await fetch(at.url + path, { method, ...init })).json()) as T;
  };
  const start = (at: Worker, workflow: string, user: string, input: object) =>
    ask<{ runId: string }>(at, `POST /api/workflows/${workflow}/start`, input, user);
  const end = (at: Worker, { runId }: { runId: string }) => ask<Run>(at, `GET /api/runs/${runId}?wait=30s`);
  const run = async (at: Worker, workflow: string, user: string, input: object) =>
    end(at, await start(at, workflow, user, input));
  const signIn = async (at: Worker, id: string, user: string) => {
    const { output } = await run(at, 'where', user, { id });
    const back = await oauth.approve((output as { url: string }).url);
    expect((await fetch(at.url + back.pathname + back.search)).status).toBe(200);
  };
  const read = (id: string) => ask<Connection>(alive(), `GET /api/connections/${id}`);

  /** A connection that two users have signed in for, whose tokens are to be refreshed at once; the process dies at the one of Ada. */
  const crash = async (death: Death, expiresIn = 5): Promise<string> => {
    const id = `${name}-${ids++}`;
    await ask(worker, 'POST /api/connections', {
      id,
      provider: 'custom',
      auth: 'oauth2',
      per: 'user',
      baseUrl: `${oauth.url}/api/`,
      authorizationUrl: `${oauth.url}/authorize`,
      tokenUrl: `${oauth.url}/token`,
      clientId: CLIENT.id,
    });
    await ask(worker, `PUT /api/connections/${id}/credential`, { clientSecret: CLIENT.secret });
    oauth.ways.expiresIn = expiresIn;
    for (const user of ['ada', 'bob']) await signIn(worker, id, user);
    oauth.ways.expiresIn = 3_600;
    const gone = once(worker.child, 'exit');
    await worker.arm(death);
    await start(worker, 'ask', 'ada', { id }).catch(() => undefined);
    await gone;
    await worker.kill();
    worker = await fork();
    return id;
  };
  /** What is asked while the lease of the dead is good waits for its end, and goes on then. */
  const askOnceItEnds = async (id: string): Promise<Run> => {
    const waiting = await start(alive(), 'ask', 'ada', { id });
    expect((await run(alive(), 'age', 'ada', {})).status).toBe('completed');
    return end(alive(), waiting);
  };

  test('before it has asked for it: the next asks, and no caller notices', async () => {
    const id = await crash(BEFORE_ASKING);
    expect(oauth.refreshes).toBe(0);
    expect(await askOnceItEnds(id)).toMatchObject({ status: 'completed', output: 200 });
    expect(oauth.refreshes).toBe(1);
  }, 60_000);

  test.each(['grace', 'kept'] as const)(
    'between the answer and its record, at a service that takes the old one again (%s): the next gets another',
    async (reuse) => {
      oauth.ways.reuse = reuse;
      const id = await crash(BEFORE_RECORD);
      expect(oauth.granted['refresh_token']).toBe(1);
      expect(await askOnceItEnds(id)).toMatchObject({ status: 'completed', output: 200 });
      expect(oauth.granted['refresh_token']).toBe(2);
      expect((await run(alive(), 'ask', 'bob', { id })).output).toBe(200);
      expect(await read(id)).toMatchObject({ state: 'ready', users: 2 });
    },
    60_000,
  );

  test.each([
    ['between the answer and its record', BEFORE_RECORD],
    ['in the middle of its record', IN_RECORD],
  ])(
    '%s, at a service that takes none twice: that user signs in again, and the others notice nothing',
    async (_, death) => {
      const id = await crash(death);
      expect((await run(alive(), 'ask', 'bob', { id })).output).toBe(200);
      const failed = await askOnceItEnds(id);
      expect(failed.status).toBe('failed');
      const said = JSON.stringify(failed.error);
      expect(said).toContain('connection_not_ready');
      expect(said).toContain('ended while it was getting another, which was lost with it. Sign in again.');
      expect(said).toContain('signInUrl()');
      const asked = oauth.refreshes;
      // It is known to be lost: no one asks the service again.
      for (let times = 0; times < 3; times++)
        expect(JSON.stringify((await run(alive(), 'ask', 'ada', { id })).error)).toContain('Sign in again');
      expect(oauth.refreshes).toBe(asked);
      expect(await read(id)).toMatchObject({ state: 'ready', users: 1 });
      expect((await run(alive(), 'ask', 'bob', { id })).output).toBe(200);
      await signIn(alive(), id, 'ada');
      expect((await run(alive(), 'ask', 'ada', { id })).output).toBe(200);
      expect(await read(id)).toMatchObject({ users: 2 });
    },
    60_000,
  );

  test('while the token is good for some seconds more, it is used until the dead is known to be', async () => {
    oauth.ways.reuse = 'grace';
    const id = await crash(BEFORE_RECORD, 50);
    const before = oauth.refreshes;
    expect((await run(alive(), 'ask', 'ada', { id })).output).toBe(200);
    expect(oauth.refreshes).toBe(before);
    await ask(alive(), `DELETE /api/connections/${id}`);
  }, 60_000);
}
