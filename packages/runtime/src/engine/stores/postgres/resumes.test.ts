import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import { createDeferred } from '../../../stores/deferred.ts';
import type { QueryOptions, SqlClient } from '../../../stores/sql.ts';
import type { Journal } from '../../journal.ts';
import type { RunRow } from '../../journal/run.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { newAppend, newRecord, newRun } from '../contract/records.ts';
import { start } from '../contract/world.ts';
import { createPlace } from './_places.ts';
import { openPostgresJournal } from './journal.ts';

describeWhen(realServers.database, 'Resumes that come in together', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  beforeAll(async () => {
    database = await createDatabase(server);
    sql = openPgClient(database.url);
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  test('share a statement, and so do the claims of their runs', async () => {
    const place = createPlace(sql);
    const sent: string[] = [];
    const journal = await openPostgresJournal({ sql: listing(sql, sent), schema: place.schema });
    const runs = await Promise.all(Array.from({ length: 100 }, (_, n) => park(journal, `t${n}`)));
    sent.length = 0;
    const answers = await Promise.all(
      runs.map((_, n) => journal.hooks.resume(`t${n}`, `[${n}]`, n % 2 ? {} : { verdict: 'approved' })),
    );
    for (const [n, answer] of answers.entries()) {
      const verdict = n % 2 ? null : 'approved';
      const { runId } = runs[n] as RunRow;
      expect(answer).toMatchObject({
        outcome: 'resumed',
        hook: { runId, verdict },
        event: { n: 0, payload: `[${n}]` },
      });
    }
    const claims = await Promise.all(
      runs.map(({ runId }) => journal.claimRun(runId, { owner: 'other', leaseMs: 60_000 })),
    );
    for (const [n, claimed] of claims.entries())
      expect(claimed).toMatchObject({ runId: runs[n]?.runId, owner: 'other', status: 'running', signals: 1 });
    expect(sent.length).toBeLessThanOrEqual(8);
    for (const [n, { runId }] of runs.entries())
      expect((await journal.hooks.listEvents(runId, [{ token: `t${n}`, n: 0 }])).events).toHaveLength(1);
    await place.remove();
  });

  test('alone reads no table whole, also by a plan that was made while there was nothing', async () => {
    const place = createPlace(sql);
    const sent: string[] = [];
    const journal = await openPostgresJournal({ sql: listing(sql, sent), schema: place.schema });
    await park(journal, 't');
    for (const options of [{}, { idempotency: { key: 'k', digest: 'd' }, verdict: 'approved', most: 5 }]) {
      sent.length = 0;
      await journal.hooks.resume('t', '[1]', options);
      const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${sent[0]}`);
      const scans = plan
        .map((row) => row['QUERY PLAN'])
        .filter((line) => /Seq Scan on (?:runs|hooks|hook_events)/.test(line));
      expect(scans).toStrictEqual([]);
    }
    await place.remove();
  });

  test('wait for no run but their own that another process is writing to', async () => {
    const place = createPlace(sql);
    const journal = await openPostgresJournal({ sql, schema: place.schema });
    const held = await park(journal, 'held');
    await Promise.all(['a', 'b'].map((token) => park(journal, token)));
    const [locked, over] = [createDeferred(), createDeferred()];
    const other = sql.transaction(async (tx) => {
      await tx.query(`select 1 from ${place.schema}.runs where run_id = $1 for update`, [held.runId]);
      locked.resolve();
      await over.promise;
    });
    await locked.promise;
    let isAnswered = false;
    const late = journal.hooks.resume('held', '[1]').finally(() => (isAnswered = true));
    const [a, b, none] = await Promise.all(['a', 'b', 'none'].map((token) => journal.hooks.resume(token, '[1]')));
    expect([a?.outcome, b?.outcome, none]).toStrictEqual(['resumed', 'resumed', undefined]);
    expect(isAnswered).toBe(false);
    over.resolve();
    await other;
    expect(await late).toMatchObject({ outcome: 'resumed', hook: { runId: held.runId } });
    await place.remove();
  });

  test('of two processes, while the runs make their hooks again: each is kept once, numbered without a gap', async () => {
    const place = createPlace(sql);
    const [one, two] = await Promise.all([place.open(), place.open()]);
    const runs = await Promise.all(Array.from({ length: 10 }, (_, n) => park(one, `m${n}`, true)));
    const resumes = [...runs.keys()].flatMap((n) =>
      Array.from({ length: 30 }, (_, k) => (k % 2 ? one : two).hooks.resume(`m${n}`, `[${k}]`)),
    );
    const again = runs.map(async (run, n) => {
      const hooks = [{ token: `m${n}`, call: 1, kind: 'hook' as const, many: true, detail: null, since: 0 }];
      for (let seq = 1; seq < 20; seq++)
        await one.append(newAppend({ ...run, seq }, { records: [newRecord(seq)], hooks }));
    });
    const answers = await Promise.all(resumes);
    await Promise.all(again);
    expect(answers.every((answer) => answer?.outcome === 'resumed')).toBe(true);
    for (const [n, { runId }] of runs.entries()) {
      const { events } = await one.hooks.listEvents(runId, [{ token: `m${n}`, n: 0 }]);
      expect(events.map((event) => event.n)).toStrictEqual(Array.from({ length: 30 }, (_, k) => k));
      expect((await one.getRun(runId))?.signals).toBe(30);
    }
    await place.remove();
  });
});

// --- internal ---

function listing(sql: SqlClient, sent: string[]): SqlClient {
  const note = <S extends Pick<SqlClient, 'query'>>(session: S): S => ({
    ...session,
    query<Row>(text: string, params?: unknown[], options?: QueryOptions) {
      sent.push(text);
      return session.query<Row>(text, params, options);
    },
  });
  return { ...note(sql), transaction: (work) => sql.transaction((tx) => work(note(tx))) };
}

/** A run that waits for the hook, and that no one holds. */
async function park(journal: Journal, token: string, many = false): Promise<RunRow> {
  const run = await start(journal, newRun());
  const hooks = [{ token, call: 0, kind: 'hook' as const, many, detail: null, since: 0 }];
  const patch = many ? {} : { status: 'waiting' as const, waitingFor: 'hook', wakeAt: null, release: true };
  await journal.append(newAppend(run, { records: [newRecord(0)], hooks, patch }));
  return run;
}
