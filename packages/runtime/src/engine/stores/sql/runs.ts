import type { JournalRecord } from '../../journal/record.ts';
import type { RunReader } from '../../journal/reading.ts';
import { listQuery, tallyQuery, toTally } from './lists.ts';
import { RECORD_SELECT, RUN_SELECT, toRecord, toRunRow } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createRunReader({ tables, query }: Statements): RunReader {
  const run = `select ${RUN_SELECT} from ${tables.runs} where run_id = ?`;
  const records = `select ${RECORD_SELECT} from ${tables.events} where run_id = ? and seq >= ? order by seq limit ?`;
  return {
    async getRun(runId) {
      const [row] = await query(run, [toStoredText(runId)]);
      return row && toRunRow(row);
    },
    async getRecords(runId) {
      const found: JournalRecord[] = [];
      // Positions are dense from 0, and what is appended meanwhile comes behind.
      for (let isMore = true; isMore;) {
        const page = await query(records, [toStoredText(runId), found.length, RECORDS]);
        found.push(...page.map(toRecord));
        isMore = page.length === RECORDS;
      }
      return found;
    },
    async listRuns(filter, page) {
      const { sql, params } = listQuery(tables.runs, filter, page);
      return (await query(sql, params)).map(toRunRow);
    },
    async tallyRuns(filter, bucketMs) {
      const { sql, params } = tallyQuery(tables.runs, filter, bucketMs);
      return (await query(sql, params)).map(toTally);
    },
  };
}

// --- internal ---

/** Of one statement, which has a limit of time: a record may hold megabytes. */
const RECORDS = 250;
