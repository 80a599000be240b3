import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { openServerDatabase, openServerJournal } from '../src/boot/server-stores.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { svc } from '../src/index.ts';
import { createGate } from './_gate.ts';
import { call, finish, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

const boxes = setupBoxes();
const LEASE_MS = 3_000;
/** More than the database has connections. */
const MANY = 15;

describeWhen(realServers.database, 'a box on a PostgreSQL server', (server) => {
  const openReplicas = async () => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    const begun: string[] = [];
    const gate = createGate();
    const charge = toStep('charge', async (n: number) => {
      begun.push(`charge ${n}`);
      await gate.pass();
      return n;
    });
    const report = toStep('report', async (n: number) => {
      begun.push(`report ${n}`);
      await svc.database.transaction(async (tx) => {
        await tx.execute(sql`select 1`);
        await gate.pass();
      });
      return n;
    });
    const workflows = {
      charge: { run: async ({ n }: { n: number }) => charge(n) },
      report: { run: async ({ n }: { n: number }) => report(n) },
    };
    const open = async () => {
      const database = openServerDatabase(made.url);
      onTestFinished(() => database.close());
      const journal = await openServerJournal(made.url);
      return boxes.open({
        workflows,
        journal,
        options: { db: database.db, exclusive: false, engine: { leaseMs: LEASE_MS, sweepMs: 100, drainMs: 0 } },
      });
    };
    return { a: await open(), b: await open(), begun, gate };
  };

  test('keeps its runs while code of the workspace holds every connection of svc.database', async () => {
    const { a, b, begun, gate } = await openReplicas();
    const runs = [await startWorkflow(a, 'charge', { n: 0 })];
    for (let n = 0; n < MANY; n++) runs.push(await startWorkflow(a, 'report', { n }));
    await until(() => begun.length === MANY + 1);
    const since = performance.now();
    // As long as three leases: any that is not renewed is lost by then, and its step begins again.
    await until(() => performance.now() - since > 3 * LEASE_MS, 4 * LEASE_MS);
    expect((await call(a, `GET /api/runs/${runs[0]}`)).status).toBe(200);
    gate.open();
    for (const runId of runs) expect(await finish(b, runId)).toMatchObject({ status: 'completed' });
    expect([...begun].sort()).toStrictEqual([...new Set(begun)].sort());
  });

  test('ends a statement that takes longer than it may, and no other', async () => {
    const made = await createDatabase(server);
    const database = openServerDatabase(made.url, { statementTimeoutS: 0.2 });
    onTestFinished(async () => {
      await database.close();
      await made.drop();
    });
    await database.ready;
    await expect(database.client.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
    const slow = database.client.transaction(async (tx) => {
      await tx.exec('set local statement_timeout = 0');
      return tx.query('select 1 as one from pg_sleep(0.4)');
    });
    expect(await slow).toEqual([{ one: 1 }]);
    await expect(database.client.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
  });
});
