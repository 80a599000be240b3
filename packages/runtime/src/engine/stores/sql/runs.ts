import type { RunReader } from '../../journal/reading.ts';
import { listQuery, tallyQuery, toTally } from './lists.ts';
import { RECORD_SELECT, RUN_SELECT, toRecord, toRunRow } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createRunReader({ tables, query }: Statements): RunReader {
  const run = `select ${RUN_SELECT} from ${tables.runs} where run_id = ?`;
  const records = `select ${RECORD_SELECT} from ${tables.events} where run_id = ? order by seq`;
  return {
    async getRun(runId) {
      const [row] = await query(run, [toStoredText(runId)]);
      return row && toRunRow(row);
    },
    async getRecords(runId) {
      return (await query(records, [toStoredText(runId)])).map(toRecord);
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
