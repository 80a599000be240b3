import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { layCable } from '../../../torture/_cable.mjs';
import { BOX_OWNER } from '../src/agents/turn/session-store.ts';
import type { SessionStore, TurnToKeep } from '../src/agents/turn/session-store.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createSessions } from '../src/sessions/sessions.ts';
import { sessions, sessionTurns } from '../src/sessions/table.ts';
import type { StoreClient } from '../src/stores/client.ts';
import { openDatabase } from '../src/stores/database.ts';
import type { Database } from '../src/stores/database.ts';
import { createDeferred } from '../src/stores/deferred.ts';
import { openPg } from '../src/stores/pg.ts';
import { useDatabase } from './_database.ts';
import { until } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

const MANY = 40;

const embedded = useDatabase();
describe('sessions on PGlite', () => {
  describeStore(() => embedded.client);
});

describeWhen(realServers.database, 'sessions on Postgres', (server) => {
  let place: Awaited<ReturnType<typeof createDatabase>>;
  let client: StoreClient;
  beforeAll(async () => {
    place = await createDatabase(server);
    client = openPg(place.url);
  });
  afterAll(async () => {
    await client?.close();
    await place?.drop();
  });
  const opened = describeStore(() => client);

  test('a session that is locked holds up no turn of another', async () => {
    const { store, database } = opened();
    const [locked, ...others] = await openMany(store, 5);
    const lock = createDeferred();
    const held = createDeferred();
    const locking = database.db.transaction(async (tx) => {
      await tx.execute(sql`select 1 from ${sessions} where id = ${locked}::uuid for update`);
      held.resolve();
      await lock.promise;
    });
    await held.promise;
    let isKept = false;
    const waiting = store.add(toTurn(String(locked))).then(() => (isKept = true));
    await Promise.all(others.map((id) => store.add(toTurn(id))));
    expect(isKept).toBe(false);
    lock.resolve();
    await Promise.all([locking, waiting]);
    expect((await store.read(String(locked))).messages).toHaveLength(2);
  });

  test('those that share a statement whose connection is lost are read, and their turns kept, each once', async () => {
    const { store, countTurns } = opened();
    const ids = await openMany(store, 6);
    await Promise.all(ids.map((id) => store.read(id)));
    await whileLocked('session_messages', async (loseWaiting) => {
      const kept = Promise.all(ids.map((id) => store.add(toTurn(id))));
      await loseWaiting('jsonb_to_recordset');
      return kept;
    });
    for (const id of ids) expect(await countTurns(id)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
    const read = await whileLocked('sessions', async (loseWaiting) => {
      const reading = Promise.all(ids.map((id) => store.read(id)));
      await loseWaiting('jsonb_to_recordset');
      return reading;
    });
    for (const { messages } of read) expect(messages).toHaveLength(2);
  });

  test('one statement that the network has swallowed holds up sessions for seconds, not for good', async () => {
    const cable = await layCable(place.url);
    const near = openPg(cable.url);
    onTestFinished(() => near.close().finally(() => cable.close()));
    const { store, countTurns } = opened();
    const { db, ready } = openDatabase(near);
    await ready;
    const other = createSessions(db, { onChange: () => {}, onCut: async () => {} });
    const ids = await openMany(store, 4);
    // Over one connection: the statements that come next find it idle, or open their own.
    for (const id of ids) await other.read(id);
    cable.swallow();
    const kept = Promise.all(ids.map((id) => other.add(toTurn(id))));
    const read = Promise.all(ids.map((id) => other.read(id)));
    await Promise.all([kept, read]);
    for (const id of ids) expect(await countTurns(id)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
  }, 19_000);

  test('turns that two replicas add to the same sessions at once are all kept, each once', async () => {
    const { store, countTurns } = opened();
    const near = openPg(place.url);
    onTestFinished(() => near.close());
    const { db, ready } = openDatabase(near);
    await ready;
    const other = createSessions(db, { onChange: () => {}, onCut: async () => {} });
    const ids = await openMany(store, 30);
    for (let round = 0; round < 6; round++) {
      const turns = ids.map((id) => [toTurn(id), toTurn(id), toTurn(id)] as const);
      // The third is added by both: the one of them does not know that it has lost its run.
      await Promise.all(
        turns.flatMap(([one, two, both]) => [store.add(one), other.add(two), store.add(both), other.add(both)]),
      );
    }
    for (const id of ids) {
      expect(await countTurns(id)).toEqual({ turns: 18, totalTokens: 90, rows: 18 });
      const { messages } = await other.read(id);
      expect(messages).toHaveLength(36);
      for (let n = 0; n < 36; n += 2) expect(messages[n]?.id.slice(0, 36)).toBe(messages[n + 1]?.id.slice(0, 36));
    }
  });

  /** `loseWaiting`: ends the one session of the server that waits for the lock with a statement that holds the text. */
  async function whileLocked<T>(
    table: string,
    work: (loseWaiting: (text: string) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    let result: Promise<T> | undefined;
    await client.transaction(async (tx) => {
      await tx.query(`lock table svc.${table} in access exclusive mode`);
      let isLost = false;
      const loseWaiting = async (text: string): Promise<void> => {
        while (!isLost) {
          const rows = await client.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
            [text],
          );
          isLost = rows.length > 0;
        }
      };
      result = work(loseWaiting);
      result.catch(() => {});
      await until(() => isLost);
    });
    return result as Promise<T>;
  }
});

function describeStore(getClient: () => StoreClient) {
  let statements = 0;
  /** Holds back a statement by how many characters it is given. */
  let slow: (size: number) => unknown;
  let database: Database;
  let store: SessionStore;
  let changed: string[];
  beforeAll(() => {
    const client = getClient();
    const counting: StoreClient = {
      ...client,
      query: async (...given: Parameters<StoreClient['query']>) => {
        statements += 1;
        await slow(String(given[1]).length);
        return client.query(...given);
      },
    } as StoreClient;
    database = openDatabase(counting);
  });
  beforeEach(async () => {
    await database.ready;
    changed = [];
    slow = () => undefined;
    store = createSessions(database.db, { onChange: (id) => void changed.push(id), onCut: async () => {} });
  });

  test('many turns that end together are kept in few statements, each in its session', async () => {
    const ids = await openMany(store, MANY);
    const turns = ids.map((id, n) => toTurn(id, { text: `said ${n}`, cost: n / 10 }));
    await Promise.all(ids.map((id) => store.read(id)));
    statements = 0;
    await Promise.all(turns.map((turn) => store.add(turn)));
    expect(statements).toBeLessThan(6);
    expect(changed.toSorted()).toEqual(ids.toSorted());
    statements = 0;
    const found = await Promise.all(ids.map((id) => store.read(id)));
    expect(statements).toBeLessThan(6);
    for (const [n, { messages, state }] of found.entries()) {
      expect(messages.map(({ content }) => content)).toEqual([`said ${n}`, `answered said ${n}`]);
      expect(state).toEqual({ plan: [`said ${n}`] });
    }
    const [row] = await database.db
      .select()
      .from(sessions)
      .where(eq(sessions.id, String(ids[3])));
    expect(row).toMatchObject({
      turns: 1,
      inputTokens: 2,
      outputTokens: 3,
      totalTokens: 5,
      cost: 0.3,
      kind: 'session',
    });
  });

  test('the same turn again changes nothing, beside others that are new', async () => {
    const [first = '', ...others] = await openMany(store, 4);
    const turn = toTurn(first);
    await store.add(turn);
    await Promise.all([store.add(turn), ...others.map((id) => store.add(toTurn(id)))]);
    expect(await countTurns(first)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
    for (const id of others) expect(await countTurns(id)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
    expect((await store.read(first)).messages).toHaveLength(2);
  });

  test('two turns of one session at once are both kept, the one behind the other', async () => {
    const [id = ''] = await openMany(store, 1);
    await Promise.all([store.add(toTurn(id, { text: 'a' })), store.add(toTurn(id, { text: 'b' }))]);
    const { messages } = await store.read(id);
    expect(messages.map(({ content }) => content)).toEqual(['a', 'answered a', 'b', 'answered b']);
    expect(await countTurns(id)).toEqual({ turns: 2, totalTokens: 10, rows: 2 });
  });

  test('a session that is gone gets nothing, and the others what is theirs', async () => {
    const [gone = '', ...others] = await openMany(store, 4);
    await database.db.delete(sessions).where(eq(sessions.id, gone));
    await Promise.all([gone, ...others].map((id) => store.add(toTurn(id))));
    expect(await countTurns(gone)).toBeUndefined();
    for (const id of others) expect(await countTurns(id)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
    expect((await store.read(gone)).messages).toEqual([]);
  });

  test('what the database refuses of one turn is the failure of that turn alone', async () => {
    const [bad = '', ...others] = await openMany(store, 4);
    const usage = { inputTokens: 9e18, outputTokens: 9e18, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const kept = await Promise.allSettled([
      store.add({ ...toTurn(bad), usage } as TurnToKeep),
      ...others.map((id) => store.add(toTurn(id))),
    ]);
    expect(kept.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(await countTurns(bad)).toEqual({ turns: 0, totalTokens: 0, rows: 0 });
    for (const id of others) expect(await countTurns(id)).toEqual({ turns: 1, totalTokens: 5, rows: 1 });
  });

  test('each is read without the run that is named for it, with whatever it is read', async () => {
    const ids = await openMany(store, 6);
    const turns = ids.map((id) => toTurn(id));
    await Promise.all(turns.map((turn) => store.add(turn)));
    await Promise.all(ids.map((id) => store.read(id)));
    const lengthOf = async (id: string, beforeRun?: string) =>
      (await store.read(id, undefined, beforeRun)).messages.length;
    const read = turns.map(({ sessionId, runId }, n) => lengthOf(sessionId, n % 2 ? runId : randomUUID()));
    expect(await Promise.all(read)).toEqual([2, 0, 2, 0, 2, 0]);
  });

  test('a session that has grown large is read by itself, and whole', async () => {
    const [large = '', small = ''] = await openMany(store, 2);
    const text = 'x'.repeat(100_000);
    await store.add(toTurn(large, { text }));
    await store.add(toTurn(small));
    for (let n = 0; n < 2; n++) {
      statements = 0;
      const [one, other] = await Promise.all([store.read(large), store.read(small)]);
      expect(one.messages[0]?.content).toBe(text);
      expect(other.messages).toHaveLength(2);
    }
    expect(statements).toBe(2);
  });

  test('a turn that is large holds up no turn of another', async () => {
    const [large = '', ...others] = await openMany(store, 4);
    const sent = createDeferred();
    slow = (size) => size > 1_500_000 && sent.promise;
    const adding = store.add(toTurn(large, { text: 'x'.repeat(1_000_000) }));
    await Promise.all(others.map((id) => store.add(toTurn(id))));
    for (const id of others) expect(await countTurns(id)).toMatchObject({ turns: 1 });
    sent.resolve();
    await adding;
    expect(await countTurns(large)).toMatchObject({ turns: 1, rows: 1 });
  });

  async function countTurns(id: string) {
    const rows = await database.db.select().from(sessionTurns).where(eq(sessionTurns.sessionId, id));
    const [session] = await database.db.select().from(sessions).where(eq(sessions.id, id));
    return session && { turns: session.turns, totalTokens: session.totalTokens, rows: rows.length };
  }

  return () => ({ store, database, countTurns });
}

function openMany(store: SessionStore, many: number): Promise<string[]> {
  const name = randomUUID();
  return Promise.all(
    Array.from({ length: many }, (_, n) =>
      store.open({ agent: 'helper', name: `${name} ${n}`, owner: BOX_OWNER, kind: 'session' }),
    ),
  );
}

function toTurn(sessionId: string, { text = 'said', cost }: { text?: string; cost?: number } = {}): TurnToKeep {
  const runId = randomUUID();
  return {
    sessionId,
    runId,
    kind: 'session',
    messages: [
      { id: `${runId}-0`, role: 'user', content: text },
      { id: `${runId}-1`, role: 'assistant', content: `answered ${text}` },
    ],
    state: { plan: [text] } as unknown as TurnToKeep['state'],
    usage: { inputTokens: 2, outputTokens: 3 } as TurnToKeep['usage'],
    ...(cost === undefined ? {} : { cost }),
  };
}
