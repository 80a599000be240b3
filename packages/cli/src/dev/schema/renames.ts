import { quote, quoteName, toKey, toSnapshotKey } from './names.ts';
import type { EnumSnapshot, Named, Snapshot, TableSnapshot } from './snapshot.ts';

/** A thing under its old name, and the names it is to have. */
export interface Rename<T extends Named = Named> {
  from: T;
  to: Named;
}

/** Gives a table another name, or another schema, wherever the snapshot names it. Answers the statements. */
export function renameTable(snapshot: Snapshot, { from, to }: Rename<TableSnapshot>): string[] {
  const statements = alter(snapshot, 'TABLE', { from, to });
  for (const table of Object.values(snapshot.tables))
    for (const key of Object.values(table.foreignKeys)) {
      if (table === from) key.tableFrom = to.name;
      if (!refersTo(key, from)) continue;
      key.tableTo = to.name;
      if (key.schemaTo !== undefined) key.schemaTo = to.schema || 'public';
    }
  for (const { identity, name } of Object.values(from.columns))
    if (identity?.name === `${from.name}_${name}_seq`) identity.name = `${to.name}_${name}_seq`;
  move(snapshot.tables, { from, to });
  return statements;
}

export function renameColumn(
  snapshot: Snapshot,
  { table, from, to }: { table: TableSnapshot; from: string; to: string },
): string[] {
  const swap = (name: string): string => (name === from ? to : name);
  table.columns = Object.fromEntries(
    Object.entries(table.columns).map(([key, column]) => [swap(key), { ...column, name: swap(column.name) }]),
  );
  const { identity } = table.columns[to] ?? {};
  if (identity?.name === `${table.name}_${from}_seq`) identity.name = `${table.name}_${to}_seq`;
  for (const { columns } of Object.values(table.indexes))
    for (const part of columns) if (!part.isExpression) part.expression = swap(part.expression);
  for (const group of [table.compositePrimaryKeys, table.uniqueConstraints])
    for (const constraint of Object.values(group)) constraint.columns = constraint.columns.map(swap);
  for (const other of Object.values(snapshot.tables))
    for (const key of Object.values(other.foreignKeys)) {
      if (other === table) key.columnsFrom = key.columnsFrom.map(swap);
      if (refersTo(key, table)) key.columnsTo = key.columnsTo.map(swap);
    }
  return [`ALTER TABLE ${quote(table)} RENAME COLUMN ${quoteName(from)} TO ${quoteName(to)};`];
}

export function renameEnum(snapshot: Snapshot, { from, to }: Rename<EnumSnapshot>): string[] {
  const statements = alter(snapshot, 'TYPE', { from, to });
  for (const { columns } of Object.values(snapshot.tables))
    for (const column of Object.values(columns)) {
      const [, name, dimensions = ''] = /^(.*?)((?:\[\d*\])*)$/.exec(column.type) ?? [];
      if (name !== from.name || column.typeSchema !== (from.schema || 'public')) continue;
      column.type = to.name + dimensions;
      column.typeSchema = to.schema || 'public';
    }
  move(snapshot.enums, { from, to });
  return statements;
}

export function renameValue(type: EnumSnapshot, { from, to }: { from: string; to: string }): string[] {
  type.values = type.values.map((value) => (value === from ? to : value));
  return [`ALTER TYPE ${quote(type)} RENAME VALUE ${quoteText(from)} TO ${quoteText(to)};`];
}

export function renameSequence(snapshot: Snapshot, rename: Rename): string[] {
  const statements = alter(snapshot, 'SEQUENCE', rename);
  move(snapshot.sequences, rename);
  return statements;
}

export function renameRole(snapshot: Snapshot, { from, to }: Rename): string[] {
  const role = snapshot.roles[from.name];
  delete snapshot.roles[from.name];
  if (role) snapshot.roles[to.name] = { ...role, name: to.name };
  return [`ALTER ROLE ${quoteName(from.name)} RENAME TO ${quoteName(to.name)};`];
}

// --- internal ---

function refersTo(key: { tableTo: string; schemaTo?: string }, { schema, name }: Named): boolean {
  return key.tableTo === name && (key.schemaTo || 'public') === (schema || 'public');
}

/** The schema first: it may be one that is new. */
function alter(snapshot: Snapshot, what: 'TABLE' | 'TYPE' | 'SEQUENCE', { from, to }: Rename): string[] {
  const schema = to.schema || 'public';
  const statements: string[] = [];
  if (schema !== (from.schema || 'public')) {
    if (schema !== 'public' && !Object.hasOwn(snapshot.schemas, schema)) {
      snapshot.schemas[schema] = schema;
      statements.push(`CREATE SCHEMA ${quoteName(schema)};`);
    }
    statements.push(`ALTER ${what} ${quote(from)} SET SCHEMA ${quoteName(schema)};`);
  }
  if (from.name !== to.name)
    statements.push(`ALTER ${what} ${quote({ ...from, schema })} RENAME TO ${quoteName(to.name)};`);
  return statements;
}

function move<T extends Named>(record: Record<string, T>, { from, to }: Rename): void {
  const entry = record[toSnapshotKey(from)];
  delete record[toSnapshotKey(from)];
  if (!entry) throw new Error(`The snapshot has no "${toKey(from)}".`);
  entry.name = to.name;
  entry.schema = to.schema ?? '';
  record[toSnapshotKey(to)] = entry;
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
