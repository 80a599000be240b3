import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { svc } from '../src/index.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import type { Drizzle } from '../src/stores/drizzle.ts';
import { openPg } from '../src/stores/pg.ts';
import { createLazyDatabase } from '../src/testing/database.ts';
import { createDeliveryLeases } from '../src/triggers/delivery-leases.ts';
import type { Session } from '../src/sessions/session.ts';
import type { TriggerLimits } from '../src/triggers/limits.ts';
import type { Trigger, TriggerDelivery } from '../src/triggers/store.ts';
import { describeWhen, realServers } from './require.ts';
import { SENDERS } from './_senders.ts';
import { call, finish, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const secretKey = newMasterKey();

interface Ways {
  /** Workflows that fail to start, by what the box says of them. */
  isBroken: boolean;
}
const ways: Ways = { isBroken: false };

const wait = toStep('wait', async () => {
  await until(() => !ways.isBroken);
});

const WORKFLOWS = {
  take: { run: async (input: unknown) => input },
  typed: {
    run: async (input: unknown) => input,
    inputSchema: z.object({ issue: z.number(), title: z.string(), labels: z.array(z.string()).default([]) }),
  },
  alone: { run: async () => wait(), serial: { onConflict: 'reject' } },
  talk: { run: ({ session }: { session: string }) => svc.agent('helper').session(session).send('say:from code') },
  inTurn: { run: async () => wait(), serial: true },
};
const AGENTS = { helper: defineDeepAgent({ name: 'helper', instructions: 'You help.' }) };

type Got = Trigger & { deliveries: TriggerDelivery[] };

describe('triggers on PGlite', () => {
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  afterAll(() => database.close());
  suite(() => db);
});

describeWhen(realServers.database, 'triggers on Postgres', (server) => {
  let db: Drizzle;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const made = await createDatabase(server);
    const opened = openDatabase(openPg(made.url));
    await opened.ready;
    db = opened.db;
    close = async () => {
      await opened.close();
      await made.drop();
    };
  });
  afterAll(() => close());
  suite(() => db);
});

function suite(database: () => Drizzle): void {
  const open = (limits: Partial<TriggerLimits> = {}, more: object = {}) =>
    boxes.open({
      workflows: WORKFLOWS,
      agents: AGENTS,
      ...more,
      options: {
        db: database(),
        secretKey,
        engine: { sweepMs: 20 },
        // A box that has just begun, and is asked for longer than a client would wait.
        firstLookMs: 1,
        triggerLimits: { lookMs: 50, firstRetryMs: 20, busyMs: 20, ...limits },
      },
    });

  const make = async (box: TestBox, scheme: string, more: object = {}): Promise<Trigger> => {
    const { signature, secret } = SENDERS[scheme]!;
    const { status, body } = await call<Trigger>(box, 'POST /api/triggers', {
      name: `from ${scheme}`,
      target: { workflow: 'take' },
      signature,
      secret,
      ...more,
    });
    expect([status, body]).toEqual([201, expect.objectContaining({ name: expect.any(String) })]);
    return body;
  };
  const get = async (box: TestBox, id: string) => (await call<Got>(box, `GET /api/triggers/${id}`)).body;
  interface How {
    at?: number;
    id?: string;
    secret?: string;
    query?: string;
  }
  const sign = (scheme: string, body: object, how: How = {}) =>
    SENDERS[scheme]!.sign(body, { at: Date.now(), id: randomUUID(), secret: SENDERS[scheme]!.secret, ...how });
  const post = async (
    box: TestBox,
    id: string,
    init: { headers: Record<string, string>; body: string },
    query = '',
  ) => {
    const answer = await box.app.request(`/api/inbound/${id}${query}`, { method: 'POST', ...init });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const send = (box: TestBox, id: string, scheme: string, body: object, how: How = {}) =>
    post(box, id, sign(scheme, body, how), how.query);
  const ended = async (box: TestBox, id: string, count = 1): Promise<TriggerDelivery[]> => {
    let found: TriggerDelivery[] = [];
    await until(async () => {
      found = (await get(box, id)).deliveries;
      return found.length >= count && found.every(({ endedAt }) => endedAt !== null);
    });
    return found;
  };
  const BODY = { action: 'opened', type: 'invoice.paid', issue: { number: 7, title: 'It breaks' } };

  describe.each(Object.keys(SENDERS))('%s', (scheme) => {
    test('is let in, starts one run with what came, and is known again', async () => {
      const box = await open();
      const { id, url, state } = await make(box, scheme);
      expect([state, url]).toEqual(['ready', `http://127.0.0.1:4242/api/inbound/${id}`]);
      const sent = sign(scheme, BODY);
      const first = await post(box, id, sent, '?from=test');
      expect(first).toEqual({ status: 200, body: { deliveryId: expect.stringMatching(/^dlv_/), state: 'pending' } });
      const again = await post(box, id, sent, '?from=test');
      expect(again.body).toEqual({ deliveryId: first.body.deliveryId, state: 'repeated' });
      const [delivery, ...others] = await ended(box, id);
      expect(others).toEqual([]);
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, event: SENDERS[scheme]!.event, problem: null });
      const run = await finish(box, delivery!.runId!);
      expect(run).toMatchObject({
        kind: 'workflow',
        name: 'take',
        trigger: 'trigger',
        status: 'completed',
        output: { query: { from: 'test' }, headers: { 'content-type': 'application/json' } },
      });
      expect((run.output as { body: object }).body).toMatchObject({ issue: { number: 7, title: 'It breaks' } });
      expect(JSON.stringify(run)).not.toContain(SENDERS[scheme]!.secret);
    });

    test('with another secret, another body or an old time is 401, as any trigger there is not', async () => {
      const box = await open();
      const { id } = await make(box, scheme);
      const old = Date.now() - 301_000;
      const good = sign(scheme, BODY);
      const isSigned = !['gitlab', 'token', 'basic'].includes(scheme);
      const wrong = [
        await send(box, id, scheme, BODY, { secret: 'whsec_QUJDREVGR0hJSktMTU5PUFFS' }),
        await post(box, id, { headers: { 'content-type': 'application/json' }, body: good.body }),
        await post(box, `trg_${'x'.repeat(22)}`, good),
        await post(box, 'nothing%00', good),
        ...(isSigned ? [await post(box, id, { ...good, body: good.body.replace('7', '8') })] : []),
        ...(SENDERS[scheme]!.hasTime ? [await send(box, id, scheme, BODY, { at: old })] : []),
      ];
      await call(box, `PATCH /api/triggers/${id}`, { enabled: false });
      wrong.push(await post(box, id, good));
      for (const { status, body } of wrong)
        expect([status, body.code, body.message]).toEqual([
          401,
          'invalid_signature',
          'The request is not signed as this address wants it.',
        ]);
      expect((await get(box, id)).deliveries).toEqual([]);
    });
  });

  test('two secrets are good while they are rotated, and one without a secret lets nothing in', async () => {
    const box = await open();
    const { id, state } = await make(box, 'github', { secret: undefined });
    expect(state).toBe('needs_secret');
    const change = async (given: object) => (await call<Trigger>(box, `PATCH /api/triggers/${id}`, given)).body;
    const tryBoth = async () => [
      (await send(box, id, 'github', BODY, { secret: 'the first one' })).status,
      (await send(box, id, 'github', BODY, { secret: 'the second one' })).status,
      (await send(box, id, 'github', BODY, { secret: '' })).status,
    ];
    expect(await tryBoth()).toEqual([401, 401, 401]);
    expect(await change({ secret: 'the first one' })).toMatchObject({ state: 'ready', secrets: 1 });
    expect(await tryBoth()).toEqual([200, 401, 401]);
    expect(await change({ secret: 'the second one' })).toMatchObject({ secrets: 2 });
    expect(await tryBoth()).toEqual([200, 200, 401]);
    expect(await change({ dropsPrevious: true })).toMatchObject({ secrets: 1 });
    expect(await tryBoth()).toEqual([401, 200, 401]);
    const shown = JSON.stringify([await get(box, id), (await call(box, 'GET /api/activity')).body]);
    expect(shown).toContain(id);
    expect(shown).not.toContain('the second one');
    const sealed = await database().execute(
      sql`select sealed::text from svc.secrets where owner = 'triggers' and name like ${`%${id}%`}`,
    );
    expect(sealed).toHaveLength(1);
    expect(JSON.stringify(sealed)).not.toContain('the second one');
    await call(box, `DELETE /api/triggers/${id}`);
    expect(
      await database().execute(sql`select 1 from svc.secrets where owner = 'triggers' and name like ${`%${id}%`}`),
    ).toEqual([]);
    expect((await call(box, `GET /api/triggers/${id}`)).body.code).toBe('trigger_not_found');
  });

  test('slack hears its challenge, and no run begins', async () => {
    const box = await open();
    const { id } = await make(box, 'slack');
    const challenge = JSON.stringify({ type: 'url_verification', challenge: '3eZbrw1aB' });
    const at = String(Math.floor(Date.now() / 1_000));
    const { createHmac } = await import('node:crypto');
    const value = createHmac('sha256', SENDERS.slack!.secret).update(`v0:${at}:${challenge}`).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-slack-request-timestamp': at,
      'x-slack-signature': `v0=${value}`,
    };
    expect(await post(box, id, { headers, body: challenge })).toEqual({
      status: 200,
      body: { challenge: '3eZbrw1aB' },
    });
    expect((await get(box, id)).deliveries).toEqual([]);
  });

  describe('a mapping', () => {
    test('makes the input of a workflow, and what does not match is a dead letter that says why', async () => {
      const box = await open();
      const { id } = await make(box, 'github', {
        target: { workflow: 'typed' },
        mapping: {
          input: { issue: '{{body.issue.number}}', title: '{{body/issue/title}} ({{ event }})', left: '{{body.gone}}' },
        },
      });
      await send(box, id, 'github', BODY);
      const [good] = await ended(box, id);
      expect((await finish(box, good!.runId!)).output).toEqual({
        issue: 7,
        title: 'It breaks (issues.opened)',
        labels: [],
      });
      await send(box, id, 'github', { action: 'opened', issue: { number: 'seven' } });
      const [dead] = await ended(box, id, 2);
      expect(dead).toMatchObject({
        state: 'dead',
        attempts: 1,
        runId: null,
        problem: { code: 'workflow_input_invalid', issues: [{ path: ['issue'] }] },
      });
      // Mapped otherwise, it comes to something after all.
      await call(box, `PATCH /api/triggers/${id}`, {
        mapping: { input: { issue: 1, title: '{{body.issue.number}}' } },
      });
      const { status, body } = await call<TriggerDelivery>(
        box,
        `POST /api/triggers/${id}/deliveries/${dead!.id}/redeliver`,
        {},
      );
      expect([status, body]).toEqual([200, expect.objectContaining({ redeliveryOf: dead!.id, state: 'pending' })]);
      const [repeated] = await ended(box, id, 3);
      expect(repeated).toMatchObject({ id: body.id, state: 'delivered', redeliveryOf: dead!.id });
      expect((await finish(box, repeated!.runId!)).output).toMatchObject({ issue: 1, title: 'seven' });
    });

    test('makes the message of an agent and names its conversation, which goes on', async () => {
      const box = await open();
      const { id } = await make(box, 'github', {
        target: { agent: 'helper' },
        mapping: { message: 'say:{{body.text}}', session: '{{body.thread | body.channel}}' },
      });
      for (const body of [
        { text: 'one', channel: 'C1' },
        { text: 'two', channel: 'C2', thread: 'C1' },
      ])
        await send(box, id, 'github', body);
      const deliveries = await ended(box, id, 2);
      expect(deliveries.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
      for (const { runId } of deliveries)
        expect(await finish(box, runId!)).toMatchObject({ kind: 'agent', trigger: 'trigger', status: 'completed' });
      const { body } = await call<{ turns: number }>(box, 'GET /api/sessions/C1?agent=helper');
      expect(body.turns).toBe(2);
    });

    test('keeps the conversations of two triggers, of code and of a client apart, whatever they call them', async () => {
      const box = await open();
      const target = { agent: 'helper' };
      const mapping = { message: 'say:{{body.text}}', session: '{{body.channel}}' };
      const ids = [
        (await make(box, 'github', { target, mapping })).id,
        (await make(box, 'github', { target, mapping })).id,
      ];
      for (const id of ids) {
        await send(box, id, 'github', { text: `from ${id}`, channel: 'C9' });
        const [delivery] = await ended(box, id, 1);
        await finish(box, delivery!.runId!);
      }
      await runWorkflow(box, 'talk', { session: 'C9' });
      const { body } = await call<{ items: Session[] }>(box, 'GET /api/sessions?agent=helper&limit=100');
      const found = body.items.filter(({ name }) => name === 'C9');
      expect(new Set(found.map(({ sessionId }) => sessionId)).size).toBe(3);
      expect(found.map(({ owner, turns }) => [owner?.kind ?? null, owner?.id ?? null, turns])).toEqual(
        expect.arrayContaining([...ids.map((id) => ['trigger', id, 1]), [null, null, 1]]),
      );
      for (const [at, id] of ids.entries()) {
        const { sessionId } = found.find(({ owner }) => owner?.id === id)!;
        const messages = JSON.stringify((await call(box, `GET /api/sessions/${sessionId}/messages`)).body);
        expect(messages).toContain(`from ${id}`);
        expect(messages).not.toContain(`from ${ids[1 - at]}`);
      }
    });

    test('without one an agent is given the body', async () => {
      const box = await open();
      const { id } = await make(box, 'token', { target: { agent: 'helper' } });
      await post(box, id, {
        headers: { 'x-token': 'Token shared between two', 'content-type': 'text/plain' },
        body: 'say:hello',
      });
      const [delivery] = await ended(box, id);
      expect(await finish(box, delivery!.runId!)).toMatchObject({ output: { content: 'hello' } });
    });

    test.each([
      ['a form', 'application/x-www-form-urlencoded', 'a=1&b=2&b=3&__proto__=x', { a: '1', b: ['2', '3'] }],
      ['JSON in a form', 'application/x-www-form-urlencoded', `payload=${encodeURIComponent('{"a":[1]}')}`, { a: [1] }],
      ['text', 'text/plain', 'plain \u0000 text', 'plain \u0000 text'],
      ['JSON as text', 'text/plain; charset=utf-8', ' {"a":1}', { a: 1 }],
      ['nothing', 'application/octet-stream', '', null],
    ])('is given %s as what it says', async (_, type, body, wanted) => {
      const box = await open();
      const { id } = await make(box, 'token', { mapping: { input: '{{body}}' } });
      await post(box, id, { headers: { 'x-token': 'Token shared between two', 'content-type': type }, body });
      const [delivery] = await ended(box, id);
      expect((await finish(box, delivery!.runId!)).output).toEqual(wanted);
    });

    test.each([
      [{ target: { workflow: 'gone' } }, 'workflow_not_found'],
      [{ target: { agent: 'gone' } }, 'agent_not_found'],
      [{ target: { agent: 'studio-copilot' } }, 'trigger_invalid'],
      [{ mapping: { message: 'x' } }, 'trigger_invalid'],
      [{ mapping: { input: '{{ nothing.here }}' } }, 'trigger_invalid'],
      [{ event: 'body~x' }, 'trigger_invalid'],
      [{ signature: { scheme: 'hmac' } }, 'trigger_invalid'],
      [{ signature: { scheme: 'github', header: 'x-y' } }, 'trigger_invalid'],
      [{ signature: { scheme: 'standard-webhooks' }, secret: 'no base64 at all' }, 'trigger_invalid'],
      [{ where: { 'other.place': 1 } }, 'trigger_invalid'],
    ])('or a target that cannot be is refused: %j', async (more, code) => {
      const box = await open();
      const { signature, secret } = SENDERS.github!;
      const given = { name: 'x', target: { workflow: 'take' }, signature, secret, ...more };
      const { body } = await call(box, 'POST /api/triggers', given);
      expect([body.code, body.message]).toEqual([code, expect.stringMatching(/\.$/)]);
    });
  });

  test('what the trigger is not for is filtered, and nothing is kept of it', async () => {
    const box = await open();
    const { id } = await make(box, 'github', {
      events: ['issues'],
      where: { 'body.repo': ['a', 'b'], 'body.bot': null },
    });
    for (const more of [{ repo: 'a' }, { repo: 'c' }, { repo: 'b', bot: 'x' }, {}])
      await send(box, id, 'github', { ...BODY, ...more });
    const states = (await ended(box, id, 4)).map(({ state }) => state);
    expect(states).toEqual(['filtered', 'filtered', 'filtered', 'delivered']);
    await call(box, `PATCH /api/triggers/${id}`, { events: ['pull_request'], where: null });
    expect((await send(box, id, 'github', BODY)).body.state).toBe('filtered');
    const [last] = (await get(box, id)).deliveries;
    const { body } = await call(box, `POST /api/triggers/${id}/deliveries/${last!.id}/redeliver`, {});
    expect(body.code).toBe('delivery_not_found');
  });

  test('the same body without an id is one delivery within the window, and another after it', async () => {
    const box = await open();
    const { id } = await make(box, 'token', { deduplicate: null });
    const same = { headers: { 'x-token': 'Token shared between two' }, body: 'ping' };
    expect((await post(box, id, same)).body.state).toBe('pending');
    expect((await post(box, id, same)).body.state).toBe('repeated');
    await database().execute(
      sql`update svc.trigger_deliveries set dedupe_until = now() - interval '1 s' where trigger_id = ${id}`,
    );
    const both = await Promise.all([post(box, id, same), post(box, id, same)]);
    expect(both.map(({ body }) => body.state).toSorted()).toEqual(['pending', 'repeated']);
    expect(await ended(box, id, 2)).toHaveLength(2);
  });

  test('the sender says by a place of its own which delivery it is', async () => {
    const box = await open();
    const { id } = await make(box, 'token', { deduplicate: 'body.key', event: 'headers.X-Kind' });
    const of = (key: string, n: number) => ({
      headers: { 'x-token': 'Token shared between two', 'x-kind': 'made' },
      body: JSON.stringify({ key, n }),
    });
    expect((await post(box, id, of('a', 1))).body.state).toBe('pending');
    expect((await post(box, id, of('a', 2))).body.state).toBe('repeated');
    expect((await post(box, id, of('b', 1))).body.state).toBe('pending');
    expect((await ended(box, id, 2)).map(({ senderId, event }) => [senderId, event])).toEqual([
      ['b', 'made'],
      ['a', 'made'],
    ]);
  });

  test.each(['github', 'shopify'])(
    'a call of %s that is sent again with another id is known by its body',
    async (scheme) => {
      const box = await open();
      const { id } = await make(box, scheme, { deduplicate: 'body.issue.number' });
      const first = await send(box, id, scheme, BODY, { id: 'one' });
      const again = await send(box, id, scheme, BODY, { id: 'another' });
      expect(again.body).toEqual({ deliveryId: first.body.deliveryId, state: 'repeated' });
      const [delivery, ...others] = await ended(box, id);
      expect([delivery?.senderId, others]).toEqual(['7', []]);
      // The place has nothing: it is known by the whole body, and still not by the header.
      const bare = { action: 'opened' };
      expect((await send(box, id, scheme, bare, { id: 'one' })).body.state).toBe('pending');
      expect((await send(box, id, scheme, bare, { id: 'another' })).body.state).toBe('repeated');
    },
  );

  describe('a delivery that cannot start its run', () => {
    test('is tried again, and is a dead letter after as many tries as there are', async () => {
      const box = await open({ tries: 3 });
      const { id } = await make(box, 'github');
      await box.shut();
      const without = await open({ tries: 3 }, { workflows: {} });
      await send(without, id, 'github', BODY);
      const [dead] = await ended(without, id);
      expect(dead).toMatchObject({ state: 'dead', attempts: 3, nextAt: null, problem: { code: 'workflow_not_found' } });
      expect(without.logs).toContainEqual(expect.objectContaining({ trigger: id, delivery: dead!.id }));
      await without.shut();
      const after = await open();
      await call(after, `POST /api/triggers/${id}/deliveries/${dead!.id}/redeliver`, {});
      expect((await ended(after, id, 2))[0]).toMatchObject({ state: 'delivered', redeliveryOf: dead!.id });
    });

    test('because a run is in its way, waits for that without using up its tries', async () => {
      const box = await open({ tries: 2 });
      const { id } = await make(box, 'github', { target: { workflow: 'alone' } });
      ways.isBroken = true;
      for (const n of [1, 2]) await send(box, id, 'github', { n });
      await until(async () => (await get(box, id)).deliveries.some(({ problem }) => problem?.code === 'workflow_busy'));
      const started = performance.now();
      await until(() => performance.now() - started > 200);
      ways.isBroken = false;
      expect((await ended(box, id, 2)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    });

    test('of a workflow whose runs stand in a queue, has the place of its start there', async () => {
      const box = await open();
      const { id } = await make(box, 'github', { target: { workflow: 'inTurn' } });
      ways.isBroken = true;
      for (const n of [1, 2]) await send(box, id, 'github', { n });
      const deliveries = await ended(box, id, 2);
      expect(deliveries.map(({ runId, queueId }) => [runId, queueId].filter((each) => each !== null).length)).toEqual([
        1, 1,
      ]);
      expect(deliveries.filter(({ queueId }) => queueId !== null)).toHaveLength(1);
      ways.isBroken = false;
    });

    test('waits while the program is not there, and is started by the process that has it', async () => {
      const box = await open();
      const { id } = await make(box, 'github');
      await box.shut();
      const closed = await open({ tries: 2 }, { hasJustBegun: true });
      await send(closed, id, 'github', BODY);
      await until(async () => (await get(closed, id)).deliveries[0]?.problem !== null);
      expect((await get(closed, id)).deliveries[0]).toMatchObject({ state: 'failed', attempts: 0 });
      await closed.shut();
      const next = await open();
      expect(await ended(next, id)).toMatchObject([{ state: 'delivered' }]);
    });
  });

  test('of a trigger that is disabled waits, as no try, and goes on once it is enabled again', async () => {
    const box = await open({ tries: 2 });
    const { id } = await make(box, 'github', { target: { workflow: 'alone' } });
    ways.isBroken = true;
    for (const n of [1, 2]) await send(box, id, 'github', { n });
    await until(async () => (await get(box, id)).deliveries.some(({ problem }) => problem?.code === 'workflow_busy'));
    await call(box, `PATCH /api/triggers/${id}`, { enabled: false });
    ways.isBroken = false;
    const waiting = sql`trigger_id = ${id} and state = 'failed' and lease_id is null`;
    await until(async () => {
      const { deliveries } = await get(box, id);
      const runs = deliveries.flatMap(({ runId }) => (runId === null ? [] : [runId]));
      const rows = await database().execute(sql`select 1 from svc.trigger_deliveries where ${waiting}`);
      const run = await call<{ status: string }>(box, `GET /api/runs/${runs[0]}`);
      return run.body.status === 'completed' && (rows as unknown as unknown[]).length === 1;
    });
    // It is long due, and neither is taken nor looked for.
    await database().execute(sql`update svc.trigger_deliveries set next_at = '2000-01-01' where ${waiting}`);
    const nextIn = await createDeliveryLeases(database(), { leaseMs: 1_000 }).nextIn();
    expect(nextIn ?? 0).toBeGreaterThan(-1_000_000_000);
    const started = performance.now();
    await until(() => performance.now() - started > 200);
    expect((await get(box, id)).deliveries.map(({ state, attempts }) => [state, attempts]).toSorted()).toEqual([
      ['delivered', 1],
      ['failed', 0],
    ]);
    await call(box, `PATCH /api/triggers/${id}`, { enabled: true });
    expect((await ended(box, id, 2)).map(({ state, attempts }) => [state, attempts])).toEqual([
      ['delivered', 1],
      ['delivered', 1],
    ]);
  });

  test('one that is long in coming to its turn, since its trigger was disabled, is not dead for that', async () => {
    const box = await open({ tries: 2, busyForMs: 60_000 });
    const { id } = await make(box, 'github', { target: { workflow: 'alone' } });
    ways.isBroken = true;
    for (const n of [1, 2]) await send(box, id, 'github', { n });
    await until(async () => (await get(box, id)).deliveries.some(({ problem }) => problem?.code === 'workflow_busy'));
    await call(box, `PATCH /api/triggers/${id}`, { enabled: false });
    await database().execute(
      sql`update svc.trigger_deliveries set received_at = now() - interval '1 day' where trigger_id = ${id}`,
    );
    await call(box, `PATCH /api/triggers/${id}`, { enabled: true });
    const started = performance.now();
    await until(() => performance.now() - started > 300);
    ways.isBroken = false;
    expect((await ended(box, id, 2)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  });

  test('one that a process has taken and not ended is started by another, and is one run', async () => {
    const box = await open({ leaseMs: 60_000 });
    const { id } = await make(box, 'github');
    await send(box, id, 'github', BODY);
    const [first] = await ended(box, id);
    await database().execute(
      sql`update svc.trigger_deliveries set state = 'pending', run_id = null, ended_at = null,
        lease_id = gen_random_uuid(), lease_until = now() + interval '300 ms' where trigger_id = ${id}`,
    );
    const other = await open();
    const [second] = await ended(other, id);
    expect(second).toMatchObject({ state: 'delivered', attempts: 2 });
    // The other box has a journal of its own; in the same one it is the same run.
    expect(typeof second!.runId).toBe('string');
    expect(first!.id).toBe(second!.id);
  });

  test('a sender is held to a size, to a rate, and to what may wait', async () => {
    const box = await open({ bodyBytes: 1_000, perMinute: 5, mostPending: 2 }, { hasJustBegun: true });
    const { id } = await make(box, 'token');
    const headers = { 'x-token': 'Token shared between two' };
    expect((await post(box, id, { headers, body: 'x'.repeat(1_001) })).body.code).toBe('payload_too_large');
    const codes: (string | undefined)[] = [];
    for (let n = 0; n < 6; n++) {
      const { status, body } = await post(box, id, { headers, body: `n ${n}` });
      codes.push(status === 200 ? body.state : body.code);
    }
    expect(codes).toEqual([
      'pending',
      'pending',
      ...Array.from({ length: 3 }, () => 'trigger_queue_full'),
      'rate_limited',
    ]);
  });

  test('what is delivered again is held to what may wait as well', async () => {
    const box = await open({ mostPending: 2 }, { hasJustBegun: true });
    const { id } = await make(box, 'token');
    const headers = { 'x-token': 'Token shared between two' };
    const { deliveryId } = (await post(box, id, { headers, body: 'one' })).body;
    const again = () => call(box, `POST /api/triggers/${id}/deliveries/${deliveryId}/redeliver`, {});
    expect((await again()).body).toMatchObject({ state: 'pending', redeliveryOf: deliveryId });
    expect(await again()).toMatchObject({
      status: 429,
      body: { code: 'trigger_queue_full', message: expect.stringMatching(/^2 deliveries of this trigger wait/) },
    });
    expect((await get(box, id)).deliveries).toHaveLength(2);
  });

  test('an address whose signatures are wrong too often has to wait, and a right one is let in', async () => {
    const box = await open({ wrongPerMinute: 3 });
    const { id } = await make(box, 'github');
    const codes: (string | undefined)[] = [];
    for (let n = 0; n < 5; n++) codes.push((await send(box, id, 'github', BODY, { secret: 'wrong' })).body.code);
    expect(codes).toEqual([...Array.from({ length: 3 }, () => 'invalid_signature'), 'rate_limited', 'rate_limited']);
    expect((await send(box, id, 'github', BODY)).status).toBe(200);
  });

  test('harmful JSON is refused, whoever signed it', async () => {
    const box = await open();
    const { id } = await make(box, 'token');
    const headers = { 'x-token': 'Token shared between two', 'content-type': 'application/json' };
    const bodies = ['{"a":', '{"__proto__":1}', '['.repeat(100) + ']'.repeat(100)];
    for (const body of bodies) expect((await post(box, id, { headers, body })).body.code).toBe('invalid_json');
    expect((await get(box, id)).deliveries).toEqual([]);
  });

  test('of what is over so much is kept, and the rest goes', async () => {
    const box = await open({ keptCount: 3 });
    const { id } = await make(box, 'token', { events: ['never'], event: 'body.kind' });
    for (let n = 0; n < 100; n++)
      await post(box, id, { headers: { 'x-token': 'Token shared between two' }, body: `{"n":${n}}` });
    await until(async () => (await get(box, id)).deliveries.length <= 3);
    expect((await get(box, id)).lastDelivery).toMatchObject({ state: 'filtered' });
  });

  test('what is changed at the same time is all changed', async () => {
    const box = await open();
    const { id } = await make(box, 'github', { enabled: true });
    const changes = [
      { enabled: false },
      { name: 'another' },
      { events: ['push'] },
      { where: { 'body.a': ['b'] } },
      { deduplicate: 'body.id' },
      { event: 'body.kind' },
    ];
    for (let n = 0; n < 5; n++) {
      const reset = { enabled: true, name: 'one', events: null, where: null, deduplicate: null, event: null };
      await call(box, `PATCH /api/triggers/${id}`, reset);
      await Promise.all(changes.map((change) => call(box, `PATCH /api/triggers/${id}`, change)));
      expect(await get(box, id)).toMatchObject(Object.assign({}, ...changes) as object);
    }
  });

  test('there are 500 and no more', async () => {
    const box = await open();
    await database().execute(
      sql`insert into svc.triggers (id, name, target_kind, target, enabled, settings, created_by)
        select 'full-' || n, 'x', 'workflow', 'take', false, '{}', 'test' from generate_series(1, 500) n`,
    );
    const { signature, secret } = SENDERS.github!;
    const one = { name: 'x', target: { workflow: 'take' }, signature, secret };
    expect(await call(box, 'POST /api/triggers', one)).toMatchObject({
      status: 409,
      body: { code: 'too_many_triggers' },
    });
    await database().execute(sql`delete from svc.triggers where id like 'full-%'`);
  });

  test('are listed in pages with their last delivery', async () => {
    const box = await open();
    const made = [await make(box, 'github'), await make(box, 'token')];
    await send(box, made[0]!.id, 'github', BODY);
    const listed: Trigger[] = [];
    for (let cursor = ''; ;) {
      const { body } = await call<{ items: Trigger[]; nextCursor: string | null }>(
        box,
        `GET /api/triggers?limit=3${cursor}`,
      );
      listed.push(...body.items);
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    const find = (id: string) => listed.find((each) => each.id === id);
    expect(find(made[0]!.id)?.lastDelivery).toMatchObject({ id: expect.stringMatching(/^dlv_/) });
    expect(find(made[1]!.id)?.lastDelivery).toBeNull();
    expect(JSON.stringify(listed)).not.toContain(SENDERS.github!.secret);
  });

  test('a slow body holds up no other request', async () => {
    const box = await open();
    const { id } = await make(box, 'github');
    const { port } = new URL(await box.listen());
    const slow = httpRequest({
      port,
      method: 'POST',
      path: `/api/inbound/${id}`,
      headers: { 'content-length': '1000' },
    });
    slow.on('error', () => {});
    slow.write('{');
    expect((await send(box, id, 'github', BODY)).status).toBe(200);
    slow.destroy();
    expect(await ended(box, id)).toMatchObject([{ state: 'delivered' }]);
  });
}
