import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import type { Drizzle } from '../src/stores/drizzle.ts';
import { openPg } from '../src/stores/pg.ts';
import { createLazyDatabase } from '../src/testing/database.ts';
import { createGuardedFetch } from '../src/connections/guarded-fetch.ts';
import { createFetchFor } from '../src/provider/given-address.ts';
import type { TriggerLimits } from '../src/triggers/limits.ts';
import type { Trigger, TriggerDelivery } from '../src/triggers/store.ts';
import { useFeed } from './_feed.ts';
import { describeWhen, realServers } from './require.ts';
import { findLocalName } from './_local-name.ts';
import { call, finish, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const feed = useFeed();
const elsewhere = useFeed();
const secretKey = newMasterKey();
beforeEach(() => [feed, elsewhere].forEach((each) => each.reset()));

const work = { isHeld: false };
const hold = toStep('hold', () => until(() => !work.isHeld));

const WORKFLOWS = {
  alone: { run: async () => hold(), serial: { onConflict: 'reject' } },
  take: { run: async (input: unknown) => input },
  typed: { run: async (input: unknown) => input, inputSchema: z.object({ title: z.string() }) },
};

/** This machine is not to be called. */
const DEPLOYED = {
  provider: {
    environment: { baseUrl: 'http://127.0.0.1:1/v1' },
    store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
    egress: { allowLoopback: false, allowed: [] },
  },
};
const LOCAL_NAME = await findLocalName();

type Got = Trigger & { deliveries: TriggerDelivery[] };

describe('polls on PGlite', () => {
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  afterAll(() => database.close());
  suite(() => db);
});

describeWhen(realServers.database, 'polls on Postgres', (server) => {
  let db: Drizzle;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const made = await createDatabase(server);
    const opened = openDatabase(openPg(made.url));
    await opened.ready;
    ({ db } = opened);
    close = async () => {
      await opened.close();
      await made.drop();
    };
  });
  afterAll(() => close());
  suite(() => db);
});

function suite(database: () => Drizzle): void {
  // None of those of another test is asked for.
  afterEach(() => database().execute(sql`delete from svc.triggers`));
  const open = (limits: Partial<TriggerLimits> = {}, more: object = {}, options: object = {}) =>
    boxes.open({
      workflows: WORKFLOWS,
      ...more,
      options: {
        db: database(),
        secretKey,
        engine: { sweepMs: 20 },
        triggerLimits: { lookMs: 50, firstRetryMs: 20, busyMs: 20, ...limits },
        ...options,
      },
    });
  const toBody = ({ poll, ...more }: { poll?: object } & Record<string, unknown> = {}) => ({
    name: 'issues',
    target: { workflow: 'take' },
    poll: { url: `${feed.url}/issues`, ...poll },
    ...more,
  });
  const make = async (box: TestBox, more: { poll?: object } & Record<string, unknown> = {}): Promise<Trigger> => {
    const { status, body } = await call<Trigger>(box, 'POST /api/triggers', toBody(more));
    expect([status, body]).toEqual([201, expect.objectContaining({ kind: 'poll' })]);
    return body;
  };
  const get = async (box: TestBox, id: string) => (await call<Got>(box, `GET /api/triggers/${id}`)).body;
  /** Once it has been asked so often in all. */
  const polled = async (box: TestBox, id: string, times: number): Promise<Got> => {
    let found: Got | undefined;
    await until(async () => {
      const isOver = feed.asked.length >= times && (await isIdle(id));
      found = await get(box, id);
      return isOver && found.deliveries.every(({ endedAt }) => endedAt !== null);
    });
    return found!;
  };
  const isIdle = async (id: string) => {
    const rows = (await database().execute(
      sql`select 1 from svc.trigger_polls where trigger_id = ${id} and lease_id is null and next_at > now() and tried_at is not null`,
    )) as unknown as unknown[];
    return rows.length === 1;
  };
  /** Its time has come. */
  const due = (id: string) =>
    database().execute(sql`update svc.trigger_polls set next_at = now() where trigger_id = ${id}`);
  const again = async (box: TestBox, id: string): Promise<Got> => {
    const { length } = feed.asked;
    await due(id);
    return polled(box, id, length + 1);
  };
  const idsOf = ({ deliveries }: Got) => deliveries.map(({ senderId }) => senderId).toSorted();
  const issue = (id: number, more: object = {}) => ({ id, title: `Issue ${id}`, ...more });

  test('what is there at first starts nothing, and each new item starts one run', async () => {
    const box = await open();
    feed.items = [issue(1), issue(2)];
    const made = await make(box, { mapping: { input: { title: '{{body.title}}', at: '{{deliveryId}}' } } });
    expect(made).toMatchObject({
      url: null,
      signature: null,
      state: 'ready',
      secrets: 0,
      poll: { url: `${feed.url}/issues`, everySeconds: 300, items: 'body', from: 'now' },
    });
    const first = await polled(box, made.id, 1);
    expect(first.deliveries).toEqual([]);
    expect(first.polling).toMatchObject({ status: 200, items: 2, seen: 2, failures: 0, problem: null });
    const waitMs = Date.parse(first.polling!.nextPollAt!) - Date.parse(first.polling!.lastPolledAt!);
    expect(waitMs).toBeCloseTo(300_000, -3);
    feed.items = [issue(3), ...feed.items];
    const second = await again(box, made.id);
    expect(second.deliveries).toMatchObject([{ state: 'delivered', senderId: '3', attempts: 1 }]);
    const run = await finish(box, second.deliveries[0]!.runId!);
    expect(run).toMatchObject({
      trigger: 'trigger',
      status: 'completed',
      output: { title: 'Issue 3', at: second.deliveries[0]!.id },
    });
    const third = await again(box, made.id);
    expect(third.deliveries).toHaveLength(1);
    expect(third.polling).toMatchObject({ items: 3, seen: 3 });
  });

  test('from all delivers what is there, by a place of its own in the answer and in an item', async () => {
    const box = await open();
    feed.ways.isWrapped = true;
    feed.items = [{ key: 'a', kind: 'bug' }, { key: 'a', kind: 'same again' }, { key: 'b', kind: 'note' }, 'text'];
    const { id } = await make(box, {
      poll: { items: 'body.data.list', from: 'all' },
      deduplicate: 'body.key',
      event: 'body.kind',
      events: ['bug'],
    });
    const { deliveries } = await polled(box, id, 1);
    const shown = deliveries.map(({ state, senderId, event }) => [state, senderId, event]).toSorted();
    expect(shown).toEqual([
      ['delivered', 'a', 'bug'],
      ['filtered', null, null],
      ['filtered', 'b', 'note'],
    ]);
    const run = await finish(box, deliveries.find(({ runId }) => runId !== null)!.runId!);
    expect(run.output).toEqual({ headers: {}, query: {}, body: { key: 'a', kind: 'bug' } });
    // The one without a key is known by what it is.
    expect((await again(box, id)).deliveries).toHaveLength(3);
    feed.items = ['another'];
    expect((await again(box, id)).deliveries).toHaveLength(4);
  });

  test('an id that is too large a number to be exact is not taken for that of another item', async () => {
    const box = await open();
    feed.ways.body = '[{"id": 9007199254740992, "a": 1}, {"id": 9007199254740993, "a": 2}, {"id": "9007199254740993"}]';
    const { id } = await make(box, { poll: { from: 'all' } });
    expect(idsOf(await polled(box, id, 1))).toEqual(['9007199254740993', null, null]);
    expect((await again(box, id)).deliveries).toHaveLength(3);
  });

  test.each(['etag', 'last-modified'] as const)(
    'asks with %s what has changed, and hears that nothing has',
    async (how) => {
      const box = await open();
      feed.ways.validates = how;
      feed.items = [issue(1)];
      const { id } = await make(box, { poll: { headers: { 'X-Version': '7' } } });
      await polled(box, id, 1);
      const second = await again(box, id);
      expect(second.polling).toMatchObject({ status: 304, items: 1, seen: 1 });
      feed.items = [issue(1), issue(2)];
      expect(idsOf(await again(box, id))).toEqual(['2']);
      expect(feed.asked.map(({ status }) => status)).toEqual([200, 304, 200]);
      expect(feed.asked[0]!.headers).toMatchObject({
        'x-version': '7',
        accept: 'application/json',
        'user-agent': 'svc',
      });
      const sent = how === 'etag' ? 'if-none-match' : 'if-modified-since';
      expect(feed.asked.map(({ headers }) => headers[sent] !== undefined)).toEqual([false, true, true]);
    },
  );

  test('is asked with the credential of a connection, at a path of its service', async () => {
    const box = await open();
    const connection = `polled-${Date.now()}`;
    await call(box, 'POST /api/connections', {
      id: connection,
      provider: 'custom',
      auth: 'api_key',
      baseUrl: `${feed.url}/v1`,
    });
    feed.items = [issue(1)];
    const { id } = await make(box, { poll: { url: '/issues?state=open', connection, from: 'all' } });
    const before = await polled(box, id, 0);
    expect(before).toMatchObject({
      state: 'failing',
      polling: { status: null, problem: { code: 'connection_not_ready' } },
    });
    expect(feed.asked).toEqual([]);
    await call(box, `PUT /api/connections/${connection}/credential`, { apiKey: 'the key of a service' });
    const after = await again(box, id);
    expect(after).toMatchObject({ state: 'ready', polling: { failures: 0, problem: null } });
    expect(idsOf(after)).toEqual(['1']);
    expect(feed.asked).toMatchObject([
      { path: '/v1/issues?state=open', headers: { authorization: 'Bearer the key of a service' } },
    ]);
    const { body } = await call<{ usedBy: object[] }>(box, `GET /api/connections/${connection}`);
    expect(body.usedBy).toMatchObject([{ kind: 'trigger', name: 'issues' }]);
    const shown = JSON.stringify([after, box.logs, (await call(box, 'GET /api/triggers')).body]);
    expect(shown).not.toContain('the key of a service');
  });

  describe('a service that does not answer as hoped', () => {
    test('is asked again after a while that doubles, or after what it says, and nothing is lost', async () => {
      const box = await open();
      feed.items = [issue(1)];
      const { id } = await make(box);
      await polled(box, id, 1);
      feed.items = [issue(1), issue(2)];
      const wait = ({ polling }: Got) => Date.parse(polling!.nextPollAt!) - Date.parse(polling!.lastPolledAt!);
      feed.ways.status = 503;
      feed.ways.body = 'a secret of others';
      const first = await again(box, id);
      expect(first).toMatchObject({ state: 'failing', polling: { status: 503, failures: 1, items: 1 } });
      expect(first.polling!.problem).toEqual({ code: 'connection_failed', message: 'The service answered 503.' });
      expect(wait(first)).toBeGreaterThan(53_000);
      expect(wait(first)).toBeLessThan(67_000);
      const second = await again(box, id);
      expect(wait(second)).toBeGreaterThan(107_000);
      expect(wait(second)).toBeLessThan(133_000);
      feed.ways.headers = { 'retry-after': '7200' };
      expect(wait(await again(box, id))).toBeCloseTo(7_200_000, -4);
      feed.ways.headers = { 'retry-after': new Date(Date.now() + 10_000_000).toUTCString() };
      expect(wait(await again(box, id))).toBeGreaterThan(9_900_000);
      expect(box.logs.filter(({ trigger }) => trigger === id)).toHaveLength(1);
      feed.ways = { ...feed.ways, status: 200, body: null, headers: {} };
      const good = await again(box, id);
      expect(good).toMatchObject({ state: 'ready', polling: { failures: 0, problem: null } });
      expect(idsOf(good)).toEqual(['2']);
    });

    test.each([
      ['is no JSON', { headers: { 'content-type': 'text/html' }, body: '<p>Sign in</p>' }, 'trigger_invalid'],
      ['is broken JSON', { body: '[{"id": 1}' }, 'invalid_json'],
      ['would do harm', { body: '[{"__proto__": 1}]' }, 'invalid_json'],
      ['has no list at the place', { body: '{"items": {"id": 1}}' }, 'trigger_invalid'],
      [
        'has more items than are looked at',
        { body: JSON.stringify(Array.from({ length: 21 }, (_, id) => ({ id }))) },
        'trigger_invalid',
      ],
      ['is larger than is read', { body: `["${'x'.repeat(10_000)}"]` }, 'connection_failed'],
      ['comes too late', { held: new Promise(() => {}) }, 'connection_failed'],
      [
        'leads to an address that is not called',
        { status: 302, headers: { location: 'http://169.254.169.254/latest' } },
        'connection_failed',
      ],
      ['leads round and round', { status: 302, headers: { location: '/issues' } }, 'connection_failed'],
    ] as const)('because it %s', async (_, ways, code) => {
      const box = await open({ pollItems: 20, pollBytes: 5_000, pollTimeoutMs: 'held' in ways ? 300 : 30_000 });
      Object.assign(feed.ways, ways);
      const { id } = await make(box, { poll: { items: 'body', from: 'all' } });
      const { deliveries, polling, state } = await polled(box, id, 1);
      expect([state, deliveries]).toEqual(['failing', []]);
      expect(polling!.problem).toEqual({ code, message: expect.stringMatching(/\.$/) });
      expect(polling!.problem!.message).not.toContain('latest');
    });

    test('may lead elsewhere, up to three times', async () => {
      const box = await open();
      feed.items = [issue(1)];
      feed.ways.leads = { '/issues': '/a', '/a': `${feed.url}/b`, '/b': '/moved' };
      const { id } = await make(box, { poll: { from: 'all' } });
      expect(idsOf(await polled(box, id, 4))).toEqual(['1']);
      expect(feed.asked.map(({ path }) => path)).toEqual(['/issues', '/a', '/b', '/moved']);
    });

    test.each(['without', 'with'])(
      'leads to another service %s a connection without what is for the own one',
      async (way) => {
        const box = await open();
        elsewhere.items = [issue(1)];
        const moved = `${elsewhere.url}/moved`.replace('//', '//ada:word@');
        feed.ways.leads = { '/issues': '/own', '/own': moved };
        const headers = {
          'private-token': 'secret-1',
          'Api-Key': 'secret-2',
          'x-version': '7',
          Accept: 'application/json',
        };
        const connected = async () => {
          const id = `feed-${way}`;
          await call(box, 'POST /api/connections', { id, provider: 'custom', auth: 'api_key', baseUrl: feed.url });
          await call(box, `PUT /api/connections/${id}/credential`, { apiKey: 'secret-3' });
          return { connection: id, url: '/issues' };
        };
        const { id } = await make(box, {
          poll: { from: 'all', headers, ...(way === 'with' ? await connected() : {}) },
        });
        expect(idsOf(await polled(box, id, 1))).toEqual(['1']);
        const own = { 'private-token': 'secret-1', 'api-key': 'secret-2', 'x-version': '7' };
        expect(feed.asked.map((one) => one.headers)).toEqual([
          expect.objectContaining(own),
          expect.objectContaining(own),
        ]);
        const [there] = elsewhere.asked;
        expect(there!.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'svc' });
        expect(JSON.stringify(there)).not.toMatch(/secret|x-version|authorization/);
      },
    );
  });

  describe('one that is to ask at once', () => {
    test('does, and goes on by its own time; also after a failure', async () => {
      const box = await open({ pollRetryMs: 3_600_000 });
      feed.ways.status = 503;
      const { id } = await make(box, { poll: { from: 'all', everySeconds: 3_600 } });
      expect((await polled(box, id, 1)).state).toBe('failing');
      Object.assign(feed, { items: [issue(1)] }).ways.status = 200;
      const early = await call<Trigger>(box, `POST /api/triggers/${id}/poll`, {});
      const { lastPolledAt, nextPollAt } = early.body.polling!;
      expect([early.status, Date.parse(nextPollAt!) - Date.parse(lastPolledAt!)]).toEqual([200, 10_000]);
      // As if that was a while ago.
      await database().execute(
        sql`update svc.trigger_polls set tried_at = tried_at - interval '1 minute' where trigger_id = ${id}`,
      );
      expect((await call(box, `POST /api/triggers/${id}/poll`, {})).status).toBe(200);
      const after = await polled(box, id, 2);
      expect([after.state, idsOf(after)]).toEqual(['ready', ['1']]);
      expect(Date.parse(after.polling!.nextPollAt!) - Date.now()).toBeGreaterThan(3_000_000);
    });

    test('has to be a poll that is enabled', async () => {
      const box = await open();
      const hook = { name: 'x', target: { workflow: 'take' }, signature: { scheme: 'github' } };
      const { body: webhook } = await call<Trigger>(box, 'POST /api/triggers', hook);
      const disabled = await make(box, { poll: {}, enabled: false });
      for (const [id, code] of [
        [webhook.id, 'trigger_invalid'],
        [disabled.id, 'trigger_invalid'],
        ['trg_none', 'trigger_not_found'],
      ])
        expect((await call(box, `POST /api/triggers/${id}/poll`, {})).body.code).toBe(code);
      expect(feed.asked).toEqual([]);
    });
  });

  describe('two replicas', () => {
    test('ask once, and one that is slow to the end of its lease stores nothing', async () => {
      const [one, other] = [await open({ pollLeaseMs: 60_000 }), await open({ pollLeaseMs: 60_000 })];
      feed.items = [issue(1)];
      let free!: (value?: unknown) => void;
      feed.ways.held = new Promise((resolve) => (free = resolve));
      const { id } = await make(one!, { poll: { from: 'all' } });
      await until(() => feed.asked.length === 1);
      const start = performance.now();
      await until(() => performance.now() - start > 300);
      expect(feed.asked).toHaveLength(1);
      // Another has it before the first one has heard.
      await database().execute(
        sql`update svc.trigger_polls set lease_until = now() - interval '1 s' where trigger_id = ${id}`,
      );
      await until(() => feed.asked.length === 2);
      free();
      const { polling, deliveries } = await polled(other!, id, 2);
      expect([polling!.seen, deliveries]).toEqual([
        1,
        [expect.objectContaining({ senderId: '1', state: 'delivered' })],
      ]);
    });

    test('each poll of many is made by one of them', async () => {
      const [one] = [await open(), await open(), await open()];
      const ids: string[] = [];
      for (let n = 0; n < 12; n++) ids.push((await make(one!, { poll: { url: `${feed.url}/${n}`, from: 'all' } })).id);
      for (const id of ids) await polled(one!, id, 12);
      expect(feed.asked.map(({ path }) => path).toSorted()).toEqual(ids.map((_, n) => `/${n}`).toSorted());
    });
  });

  test('a box that is closed while it asks leaves the poll to the next at once', async () => {
    const box = await open({ pollLeaseMs: 600_000 });
    feed.items = [issue(1)];
    feed.ways.held = new Promise(() => {});
    const { id } = await make(box, { poll: { from: 'all' } });
    await until(() => feed.asked.length === 1);
    await box.shut();
    feed.ways.held = null;
    const next = await open({ pollLeaseMs: 600_000 });
    expect(idsOf(await polled(next, id, 2))).toEqual(['1']);
  });

  test('what does not fit into the queue comes with a later poll, though nothing has changed since', async () => {
    const box = await open({ mostPending: 2 });
    feed.ways.validates = 'etag';
    feed.items = [1, 2, 3, 4, 5].map((id) => issue(id));
    work.isHeld = true;
    const { id } = await make(box, { target: { workflow: 'alone' }, poll: { from: 'all' } });
    await until(async () => (await get(box, id)).polling!.seen === 2);
    expect((await get(box, id)).deliveries).toHaveLength(2);
    work.isHeld = false;
    for (let n = 2; n < 6; n++) await again(box, id);
    expect(idsOf(await get(box, id))).toEqual(['1', '2', '3', '4', '5']);
    expect(feed.asked.map(({ status }) => status)).toEqual([200, 200, 200, 304, 304]);
  });

  test('so many items are known again, and those of the last answer always', async () => {
    const box = await open({ pollSeen: 4 });
    const seen = async (id: string) => {
      const rows = await database().execute(
        sql`select count(*)::int as n from svc.trigger_seen where trigger_id = ${id}`,
      );
      return (rows as unknown as { n: number }[])[0]!.n;
    };
    feed.items = Array.from({ length: 6 }, (_, n) => issue(n));
    const { id } = await make(box);
    await polled(box, id, 1);
    expect(await seen(id)).toBe(6);
    expect((await again(box, id)).deliveries).toEqual([]);
    feed.items = [issue(6), issue(0)];
    expect(idsOf(await again(box, id))).toEqual(['6']);
    expect(await seen(id)).toBeLessThanOrEqual(5);
    expect((await again(box, id)).deliveries).toHaveLength(1);
  });

  test('one that is changed to ask for something else starts over, one that asks more often does not', async () => {
    const box = await open();
    feed.items = [issue(1)];
    const { id } = await make(box);
    await polled(box, id, 1);
    const change = (given: object) => call<Trigger>(box, `PATCH /api/triggers/${id}`, given);
    feed.items = [issue(1), issue(2)];
    await change({ poll: { url: `${feed.url}/issues`, cron: '0 7 * * *', timeZone: 'Europe/Berlin' } });
    const often = await polled(box, id, 2);
    expect(idsOf(often)).toEqual(['2']);
    expect(often.poll).toEqual({
      url: `${feed.url}/issues`,
      cron: '0 7 * * *',
      timeZone: 'Europe/Berlin',
      items: 'body',
      from: 'now',
    });
    const hour = new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', timeStyle: 'short', hour12: false });
    expect(hour.format(new Date(often.polling!.nextPollAt!))).toBe('07:00');
    await change({ poll: { url: `${feed.url}/others` } });
    const other = await polled(box, id, 3);
    expect(idsOf(other)).toEqual(['2']);
    expect(other.polling).toMatchObject({ seen: 2, items: 2 });
    await change({ enabled: false });
    const { length } = feed.asked;
    await due(id);
    expect(await get(box, id)).toMatchObject({ state: 'disabled', polling: { nextPollAt: null } });
    feed.items = [issue(1), issue(2), issue(3)];
    const start = performance.now();
    await until(() => performance.now() - start > 200);
    expect(feed.asked).toHaveLength(length);
    await change({ enabled: true });
    expect(idsOf(await polled(box, id, length + 1))).toEqual(['2', '3']);
    await call(box, `DELETE /api/triggers/${id}`);
    expect((await call(box, `GET /api/triggers/${id}`)).status).toBe(404);
    const rows = await database().execute(sql`select 1 from svc.trigger_seen where trigger_id = ${id}`);
    expect(rows).toEqual([]);
  });

  test('what is answered after it was changed to ask elsewhere is not delivered', async () => {
    const box = await open();
    let free!: (value?: unknown) => void;
    feed.ways.held = new Promise((resolve) => (free = resolve));
    feed.items = [issue(1)];
    elsewhere.items = [issue(2)];
    const { id } = await make(box, { poll: { from: 'all' } });
    await until(() => feed.asked.length === 1);
    await call(box, `PATCH /api/triggers/${id}`, { poll: { url: `${elsewhere.url}/issues`, from: 'all' } });
    await until(() => elsewhere.asked.length === 1);
    free();
    await until(() => feed.asked[0]!.status === 200);
    const start = performance.now();
    await until(() => performance.now() - start > 300);
    const after = await polled(box, id, 1);
    expect([idsOf(after), after.polling!.seen]).toEqual([['2'], 1]);
  });

  test('what is answered after it was disabled is not stored, and is found once it is enabled again', async () => {
    const box = await open({ pollLeaseMs: 600_000 });
    let free!: (value?: unknown) => void;
    feed.ways.held = new Promise((resolve) => (free = resolve));
    feed.items = [issue(1)];
    const { id } = await make(box, { poll: { from: 'all' } });
    await until(() => feed.asked.length === 1);
    await call(box, `PATCH /api/triggers/${id}`, { enabled: false });
    free();
    await until(() => feed.asked[0]!.status === 200);
    const start = performance.now();
    await until(() => performance.now() - start > 300);
    const disabled = await get(box, id);
    expect([disabled.deliveries, disabled.polling!.seen, feed.asked.length]).toEqual([[], 0, 1]);
    await call(box, `PATCH /api/triggers/${id}`, { enabled: true });
    expect(idsOf(await polled(box, id, 2))).toEqual(['1']);
  });

  test('it cannot be called, and a redelivery runs an item again', async () => {
    const box = await open();
    feed.items = [issue(1)];
    const { id } = await make(box, { target: { workflow: 'typed' }, poll: { from: 'all' } });
    const [dead] = (await polled(box, id, 1)).deliveries;
    expect(dead).toMatchObject({ state: 'dead', problem: { code: 'workflow_input_invalid' } });
    const called = await call(box, `POST /api/inbound/${id}`, {});
    expect([called.status, called.body.code]).toEqual([401, 'invalid_signature']);
    await call(box, `PATCH /api/triggers/${id}`, { mapping: { input: '{{body}}' } });
    await call(box, `POST /api/triggers/${id}/deliveries/${dead!.id}/redeliver`, {});
    await until(async () => (await get(box, id)).deliveries[0]!.state === 'delivered');
    expect(feed.asked).toHaveLength(1);
  });

  test.each([
    [{ poll: undefined }, 'signature'],
    [{ signature: { scheme: 'github' } }, 'signature'],
    [{ secret: 'a secret of nobody' }, 'secret'],
    [{ poll: { url: '/issues' } }, 'poll'],
    [{ poll: { url: 'ftp://example.com/' } }, 'poll'],
    [{ poll: { url: 'https://me:secret@example.com/' } }, 'poll'],
    [{ poll: { url: 'https://example.com/#part' } }, 'poll'],
    [{ poll: { url: 'http://10.0.0.1/' } }, 'poll'],
    [{ poll: { url: 'http://169.254.169.254/latest' } }, 'poll'],
    [{ poll: { url: 'http://[::ffff:10.0.0.1]/' } }, 'poll'],
    [{ poll: { headers: { Authorization: 'Bearer x' } } }, 'poll'],
    [{ poll: { headers: { 'If-None-Match': 'x' } } }, 'poll'],
    [{ poll: { everySeconds: 60, cron: '* * * * *' } }, 'poll'],
    [{ poll: { timeZone: 'Europe/Berlin' } }, 'poll'],
    [{ poll: { cron: '61 * * * *' } }, 'poll'],
    [{ poll: { cron: '* * * * *', timeZone: 'Mars/Olympus' } }, 'poll'],
    [{ poll: { items: 'headers.x' } }, 'poll'],
    [{ poll: { items: 'bodyguard' } }, 'poll'],
  ])('one that cannot be is refused: %j', async (more, param) => {
    const box = await open();
    const given = 'poll' in more && more.poll === undefined ? { ...toBody(), poll: undefined } : toBody(more);
    const { status, body } = await call(box, 'POST /api/triggers', given);
    expect([status, body.code, body.message]).toEqual([400, 'trigger_invalid', expect.stringMatching(/\.$/)]);
    expect(body).toMatchObject({ details: { param } });
    expect(body.message).not.toContain('secret@');
  });

  test.each(['localhost', 'localhost.', 'a.localhost', 'A.LOCALHOST.', '127.0.0.2', '[::1]', '[::ffff:127.0.0.1]'])(
    'where this machine must not be called, %s is not',
    async (host) => {
      const box = await open({}, {}, DEPLOYED);
      const { status, body } = await call(box, 'POST /api/triggers', toBody({ poll: { url: `http://${host}:9/` } }));
      expect([status, body.code]).toEqual([400, 'trigger_invalid']);
      expect(body.message).toContain('is a loopback address. List it in SVC_ALLOW_PRIVATE_EGRESS');
      const kept = await make(box, { poll: { url: 'https://nowhere.invalid/' }, enabled: false });
      const change = { poll: { url: `http://${host}:9/` } };
      expect((await call(box, `PATCH /api/triggers/${kept.id}`, change)).body.code).toBe('trigger_invalid');
    },
  );

  test.skipIf(LOCAL_NAME === undefined)('a name that leads to this machine is refused when it is set', async () => {
    const box = await open();
    const given = toBody({ poll: { url: `http://${LOCAL_NAME}:9/` } });
    const { status, body } = await call(box, 'POST /api/triggers', given);
    expect([status, body.code, body.message]).toEqual([
      400,
      'trigger_invalid',
      expect.stringMatching(/ is a (loopback|private) address/),
    ]);
  });

  test('one of another address is not led to this machine, neither by a redirect nor by its name', async () => {
    const ask = createFetchFor({ allowLoopback: true, allowed: [] }, createGuardedFetch);
    const init = { method: 'GET', headers: new Headers(), body: undefined, signal: undefined };
    await expect(ask(new URL('https://example.com/'))(new URL(feed.url), init)).rejects.toThrow(/loopback/);
    expect((await ask(new URL(elsewhere.url))(new URL(feed.url), init)).status).toBe(200);
    expect(feed.asked).toHaveLength(1);
  });

  test('a poll becomes no webhook, a webhook no poll, and a connection has to be one of the box', async () => {
    const box = await open();
    const poll = await make(box);
    const code = async (route: string, given: object) => (await call(box, route, given)).body.code;
    expect(await code(`PATCH /api/triggers/${poll.id}`, { signature: { scheme: 'github' } })).toBe('trigger_invalid');
    const hook = { name: 'x', target: { workflow: 'take' }, signature: { scheme: 'github' } };
    const { body } = await call<Trigger>(box, 'POST /api/triggers', hook);
    expect(body).toMatchObject({ kind: 'webhook', poll: null, polling: null, url: expect.stringContaining(body.id) });
    expect(await code(`PATCH /api/triggers/${body.id}`, { poll: { url: feed.url } })).toBe('trigger_invalid');
    expect(await code('POST /api/triggers', toBody({ poll: { url: '/x', connection: 'gone' } }))).toBe(
      'connection_not_found',
    );
    const id = `each-${Date.now()}`;
    await call(box, 'POST /api/connections', { id, provider: 'github', auth: 'oauth2', per: 'user', clientId: 'x' });
    expect(await code('POST /api/triggers', toBody({ poll: { url: '/user', connection: id } }))).toBe(
      'trigger_invalid',
    );
  });
}
