import type { JournalRecord } from '../../journal/record.ts';
import type { Spent } from '../../journal/run.ts';
import { addCosts } from '../../run/outcome.ts';
import type { RunReader } from '../../journal/reading.ts';
import { pagesOf } from '../../history-pages.ts';
import { chainEndQuery } from './chain.ts';
import { BRIEF_SELECT, listQuery, tallyQuery, toBriefRun, toTally } from './lists.ts';
import { RECORD_SELECT, RUN_SELECT, toRecord, toRunRow } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createRunReader({ tables, query }: Statements): RunReader {
  const run = `select ${RUN_SELECT} from ${tables.runs} where run_id = ?`;
  const records = `select ${RECORD_SELECT} from ${tables.events} where run_id = ? and seq >= ? order by seq limit ?`;
  const calls = `
    select ${RECORD_SELECT} from ${tables.events} where run_id = ? and call in (
      select distinct call from ${tables.events} where run_id = ? and call > ? order by call limit ?) order by seq`;
  // At most as many as a run may have records, and short: both databases read JSON in another way.
  const costs = `select tokens as "tokens" from ${tables.events} where run_id = ? and tokens like '%"cost":%'`;
  const used = `
    select run_id as "runId", input_tokens as "inputTokens", output_tokens as "outputTokens" from ${tables.runs} where run_id in`;
  const costsOfRuns = `select run_id as "runId", tokens as "tokens" from ${tables.events} where run_id in`;
  const listRecords: RunReader['listRecords'] = async (runId, { from, limit }) =>
    (await query(records, [toStoredText(runId), from, limit])).map(toRecord);
  return {
    async getRun(runId) {
      const [row] = await query(run, [toStoredText(runId)]);
      return row && toRunRow(row);
    },
    listRecords,
    async listCalls(runId, { after, limit }) {
      const id = toStoredText(runId);
      return (await query(calls, [id, id, after, limit])).map(toRecord);
    },
    async getRecords(runId) {
      const found: JournalRecord[] = [];
      for await (const page of pagesOf(runId, listRecords)) found.push(...page);
      return found;
    },
    async costOf(runId) {
      const rows = await query(costs, [toStoredText(runId)]);
      const spent = rows.map(({ tokens }) => (JSON.parse(String(tokens)) as Spent).cost);
      return spent.reduce(addCosts, undefined) ?? null;
    },
    async spentOf(runIds) {
      if (runIds.length === 0) return [];
      const ids = runIds.map(toStoredText);
      const places = ids.map(() => '?').join(', ');
      const [rows, parts] = await Promise.all([
        query(`${used} (${places})`, ids),
        query(`${costsOfRuns} (${places}) and tokens like '%"cost":%'`, ids),
      ]);
      const sums = new Map<string, number | undefined>();
      for (const { runId, tokens } of parts)
        sums.set(String(runId), addCosts(sums.get(String(runId)), (JSON.parse(String(tokens)) as Spent).cost));
      return rows.map(({ runId, inputTokens, outputTokens }) => {
        const cost = sums.get(String(runId));
        const of = { inputTokens: Number(inputTokens), outputTokens: Number(outputTokens) };
        return { runId: String(runId), ...of, ...(cost === undefined ? {} : { cost }) };
      });
    },
    async getLastRun(runId) {
      const id = toStoredText(runId);
      const [given] = await query(run, [id]);
      // Of a run that has been deleted the chain is still known by its first.
      if (given && given.continuedTo === null) return toRunRow(given);
      const [end] = await query(chainEndQuery(tables), [given?.chainId ?? id]);
      return end ? toRunRow(end) : given && toRunRow(given);
    },
    async listRuns(filter, page) {
      const { sql, params } = listQuery(tables, filter, page);
      return (await query(sql, params)).map(toRunRow);
    },
    async listBriefRuns(filter, page) {
      const { sql, params } = listQuery(tables, filter, page, BRIEF_SELECT);
      return (await query(sql, params)).map(toBriefRun);
    },
    async tallyRuns(filter, bucketMs) {
      const { sql, params } = tallyQuery(tables, filter, bucketMs);
      return (await query(sql, params)).map(toTally);
    },
  };
}
