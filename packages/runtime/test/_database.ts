import { createLazyClient, createLazyDatabase } from '../src/testing/database.ts';
import type { LazyDatabase } from '../src/testing/database.ts';

/**
 * An empty relational store for a file of tests: the one PGlite of this process, opened when a first file asks it something
 * and emptied when another does. It goes with the process, its folder with the scratch folder of the run.
 */
export function useDatabase(): Pick<LazyDatabase, 'client' | 'pglite' | 'isBlank'> {
  let handedOver: Promise<LazyDatabase> | undefined;
  const hand = () => (handedOver ??= handOver());
  return {
    client: createLazyClient(async () => (await hand()).client),
    pglite: async () => (await hand()).pglite(),
    isBlank: () => handedOver === undefined,
  };
}

// --- internal ---

let database: LazyDatabase | undefined;

async function handOver(): Promise<LazyDatabase> {
  if (database) await database.client.exec(EMPTY);
  database ??= createLazyDatabase();
  return database;
}

/** Deletes rather than truncates, which makes new files of every table and index. Without triggers, so in any order. */
const EMPTY = `
  set session_replication_role = replica;
  do $$
  declare one record;
  begin
    for one in select tablename from pg_tables where schemaname = 'svc' and tablename <> 'migrations' loop
      execute format('delete from svc.%I', one.tablename);
    end loop;
    for one in select sequencename from pg_sequences where schemaname = 'svc' and sequencename <> 'migrations_id_seq' loop
      execute format('alter sequence svc.%I restart', one.sequencename);
    end loop;
  end $$;
  reset session_replication_role;
`;
