/**
 * The tables and views of the project: those that the role of the box owns, in `public` and in schemas that it owns, but for
 * the box's own, the journal's and those of a control plane. `relation` and `space` are `pg_class` and `pg_namespace`.
 */
export const OF_PROJECT = `
  relation.relkind in ('r', 'p', 'v', 'm') and not relation.relispartition
  and space.nspname <> 'svc' and space.nspname <> 'information_schema' and space.nspname !~ '^pg_'
  and relation.relowner = (select oid from pg_catalog.pg_roles where rolname = current_user)
  and (space.nspname = 'public' or space.nspowner = relation.relowner)
  and not (to_regclass(quote_ident(space.nspname) || '.serial_queue') is not null
    and to_regclass(quote_ident(space.nspname) || '.hook_events') is not null)
  and not (relation.relname ~ '^plane_' and to_regclass(quote_ident(space.nspname) || '.plane_installations') is not null)
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_class'::regclass and objid = relation.oid and deptype = 'e')`;
