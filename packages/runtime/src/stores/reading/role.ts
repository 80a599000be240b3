import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import type { SqlSession, StoreClient } from '../client.ts';
import { OF_PROJECT } from './relations.ts';

/**
 * Lets the role read each table of the project, and nothing else. Tables come with migrations, so this is looked at before
 * each statement; as a rule there is nothing to do.
 */
export async function grantTables(client: StoreClient, role: string): Promise<void> {
  const [{ due } = { due: false }] = await client.query<{ due: boolean }>(
    `select exists (${MISSING}) or exists (${EXCESS}) as due`,
    [role],
  );
  if (!due) return;
  await client.transaction(async (tx) => {
    await takeTurn(tx);
    const missing = await tx.query<Relation>(MISSING, [role]);
    const excess = await tx.query<Relation>(EXCESS, [role]);
    for (const { space, name } of missing) {
      await tx.exec(`grant usage on schema ${space} to ${quote(role)}`);
      await tx.exec(`grant select on ${space}.${name} to ${quote(role)}`);
    }
    for (const { space, name } of excess) await tx.exec(`revoke all on ${space}.${name} from ${quote(role)}`);
  });
}

/** Replicas take turns: two that change the same rights at once fail. */
export async function takeTurn(tx: SqlSession): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.reading]);
}

/**
 * Takes from everyone but superusers, and the roles that own something in this database, what acts beyond a statement: locks
 * and notices of other sessions, their statements and their ends, large objects, the write-ahead log. Only a superuser may.
 */
export function revokeFunctions({ isEmbedded }: { isEmbedded: boolean }): string {
  const names = isEmbedded ? `${REACHING}|${CHANGING}` : REACHING;
  return `
do $$
declare
  reaching text;
  owner text;
begin
  for reaching in
    select oid::regprocedure::text from pg_catalog.pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname ~ '^(${names})$' and has_function_privilege('public', oid, 'execute')
  loop
    for owner in
      select rolname from pg_catalog.pg_roles
      where not rolsuper and oid in (select relowner from pg_catalog.pg_class union select nspowner from pg_catalog.pg_namespace)
        and rolname !~ '^pg_'
    loop
      execute format('grant execute on function %s to %I', reaching, owner);
    end loop;
    execute format('revoke execute on function %s from public', reaching);
  end loop;
end $$`;
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

// --- internal ---

interface Relation {
  space: string;
  name: string;
}

const REACHING =
  'pg_(try_)?advisory_.*|pg_notify|pg_logical_emit_message|pg_cancel_backend|pg_terminate_backend|pg_stat_get_activity|' +
  'lo_.*|loread|lowrite|pg_export_snapshot';
/** In a session that was begun as a superuser: what would take the role off, and what runs a text after that. */
const CHANGING = 'set_config|(query|cursor|table|schema|database)_to_xml.*';

const FROM = `from pg_catalog.pg_class relation join pg_catalog.pg_namespace space on space.oid = relation.relnamespace`;
const SHOWN = 'select quote_ident(space.nspname) as space, quote_ident(relation.relname) as name';

const MISSING = `${SHOWN} ${FROM} where ${OF_PROJECT}
  and not (has_table_privilege($1, relation.oid, 'select') and has_schema_privilege($1, space.oid, 'usage'))`;

/** Granted while it was the project's; a table of the box that everyone may read stays shut by its schema. */
const EXCESS = `${SHOWN} ${FROM}, aclexplode(relation.relacl) granted
  where granted.grantee = (select oid from pg_catalog.pg_roles where rolname = $1) and not (${OF_PROJECT})`;
