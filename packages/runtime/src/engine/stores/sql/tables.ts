/** The names of the journal's tables, as SQL says them. */
export interface Tables {
  runs: string;
  events: string;
  hooks: string;
  hookEvents: string;
  queue: string;
  keys: string;
  schedules: string;
  firings: string;
  chunks: string;
}

/** Those that hold what is a run's own, by `run_id`. */
export function tablesOfRun({ events, hooks, hookEvents, chunks }: Tables): string[] {
  return [events, hooks, hookEvents, chunks];
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
    schedules: `${prefix}schedules`,
    firings: `${prefix}schedule_firings`,
    chunks: `${prefix}stream_chunks`,
  };
}
