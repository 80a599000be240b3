import { expect, onTestFinished, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { newAppend, newRecord, newRun } from '../contract/records.ts';
import { start } from '../contract/world.ts';
import { openPostgresJournal } from './journal.ts';

describeWhen(realServers.database, 'starts that wait for the lock of their key', (server) => {
  test.each([
    ['a serial key', 'serial_queue', { serial: { key: 'k', triggerId: 't', whenTaken: 'queue' } }],
    ['an idempotency key', 'idempotency_keys', { idempotency: { key: 'k', digest: 'd' } }],
  ] as const)('hold up no other run, with %s', async (_, table, fields) => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    const sql = openPgClient(made.url);
    onTestFinished(() => sql.close());
    const journal = await openPostgresJournal({ sql });
    const other = openPgClient(made.url);
    onTestFinished(() => other.close());
    let free = (): void => {};
    const isFree = new Promise<void>((resolve) => (free = resolve));
    let isHeld = (): void => {};
    const held = new Promise<void>((resolve) => (isHeld = resolve));
    // Another replica is in the middle of a start with the same key.
    const transaction = other.transaction(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('journal.${table}:k', 0))`);
      isHeld();
      await isFree;
    });
    await held;
    let waiting = 20;
    const starts = Array.from({ length: waiting }, async (_each, n) => {
      const given = 'serial' in fields ? { serial: { ...fields.serial, triggerId: `t${n}` } } : fields;
      const { outcome } = await journal.create(newRun(given));
      waiting -= 1;
      return outcome;
    });
    const run = await start(journal, newRun());
    for (let seq = 0; seq < 20; seq++)
      expect(await journal.append(newAppend({ ...run, seq }, { records: [newRecord(seq)] }))).toMatchObject({
        outcome: 'appended',
      });
    const another =
      'serial' in fields
        ? { serial: { ...fields.serial, key: 'other' } }
        : { idempotency: { key: 'other', digest: 'd' } };
    expect(await journal.create(newRun(another))).toMatchObject({ outcome: 'created' });
    expect(waiting).toBe(20);
    free();
    await transaction;
    const outcomes = await Promise.all(starts);
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
  });
});
