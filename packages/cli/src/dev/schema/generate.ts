import { CliError } from '../../errors.ts';
import { decide, NO_DECISIONS } from './decisions.ts';
import type { Decisions } from './decisions.ts';
import { copySnapshot, missingFrom, quote, quoteName, toKey } from './names.ts';
import { shared } from './questions.ts';
import type { Question } from './questions.ts';
import { listStatements } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';

/** What leads from one snapshot to another; nothing but questions while one is open. */
export interface Change {
  statements: string[];
  questions: Question[];
  /** What happens first, as part of a file's name: `add_users_age`. */
  label: string;
}

/**
 * drizzle-kit asks at the terminal whenever, in one call, something is gone and something of its kind is new. It is
 * called twice, with all that was and is in between: the first call only adds and alters, the second only drops.
 */
export async function planChange(before: Snapshot, to: Snapshot, decisions: Decisions = NO_DECISIONS): Promise<Change> {
  const { from, statements, open } = decide(before, to, decisions);
  if (open.length > 0) return { statements: [], questions: open, label: '' };
  const both = unite(from, to);
  const added = (await listStatements(from, both)).map(withConversion);
  const unforeseen = added.find((statement) => loses(statement, to));
  if (unforeseen !== undefined) throw unclear(unforeseen);
  const all = [...statements, ...added, ...(await listStatements(both, to))].map((text) => text.trim());
  return { statements: all, questions: [], label: toLabel(from, to, decisions) };
}

// --- internal ---

const LOSES = /^\s*(?:DROP (?:TABLE|SCHEMA|SEQUENCE)\b|ALTER TABLE (.+) DROP COLUMN (.+?);?$)/i;
const RETYPE = /^(ALTER TABLE .* ALTER COLUMN ("(?:[^"]|"")+") SET DATA TYPE )([^;]*)(;?)$/;

/** Whether it drops what holds something. A column that is computed from then on has been decided, or held nothing. */
function loses(statement: string, to: Snapshot): boolean {
  const [found, table, column] = LOSES.exec(statement.trim()) ?? [];
  if (found === undefined) return false;
  const after = Object.values(to.tables).find((one) => quote(one) === table);
  const dropped = Object.values(after?.columns ?? {}).find(({ name }) => quoteName(name) === column);
  return dropped?.generated === undefined;
}

/** Everything of the second, and what is in the first alone. */
function unite(from: Snapshot, to: Snapshot): Snapshot {
  const both = copySnapshot(to);
  both.tables = { ...from.tables, ...both.tables };
  for (const kind of ['enums', 'sequences', 'views', 'schemas', 'roles', 'policies'] as const)
    Object.assign(both, { [kind]: { ...from[kind], ...both[kind] } });
  for (const [before, after] of shared(from.tables, both.tables)) {
    if (before === after) continue;
    after.columns = { ...before.columns, ...after.columns };
    after.policies = { ...before.policies, ...after.policies };
  }
  return both;
}

/** The database changes a type by itself only where that is obvious to it. */
function withConversion(statement: string): string {
  const [, start, column, type = '', end] = RETYPE.exec(statement.trim()) ?? [];
  if (start === undefined || / USING /i.test(type)) return statement;
  return `${start}${type} USING ${column}::${type}${end}`;
}

function toLabel(before: Snapshot, to: Snapshot, { renames }: Decisions): string {
  const tables = shared(before.tables, to.tables);
  const candidates: [string, string[]][] = [
    ['rename', renames.map((text) => text.split('=')[0] ?? '')],
    ['create', missingFrom(to.tables, before.tables).map((table) => toKey(table))],
    ['drop', missingFrom(before.tables, to.tables).map((table) => toKey(table))],
    ['add', tables.flatMap(([was, is]) => missingFrom(is.columns, was.columns).map(({ name }) => toKey(is, name)))],
    ['drop', tables.flatMap(([was, is]) => missingFrom(was.columns, is.columns).map(({ name }) => toKey(is, name)))],
  ];
  const [verb, names] = candidates.find(([, found]) => found.length > 0) ?? ['change', ['schema']];
  const text = [verb, ...names.slice(0, 3)].join('_').toLowerCase();
  return text.replaceAll(/[^a-z0-9]+/g, '_').slice(0, 50);
}

/** A change of this kind is one that was not thought of here: better none than one that loses something. */
function unclear(statement: string): CliError {
  return new CliError('schema_unclear', `This change of src/schema.ts would run: ${statement}`, {
    suggestion:
      'Write it as a migration of your own: npx drizzle-kit@0.31 generate --custom, with --out .svc/migrations.',
    details: { statement },
  });
}
