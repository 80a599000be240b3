// @ts-check
/**
 * Keeps the store of a torture busy until it is killed: on a server with statements of a second over ten connections, on a
 * file by holding its write lock for a tenth of a second, again and again.
 *   node torture/_slow-store.mjs '<store as JSON>'
 */
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { openPg } from '../packages/runtime/dist/host.mjs';

process.once('disconnect', () => process.exit(1));
/** @type {import('./_store.mjs').StoreSettings} */
const store = JSON.parse(process.argv[2] ?? '{}');
if (store.store === 'postgres') {
  const sql = openPg(store.url);
  const work = async () => {
    for (;;) await sql.query(`select count(*), pg_sleep(0.5) from generate_series(1, 200000)`).catch(() => wait(100));
  };
  await Promise.all(Array.from({ length: 10 }, work));
} else {
  const Database = createRequire(new URL('../packages/runtime/package.json', import.meta.url))('better-sqlite3');
  const db = new Database(store.path, { timeout: 5_000 });
  for (;;) {
    try {
      db.exec('begin immediate');
      await wait(100);
      db.exec('rollback');
    } catch {
      // A box has it: the next time.
    }
    await wait(200);
  }
}
