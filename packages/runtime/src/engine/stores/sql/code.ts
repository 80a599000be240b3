import type { CodeFile, CodeStore, FoundCode, NotedRecord, OpenRun, WaitingCount } from '../../journal/code.ts';
import { FINAL_STATUSES, FREE, inState, WAITS_FOR_CODE } from './queries.ts';
import { decodeText } from './rows.ts';
import type { Statement, Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { fromStoredText, toStoredText } from './text.ts';

export function createCodeStore(statements: Statements): CodeStore {
  const { tables, query, commit, now, isAmong } = statements;
  const { code, codeFiles, codeParts, replicas } = tables;
  const open = openCodes(tables);
  const among = (values: readonly string[]): string => JSON.stringify(values.map(toStoredText));
  const listMissing: CodeStore['listMissing'] = async (digests) => {
    const rows = await query(`select digest as "digest" from ${codeFiles} where ${isAmong('digest')}`, [
      among(digests),
    ]);
    const there = new Set(rows.map(({ digest }) => digest as string));
    return digests.filter((digest) => !there.has(digest));
  };
  return {
    async touch(codeHashes) {
      if (codeHashes.length === 0) return [];
      const rows = await query(
        `update ${code} set kept_at = ? where ${isAmong('code_hash')} and not exists (
            select 1 from ${codeParts} p where p.code_hash = ${code}.code_hash and p.name = ${code}.name
            and not exists (select 1 from ${codeFiles} f where f.digest = p.digest))
        returning ${FOUND}`,
        [await now(), among(codeHashes)],
      );
      return rows.map((row) => decodeText(row) as unknown as FoundCode);
    },
    listMissing,
    async keep({ codeHash, name, manifest, digests }, files) {
      const given = new Set(files.map(({ digest }) => digest));
      const others = digests.filter((digest) => !given.has(digest));
      const at = await now();
      const key = [toStoredText(codeHash), toStoredText(name)];
      await commit([
        // First: what is about to be dropped is not, or is put back.
        [`update ${codeFiles} set kept_at = ? where ${isAmong('digest')}`, [at, among(others)]],
        ...files.map((file) => insertFile(codeFiles, file, at)),
        [
          `insert into ${code} (code_hash, name, manifest, kept_at) values (?, ?, ?, ?)
          on conflict (code_hash, name) do update set manifest = excluded.manifest, kept_at = excluded.kept_at`,
          [...key, toStoredText(manifest), at],
        ],
        [`delete from ${codeParts} where code_hash = ? and name = ?`, key],
        ...digests.map((digest): Statement => [
          `insert into ${codeParts} (code_hash, name, digest) values (?, ?, ?)`,
          [...key, digest],
        ]),
      ]);
      return (await listMissing(others)).length === 0;
    },
    async find({ codeHash, name }) {
      const [row] = await query(`select ${FOUND} from ${code} where code_hash = ? and name = ?`, [
        toStoredText(codeHash),
        toStoredText(name),
      ]);
      return row && (decodeText(row) as unknown as FoundCode);
    },
    async list({ after, limit }) {
      const behind = [after?.codeHash ?? '', after?.name ?? ''].map(toStoredText);
      const sql = `select ${FOUND} from ${code} where (code_hash, name) > (?, ?) order by code_hash, name limit ?`;
      const rows = await query(sql, [...behind, limit]);
      return rows.map((row) => decodeText(row) as unknown as FoundCode);
    },
    async reseal({ codeHash, name, manifest }, sealed) {
      const given = [sealed, codeHash, name, manifest].map(toStoredText);
      await commit([[`update ${code} set manifest = ? where code_hash = ? and name = ? and manifest = ?`, given]]);
    },
    async readFile(digest) {
      const [row] = await query(`select body as "body" from ${codeFiles} where digest = ?`, [digest]);
      return row?.body as string | undefined;
    },
    wake: createWake(statements),
    async listOpen(codeHashes) {
      if (codeHashes.length === 0) return [];
      const rows = await query(
        `select distinct code_hash as "codeHash" from (${open}) as open where ${isAmong('code_hash')}`,
        [among(codeHashes)],
      );
      return rows.map(({ codeHash }) => fromStoredText(codeHash as string));
    },
    countWaiting: createCountWaiting(statements),
    async listOpenRuns(name, limit) {
      // By the name itself a planner would look through all runs that have it, most of which have ended.
      const rows = await query(
        `select distinct run_id as "runId", code_hash as "codeHash", moved_at from (${openRuns(tables, 'run_id, code_hash, moved_at, name').join(' union all ')}) as open
        where name || '' = ? order by run_id limit ?`,
        [toStoredText(name), limit],
      );
      return rows.map(({ moved_at: movedAt, ...row }) => {
        const run = decodeText(row) as unknown as Omit<OpenRun, 'isMoved'>;
        return { ...run, isMoved: movedAt !== null };
      });
    },
    async listNoted(runIds, prefix) {
      if (runIds.length === 0) return [];
      const rows = await query(
        `select run_id as "runId", step_id as "stepId", output as "output" from ${tables.events}
        where ${isAmong('run_id')} and kind = 'env' and substr(step_id, 1, ?) = ? order by run_id, seq`,
        [among(runIds), prefix.length, toStoredText(prefix)],
      );
      return rows.map((row) => decodeText(row) as unknown as NotedRecord);
    },
    async drop({ idleMs }) {
      const at = await now();
      const living = await query(`select codes as "codes" from ${replicas} where lease_until > ?`, [at]);
      const own = living.flatMap(({ codes }) => JSON.parse(fromStoredText(codes as string)) as string[]);
      // Who keeps or touches one meanwhile changes its time, which is looked at once more before the row goes.
      const gone = await query(
        `delete from ${code} where kept_at < ? and not (${isAmong('code_hash')})
          and code_hash not in (select code_hash from (${open}) as open where code_hash is not null)
        returning code_hash`,
        [at - idleMs, among([...new Set(own)])],
      );
      await commit(toUnneeded(tables, at - idleMs));
      return gone.length;
    },
  };
}

/** The runs that have not ended, by the indexes there are: of a table of many runs few are open. One may come twice. */
export function openRuns({ runs }: Pick<Tables, 'runs'>, select: string, also = ''): string[] {
  const isOpen = `status not in ${FINAL_STATUSES}`;
  const parts = [FREE, `owner is not null and ${isOpen}`, `paused_at is not null and ${isOpen}`, inState('blocked')];
  return parts.map((where) => `select ${select} from ${runs} where ${where}${also === '' ? '' : ` and ${also}`}`);
}

// --- internal ---

/** One that is paused is due once it goes on. */
function createWake({ tables, query, now, isAmong }: Statements): CodeStore['wake'] {
  const { runs, code } = tables;
  const isKept = `exists (select 1 from ${code} c where c.code_hash = ${runs}.code_hash)`;
  return async (codeHashes, { orKept = false } = {}) => {
    const rows = await query(
      `update ${runs} set wake_at = ?
      where ${inState('waiting')} and owner is null and wake_at is null and waiting_for like ?
        and (${isAmong('code_hash')}${orKept ? ` or ${isKept}` : ''}) returning run_id`,
      [await now(), WAITS_FOR_CODE, JSON.stringify(codeHashes.map(toStoredText))],
    );
    return rows.length;
  };
}

function createCountWaiting({ tables: { runs }, query }: Statements): CodeStore['countWaiting'] {
  const waiting = `select kind, name from ${runs} where ${inState('waiting')} and waiting_for like ? limit ?`;
  return async (limit) => {
    const rows = await query(
      `select kind as "kind", name as "name", count(*) as "count" from (${waiting}) as waiting group by kind, name`,
      [WAITS_FOR_CODE, limit],
    );
    return rows.map(({ count, ...row }) => ({
      ...(decodeText(row) as unknown as WaitingCount),
      count: Number(count),
    }));
  };
}

/** Drops what no version has any more. */
function toUnneeded(
  { code, codeParts, codeFiles }: Pick<Tables, 'code' | 'codeParts' | 'codeFiles'>,
  keptBefore: number,
): Statement[] {
  return [
    [
      `delete from ${codeParts} where not exists (
        select 1 from ${code} c where c.code_hash = ${codeParts}.code_hash and c.name = ${codeParts}.name)`,
      [],
    ],
    [
      `delete from ${codeFiles} where kept_at < ?
        and not exists (select 1 from ${codeParts} p where p.digest = ${codeFiles}.digest)`,
      [keptBefore],
    ],
  ];
}

const FOUND = 'code_hash as "codeHash", name as "name", manifest as "manifest"';

/** The code of all that has not ended. A code may come twice. */
function openCodes(tables: Pick<Tables, 'runs' | 'queue'>): string {
  return [...openRuns(tables, 'code_hash'), `select code_hash from ${tables.queue}`].join(' union all ');
}

function insertFile(table: string, { digest, body }: CodeFile, at: number): Statement {
  const sql = `insert into ${table} (digest, body, kept_at) values (?, ?, ?)
    on conflict (digest) do update set kept_at = excluded.kept_at`;
  return [sql, [digest, body, at]];
}
