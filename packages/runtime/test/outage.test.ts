import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { openPostgresJournal } from '../src/engine/stores/postgres/journal.ts';
import { newJournalPath } from '../src/engine/_setup.ts';
import type { Journal } from '../src/engine/journal.ts';
import { isFinal } from '../src/engine/journal/run.ts';
import type { RunRow } from '../src/engine/journal/run.ts';
import { BoxError } from '../src/errors.ts';
import { createFaultyJournal } from '../src/engine/stores/faulty.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { wrapJournal } from '../src/engine/stores/wrap.ts';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { getRun } from '../src/sdk/run.ts';
import { svc } from '../src/svc.ts';
import type * as SqliteOpen from '../src/engine/stores/sqlite/driver.ts';
import type { SqliteDatabase } from '../src/engine/stores/sqlite/driver.ts';
import { openPg } from '../src/stores/pg.ts';
import { startProxy } from './_proxy.ts';
import { call, finish, json, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

const boxes = setupBoxes();

// The connection of the journal, for what only it can be told: how large its file may be.
const databases = vi.hoisted(() => [] as SqliteDatabase[]);
vi.mock('../src/engine/stores/sqlite/driver.ts', async (load) => {
  const real = await load<typeof SqliteOpen>();
  const findSqlite: typeof SqliteOpen.findSqlite = async (driver) => {
    const { opener, reasons } = await real.findSqlite(driver);
    const open = (path: string): SqliteDatabase => {
      const db = (opener as SqliteOpen.SqliteOpener).open(path);
      databases.push(db);
      return db;
    };
    return { opener: opener && { ...opener, open }, reasons };
  };
  return { ...real, findSqlite };
});

/** How long the journal may take where it is held until it is late: what is not held has to be in time on a busy machine, too. */
const LATE: object = { callMs: 1_000 };

/** Two steps; the first ends when it is let go. */
function createGated(result = 'one'): { workflow: TestWorkflow; isWaiting(): boolean; letGo(): void } {
  let go: (() => void) | undefined;
  const first = toStep('first', async () => {
    await new Promise<void>((resolve) => (go = resolve));
    return result;
  });
  const second = toStep('second', async (value: string) => value.length);
  return {
    workflow: { run: async () => second(await first()) },
    isWaiting: () => go !== undefined,
    letGo: () => go?.(),
  };
}

async function start(box: TestBox, key: string, input: unknown = {}): Promise<Response> {
  return box.request('/api/workflows/gated/start', json(input, { headers: { 'idempotency-key': key } }));
}

/** As a client does that was told to try again: the answer of the first start that the store took in its time. */
async function startInTime(box: TestBox, key: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const answer = await start(box, key);
    const body = (await answer.json()) as { runId: string };
    if (answer.status === 202) return body.runId;
    expect([answer.status, body]).toStrictEqual([503, expect.objectContaining({ code: 'store_unavailable' })]);
    expect(attempt).toBeLessThan(20);
  }
}

describeWhen(realServers.database, 'when Postgres cannot be reached', (server) => {
  const openOn = async (engine = {}) => {
    const database = await createDatabase(server);
    const proxy = await startProxy(database.url);
    const sql = openPg(proxy.url);
    onTestFinished(async () => {
      await sql.close();
      await proxy.close();
      await database.drop();
    });
    const journal = await openPostgresJournal({ sql });
    const gated = createGated();
    const box = await boxes.open({
      workflows: { gated: gated.workflow },
      options: { journal, exclusive: false, engine, probes: { journal: async () => void (await journal.now()) } },
    });
    const runId = await startWorkflow(box, 'gated');
    await until(gated.isWaiting);
    return { box, proxy, gated, runId };
  };

  test('the box lives, says so, refuses writes, and goes on by itself when it is back', async () => {
    const { box, proxy, gated, runId } = await openOn();
    proxy.cut();
    expect((await box.request('/live')).status).toBe(200);
    const health = await call(box, 'GET /health');
    expect(health).toMatchObject({ status: 503, body: { checks: { journal: { status: 'failed' } } } });
    const refused = await start(box, 'k');
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'store_unavailable' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const route of [`POST /api/runs/${runId}/cancel`, `GET /api/runs/${runId}`])
      expect(await call(box, route)).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
    gated.letGo();
    proxy.restore();
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: 3 });
    await until(async () => (await box.request('/health')).status === 200);
    const first = (await (await start(box, 'k')).json()) as Record<string, unknown>;
    expect(await (await start(box, 'k')).json()).toEqual(first);
  }, 60_000);

  test('connections that are swallowed are given up, and the run goes on', async () => {
    const { box, proxy, gated, runId } = await openOn({ callMs: 3_000 });
    proxy.swallow();
    expect((await start(box, 'k')).status).toBe(503);
    gated.letGo();
    proxy.restore();
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: 3 });
  }, 90_000);
});

describe('when the disk is full', () => {
  test('starts are refused, and runs go on by themselves once there is room', async () => {
    const gated = createGated('x'.repeat(200_000));
    const box = await boxes.open({ workflows: { gated: gated.workflow } });
    const db = databases.at(-1) as SqliteDatabase;
    const runId = await startWorkflow(box, 'gated');
    await until(gated.isWaiting);
    const { page_count: pages } = db.prepare<{ page_count: number }>('pragma page_count').get() ?? { page_count: 0 };
    db.exec(`pragma max_page_count = ${pages}`);
    const refused = await start(box, 'k', { text: 'x'.repeat(100_000) });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'store_full' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    gated.letGo();
    expect((await start(box, 'k', { text: 'x'.repeat(100_000) })).status).toBe(503);
    expect(await call(box, `GET /api/runs/${runId}`)).toMatchObject({ status: 200, body: { endedAt: null } });
    db.exec('pragma max_page_count = 1000000');
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: 200_000 });
  });
});

describeOnJournals('more starts than the store takes in its time', (openJournal) => {
  test('are refused with when to ask again, and a repeat with the key of one begins no second run', async () => {
    let open = (): void => {};
    const held = new Promise<void>((resolve) => (open = resolve));
    let isHeld = true;
    const inner = await openJournal();
    // As in a queue that is longer than what the store commits in that time: what waits is written once it is its turn.
    const journal = wrapJournal(inner, async (name, pass) => {
      if (name === 'create' && isHeld) await held;
      return pass();
    });
    const box = await boxes.open({
      workflows: { gated: { run: async () => 'done' } },
      journal,
      options: { exclusive: journal.adapter === 'sqlite', engine: LATE },
    });
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
    for (const refused of await Promise.all(keys.map((key) => start(box, key)))) {
      expect([refused.status, refused.headers.get('retry-after')]).toStrictEqual([503, '1']);
      expect(await refused.json()).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(
          /did not answer "create" within 1 seconds\. Try again\. The start may have been made .*this Idempotency-Key/,
        ),
        details: { mayHaveStarted: true },
      });
    }
    isHeld = false;
    open();
    const ids = await Promise.all(keys.map((key) => startInTime(box, key)));
    for (const runId of ids) expect(await finish(box, runId)).toMatchObject({ output: 'done' });
    const { body } = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?limit=100');
    expect(body.items.map(({ runId }) => runId).toSorted()).toStrictEqual(ids.toSorted());
  });
});

describeOnJournals('a start that the store answers too late', (openJournal) => {
  test.each([
    ['without a key, says under which id it may be found', {}, /look for run "[\w-]+" before it is sent again/],
    ['with a key, is found by it', { 'idempotency-key': 'k' }, /with this Idempotency-Key finds it/],
    ['that may wait, says nothing of an id', { 'x-svc-delay': '1s' }, /look among its runs before it is sent again/],
  ])('%s', async (_name, headers, says) => {
    let open = (): void => {};
    const held = new Promise<void>((resolve) => (open = resolve));
    const journal = wrapJournal(await openJournal(), async (name, pass) => {
      if (name === 'create') await held;
      return pass();
    });
    const box = await boxes.open({
      workflows: { gated: { run: async () => 'done' } },
      journal,
      options: { exclusive: journal.adapter === 'sqlite', engine: LATE },
    });
    const send = () =>
      box.request('/api/workflows/gated/start', json({}, { headers: headers as Record<string, string> }));
    const refused = (await (await send()).json()) as { message: string; details: { runId?: string } };
    expect(refused).toMatchObject({ code: 'store_unavailable', details: { mayHaveStarted: true } });
    expect(refused.message).toMatch(says);
    open();
    const list = async () => (await call<{ items: { runId: string }[] }>(box, 'GET /api/runs')).body.items;
    await until(async () => (await list()).length === 1);
    const [run] = await list();
    expect(refused.details.runId).toBe('x-svc-delay' in headers ? undefined : run?.runId);
    const again = (await (await send()).json()) as { runId?: string };
    const isKeyed = 'idempotency-key' in headers;
    expect([again.runId === run?.runId, (await list()).length]).toStrictEqual([
      isKeyed,
      isKeyed || 'x-svc-delay' in headers ? 1 : 2,
    ]);
  });
});

describeOnJournals('a body that asks about another run while the store is away', (openJournal) => {
  /** `breakAt`: the call of the journal that is the first to fail, once the body has begun. */
  const open = async (ask: (runId: string) => Promise<unknown>, breakAt?: string) => {
    const faulty = createFaultyJournal(await openJournal());
    const gated = createGated();
    let armed: string | undefined;
    const run = async (runId: string) => {
      armed = breakAt;
      return ask(runId);
    };
    const journal = wrapJournal(faulty.journal, (name, pass) => {
      if (name === armed) {
        armed = breakAt = undefined;
        faulty.break('fail', 1, Infinity);
      }
      return pass();
    });
    const box = await boxes.open({
      workflows: { gated: gated.workflow, quick: { run: async () => 3 }, asks: { run } },
      journal,
      options: { exclusive: journal.adapter === 'sqlite' },
    });
    return { box, faulty, gated };
  };
  /** So often has the call been repeated that the store was away for seconds. */
  const isRepeated = (suffered: string[], name: string) => suffered.filter((each) => each === name).length >= 5;

  test.each([
    ['run.status', 'getLastRun', (runId: string) => getRun(runId).status, 'completed'],
    ['run.returnValue', 'getLastRun', (runId: string) => getRun(runId).returnValue, 3],
    ['startAndWait', 'create', () => svc.workflows.startAndWait('quick', {}), 3],
  ])(
    '%s answers once it is back',
    async (_, name, ask, output) => {
      const { box, faulty } = await open(ask, name);
      const asked = await startWorkflow(box, 'quick');
      await finish(box, asked);
      const runId = await startWorkflow(box, 'asks', asked);
      await until(() => isRepeated(faulty.suffered(), name));
      faulty.heal();
      expect(await finish(box, runId)).toMatchObject({ status: 'completed', output });
    },
    60_000,
  );

  test.each([
    ['run.returnValue', (runId: string) => getRun(runId).returnValue],
    ['startAndWait', () => svc.workflows.startAndWait('gated', {})],
  ])(
    '%s waits on for a run that ends meanwhile',
    async (name, ask) => {
      const { box, faulty, gated } = await open(ask);
      const isStarting = name === 'startAndWait';
      const asked = isStarting ? '' : await startWorkflow(box, 'gated');
      const runId = await startWorkflow(box, 'asks', asked);
      await until(gated.isWaiting);
      faulty.break('fail', 1, Infinity);
      gated.letGo();
      await until(() => faulty.suffered().filter((made) => made === 'append').length >= 5);
      faulty.heal();
      expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: 3 });
    },
    60_000,
  );
});

describeOnJournals('a sub-agent that has answered while the store is away', (openJournal) => {
  test('is read once it is back', async () => {
    // No other call fails: of those that the request itself waits for, it would be refused.
    let isAway = false;
    let hasEnded = false;
    let refused = 0;
    const journal = wrapJournal(await openJournal(), async (name, pass) => {
      if (name !== 'getRuns') return pass();
      if (isAway && hasEnded) {
        refused++;
        throw new BoxError('store_unavailable', 'This is a test.');
      }
      const runs = await pass();
      // That it has ended is read first, then what it has answered. It may be looked at while it works, too.
      hasEnded = (runs as RunRow[]).some(({ status }) => isFinal(status));
      return runs;
    });
    const arm = defineTool({ description: 'Arms.', inputSchema: z.object({}), execute: () => (isAway = true) });
    const child = { name: 'child', description: 'Does it.', tools: { arm } };
    const agents = { lead: defineDeepAgent({ name: 'lead', subagents: [child] }) };
    const box = await boxes.open({ agents, journal, options: { exclusive: journal.adapter === 'sqlite' } });
    const task = JSON.stringify({ subagent_type: 'child', description: 'tool:arm {}; say:I did it.' });
    const headers = { authorization: 'Bearer dev' };
    const messages = [{ role: 'user', content: `tool:task ${task}; say:Done.` }];
    const asked = box.request('/wire-a/v1/chat/completions', json({ model: 'lead', messages }, { headers }));
    await until(() => refused >= 3);
    isAway = false;
    expect((await asked).status).toBe(200);
    const { messages: told = [] } = box.model.requests.at(-1) ?? {};
    expect(told.at(-1)).toMatchObject({ role: 'tool', content: 'I did it.' });
  }, 60_000);
});

// --- internal ---

/** The same tests on a journal in SQLite and, where there is a server, on one in Postgres. */
function describeOnJournals(name: string, tests: (open: () => Promise<Journal>) => void): void {
  describe(`${name}, on SQLite`, () => tests(() => openSqliteJournal({ path: newJournalPath() })));
  describeWhen(realServers.database, `${name}, on Postgres`, (server) => {
    tests(async () => {
      const database = await createDatabase(server);
      const sql = openPg(database.url);
      onTestFinished(async () => {
        await sql.close();
        await database.drop();
      });
      return openPostgresJournal({ sql });
    });
  });
}
