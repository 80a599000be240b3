export interface TableName {
  schema: string;
  table: string;
}

/** A table as the address and people name it: `notes`, `sales.orders`. Dots within the first part are written `%2E`. */
export function formatTableName({ schema, table }: TableName): string {
  if (schema === PUBLIC && !table.includes('.')) return table;
  return `${schema.replaceAll('%', '%25').replaceAll('.', '%2E')}.${table}`;
}

export function parseTableName(text: string): TableName {
  const dot = text.indexOf('.');
  if (dot === -1) return { schema: PUBLIC, table: text };
  const schema = text.slice(0, dot).replaceAll('%2E', '.').replaceAll('%25', '%');
  return { schema, table: text.slice(dot + 1) };
}

// --- internal ---

/** The schema that goes without saying. */
const PUBLIC = 'public';
