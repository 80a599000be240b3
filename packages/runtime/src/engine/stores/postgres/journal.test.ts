import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import type { SqlClient } from '../../../stores/sql.ts';
import { newRunId } from '../../ids.ts';
import type { RunRow } from '../../journal/run.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { start } from '../contract/world.ts';
import { openPostgresJournal } from './journal.ts';
import { newAppend, newRecord, newRun } from '../contract/records.ts';
import { describePostgresJournal } from './_journal-suite.ts';
import { createPlace } from './_places.ts';

describeWhen(realServers.database, 'Postgres journal on a server', (server) => {
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
  describePostgresJournal(() => sql);

  test('a cancel takes along a child that is started after the tree was read and before the commit', async () => {
    const place = createPlace(sql);
    const starting = await place.open();
    const parent = await start(starting, newRun());
    const known = await start(starting, newRun({ parentRunId: parent.runId }));
    const abandoned = newRun({ parentRunId: parent.runId, closePolicy: 'abandon' });
    const late: RunRow[] = [];
    let isOpen = false;
    const between: SqlClient = {
      ...sql,
      transaction: (work) =>
        sql.transaction(async (tx) => {
          const answer = await work(tx);
          if (isOpen && late.length === 0) {
            late.push(await start(starting, newRun({ parentRunId: parent.runId })));
            late.push(await start(starting, newRun({ parentRunId: late[0]?.runId ?? null })));
            await start(starting, abandoned);
          }
          return answer;
        }),
    };
    const journal = await openPostgresJournal({ sql: between, schema: place.schema });
    isOpen = true;
    const result = await journal.cancel(parent.runId, '[]', newRunId);
    const ids = [parent, known, ...late].map(({ runId }) => runId);
    expect(result).toMatchObject({ outcome: 'cancelled', cancelled: expect.arrayContaining(ids) as string[] });
    for (const { status } of await journal.getRuns(ids)) expect(status).toBe('cancelled');
    expect(await journal.getRun(abandoned.runId)).toMatchObject({ status: 'running' });
    await place.remove();
  });

  test('a commit of many runs locks the youngest first, as a cancel does: who waits for it holds none of the others', async () => {
    const place = createPlace(sql);
    const journal = await place.open();
    const runs: RunRow[] = [];
    for (let n = 0; n < 20; n++) runs.push(await start(journal, newRun()));
    const ids = runs.map(({ runId }) => runId).sort();
    const youngest = ids.at(-1) ?? '';
    const lock = `select run_id from ${place.schema}.runs where run_id = any($1::text[]) for update`;
    let appended: Promise<unknown> = Promise.resolve();
    await sql.transaction(async (tx) => {
      const [self] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await tx.query(lock, [[youngest]]);
      appended = Promise.all(runs.map((run) => journal.append(newAppend(run, { records: [newRecord(0)] }))));
      const waits = 'select 1 from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))';
      for (let tries = 0; (await sql.query(waits, [self?.pid])).length === 0; tries++) {
        if (tries > 1_000) throw new Error('The commit does not wait.');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const free = await sql.query<{ run_id: string }>(`${lock} skip locked`, [ids]);
      expect(free.map((row) => row.run_id).sort()).toStrictEqual(ids.slice(0, -1));
    });
    expect(await appended).toStrictEqual(runs.map(() => expect.objectContaining({ outcome: 'appended' }) as unknown));
    await place.remove();
  });
});
