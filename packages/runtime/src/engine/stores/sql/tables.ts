/** The names of the journal's tables, as SQL says them. */
export interface Tables {
  runs: string;
  events: string;
  hooks: string;
  hookEvents: string;
  queue: string;
  keys: string;
  rates: string;
  schedules: string;
  firings: string;
  chunks: string;
  replicas: string;
  notices: string;
  topics: string;
  deliveries: string;
  receivers: string;
  early: string;
  code: string;
  codeFiles: string;
  codeParts: string;
  /** The attributes of runs, a row each, as `name:value`. Kept by triggers. */
  attributes: string;
  /** In Postgres alone. */
  owners: string;
}

/** What SQL says for members of the JSON text that is kept of who made a run begin. */
export interface StarterColumns {
  client: string;
  user: string;
}

/** Whether the tables are in a schema of Postgres. `table`: the name of one of them. */
export function isPostgres(table: string): boolean {
  return table.includes('.');
}

export function starterColumns({ runs }: Tables): StarterColumns {
  const [, schema] = runs.split('.').toReversed();
  if (!schema) return { client: `json_extract(started_by, '$.client')`, user: `json_extract(started_by, '$.user.id')` };
  return {
    client: `(${schema}.json_of(started_by) ->> 'client')`,
    user: `(${schema}.json_of(started_by) #>> '{user,id}')`,
  };
}

/** Those that hold what is a run's own, by `run_id`. */
export function tablesOfRun({ events, hooks, hookEvents, chunks, deliveries }: Tables): string[] {
  return [events, hooks, hookEvents, chunks, deliveries];
}

/** `schema`: the database schema they are in. */
export function namesOfTables(schema?: string): Tables {
  const prefix = schema ? `${schema}.` : '';
  return {
    runs: `${prefix}runs`,
    events: `${prefix}run_events`,
    hooks: `${prefix}hooks`,
    hookEvents: `${prefix}hook_events`,
    queue: `${prefix}serial_queue`,
    keys: `${prefix}idempotency_keys`,
    rates: `${prefix}start_rates`,
    schedules: `${prefix}schedules`,
    firings: `${prefix}schedule_firings`,
    chunks: `${prefix}stream_chunks`,
    replicas: `${prefix}replicas`,
    notices: `${prefix}notices`,
    topics: `${prefix}notice_topics`,
    deliveries: `${prefix}deliveries`,
    receivers: `${prefix}failing_receivers`,
    early: `${prefix}early_resumes`,
    code: `${prefix}code_versions`,
    codeFiles: `${prefix}code_files`,
    codeParts: `${prefix}code_parts`,
    attributes: `${prefix}run_attributes`,
    owners: `${prefix}owners`,
  };
}
