/** What drizzle-kit notes of a schema: `.svc/migrations/meta/<n>_snapshot.json`. The parts that are read here. */
export interface Snapshot {
  id: string;
  prevId: string;
  version: string;
  /** By `<schema>.<name>`, as enums, sequences and views are. */
  tables: Record<string, TableSnapshot>;
  enums: Record<string, EnumSnapshot>;
  sequences: Record<string, Named>;
  views: Record<string, Named>;
  schemas: Record<string, string>;
  roles: Record<string, { name: string }>;
  policies: Record<string, unknown>;
}

export interface Named {
  name: string;
  /** Empty, or absent: `public`. */
  schema?: string;
}

export interface EnumSnapshot extends Named {
  values: string[];
}

export interface TableSnapshot extends Named {
  columns: Record<string, ColumnSnapshot>;
  indexes: Record<string, { columns: { expression: string; isExpression: boolean }[] }>;
  foreignKeys: Record<string, ForeignKeySnapshot>;
  compositePrimaryKeys: Record<string, { columns: string[] }>;
  uniqueConstraints: Record<string, { columns: string[] }>;
  policies: Record<string, unknown>;
}

export interface ColumnSnapshot {
  name: string;
  type: string;
  /** The schema of an enum. */
  typeSchema?: string;
  generated?: unknown;
  identity?: { name: string };
}

export interface ForeignKeySnapshot {
  tableFrom: string;
  columnsFrom: string[];
  tableTo: string;
  schemaTo?: string;
  columnsTo: string[];
}

/** A schema without anything in it: what comes before the first migration. */
export const EMPTY_SNAPSHOT: Snapshot = Object.freeze({
  id: '00000000-0000-0000-0000-000000000000',
  prevId: '',
  version: '7',
  dialect: 'postgresql',
  tables: {},
  enums: {},
  sequences: {},
  views: {},
  schemas: {},
  roles: {},
  policies: {},
  _meta: { columns: {}, schemas: {}, tables: {} },
});

/**
 * The snapshot of what a module exports. Throws a sentence for a schema that no database can have, and for one that
 * declares something in `svc`, which is the box's own.
 */
export async function takeSnapshot(exports: Record<string, unknown>, prevId: string): Promise<Snapshot> {
  const { generateDrizzleJson } = await import('drizzle-kit/api');
  const snapshot = withoutExit(() => generateDrizzleJson(exports, prevId)) as unknown as Snapshot;
  const declared = [snapshot.tables, snapshot.enums, snapshot.sequences, snapshot.views];
  const own = declared.flatMap((kind) => Object.values(kind)).find(({ schema }) => isOfBox(schema));
  const taken = own?.schema ?? Object.values(snapshot.schemas).find(isOfBox);
  if (taken === undefined) return snapshot;
  const what = own ? `"${own.name}" is` : 'A schema is';
  throw new Error(`${what} declared in "${taken}", which holds what is the box's own. Use another schema.`);
}

/** The statements that lead from one to the other. Both must leave drizzle-kit nothing to ask: see `generate.ts`. */
export async function listStatements(from: Snapshot, to: Snapshot): Promise<string[]> {
  const { generateMigration } = await import('drizzle-kit/api');
  type Given = Parameters<typeof generateMigration>[0];
  return generateMigration(from as unknown as Given, to as unknown as Given);
}

/** A snapshot that an earlier drizzle-kit wrote, as this one writes it. */
export async function upgradeSnapshot(snapshot: Snapshot): Promise<Snapshot> {
  if (snapshot.version === EMPTY_SNAPSHOT.version) return snapshot;
  const { upPgSnapshot } = await import('drizzle-kit/api');
  return upPgSnapshot(snapshot as unknown as Record<string, unknown>) as unknown as Snapshot;
}

// --- internal ---

/** Its tables, and its views for people who read the database. */
const BOX_SCHEMAS = ['svc', 'svc_view'];

function isOfBox(schema: string | undefined): schema is string {
  return schema !== undefined && BOX_SCHEMAS.includes(schema);
}

/**
 * drizzle-kit answers two things of one name by printing them and ending the process, which here is a dev server.
 * The call is synchronous, so nothing else sees the console while it is replaced.
 */
function withoutExit<T>(work: () => T): T {
  const { log } = console;
  const { exit } = process;
  const said: string[] = [];
  console.log = (...words: unknown[]) => void said.push(words.join(' '));
  process.exit = () => {
    throw new Error(toSentence(said.join(' ')) || 'drizzle-kit cannot read the schema.');
  };
  try {
    return work();
  } finally {
    console.log = log;
    process.exit = exit;
  }
}

function toSentence(text: string): string {
  // oxlint-disable-next-line no-control-regex -- colours of a terminal begin with an escape
  const plain = text.replace(/\u001B\[[\d;]*m/g, '').replace(/\s+/g, ' ');
  return plain.replace(/^.*?(?:Warning|Error)\s*/, '').trim();
}
