// @ts-check
import { openSqlite } from './_sqlite.mjs';

/**
 * @param {{ path: string, durability: string }} place
 * @returns {Promise<import('./_floor.mjs').Bare>}
 */
export async function openBareSqlite({ path, durability }) {
  const db = openSqlite(path);
  db.exec(`pragma journal_mode = wal; pragma synchronous = ${durability === 'synced' ? 'full' : 'normal'};
    create table runs(id integer primary key, seq integer, status text) strict;
    create table events(run_id integer, seq integer, call integer, payload text, primary key (run_id, seq))
      without rowid, strict;`);
  const create = db.prepare("insert into runs values (?, 0, 'running')");
  const advance = db.prepare("update runs set seq = ? where id = ? and seq = ? and status = 'running'");
  const insert = db.prepare('insert into events values (?, ?, ?, ?)');
  const end = db.prepare("update runs set status = 'completed' where id = ? and seq = ? and status = 'running'");
  const write = (/** @type {import('./_floor.mjs').Write} */ { type, id, seq, payload }) => {
    if (type === 'create') return create.run(id).changes;
    if (type === 'end') return end.run(id, seq).changes;
    const { changes } = advance.run(seq + 1, id, seq);
    insert.run(id, seq, seq, payload);
    return changes;
  };
  const commit = db.transaction((/** @type {import('./_floor.mjs').Write[]} */ writes) => {
    for (const each of writes)
      if (write(each) !== 1) throw new Error(`The ${each.type} of run ${each.id} hit nothing.`);
  });
  return { commit, close: async () => db.close() };
}
