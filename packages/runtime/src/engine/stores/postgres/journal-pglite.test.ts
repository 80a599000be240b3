import { beforeAll, describe } from 'vitest';
import type { SqlClient } from '../../../stores/sql.ts';
import { sharePglite } from '../_clients.ts';
import { describePostgresJournal } from './_journal-suite.ts';

describe('Postgres journal on PGlite', () => {
  let sql: SqlClient;
  beforeAll(async () => {
    sql = await sharePglite();
  });
  describePostgresJournal(() => sql);
});
