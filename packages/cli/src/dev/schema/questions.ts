import { missingFrom, toKey, toSnapshotKey } from './names.ts';
import type { ColumnSnapshot, EnumSnapshot, Named, Snapshot, TableSnapshot } from './snapshot.ts';

export type Kind = 'table' | 'column' | 'enum' | 'value' | 'sequence' | 'role';

/** A change that would lose something, or may mean two things. Only a person answers it. */
export type Question =
  | {
      kind: Kind;
      /** What is gone, as `--drop` takes it. */
      name: string;
      /** What is new beside it, and may be the same under another name. */
      candidates: string[];
    }
  | {
      kind: 'type';
      /** The column whose values have to become something else, as `--convert` takes it. */
      name: string;
      from: string;
      to: string;
    };

/** What comes before the name of a role. */
export const ROLE = 'role:';

/** What stands between two snapshots that is not done by itself. */
export function findQuestions(from: Snapshot, to: Snapshot): Question[] {
  const tables = shared(from.tables, to.tables);
  return [
    ...findGone('table', from.tables, to.tables),
    ...tables.flatMap(([before, after]) => findGoneColumns(before, after)),
    ...findGone('enum', from.enums, to.enums),
    ...shared(from.enums, to.enums).flatMap(([before, after]) => findGoneValues(before, after)),
    ...findGone('sequence', from.sequences, to.sequences),
    ...findGone('role', toRoles(from), toRoles(to)),
    ...tables.flatMap(([before, after]) => findConversions(before, after)),
  ];
}

/** What is in both, as it was and as it is, by key. */
export function shared<T>(from: Record<string, T>, to: Record<string, T>): [T, T][] {
  return Object.keys(from)
    .sort()
    .flatMap((key): [T, T][] => {
      const [before, after] = [from[key], to[key]];
      return before && after ? [[before, after]] : [];
    });
}

// --- internal ---

/** A role may have the name of a table, so it is called by what it is. */
function toRoles({ roles }: Snapshot): Record<string, Named> {
  return Object.fromEntries(Object.keys(roles).map((name) => [name, { name: `${ROLE}${name}` }]));
}

function findGone(kind: Kind, from: Record<string, Named>, to: Record<string, Named>): Question[] {
  const candidates = missingFrom(to, from).map((added) => toKey(added));
  return missingFrom(from, to).map((gone) => ({ kind, name: toKey(gone), candidates }));
}

function findGoneColumns(before: TableSnapshot, after: TableSnapshot): Question[] {
  const candidates = missingFrom(after.columns, before.columns).map(({ name }) => toKey(after, name));
  return missingFrom(before.columns, after.columns).map(({ name }) => {
    return { kind: 'column', name: toKey(before, name), candidates };
  });
}

function findGoneValues(before: EnumSnapshot, after: EnumSnapshot): Question[] {
  const candidates = after.values.filter((value) => !before.values.includes(value)).map((value) => toKey(after, value));
  const gone = before.values.filter((value) => !after.values.includes(value));
  return gone.map((value) => ({ kind: 'value', name: toKey(before, value), candidates }));
}

function findConversions(before: TableSnapshot, after: TableSnapshot): Question[] {
  return shared(before.columns, after.columns)
    .filter(([was, is]) => !keepsValues(was, is))
    .map(([was, is]) => ({ kind: 'type', name: toKey(after, is.name), from: typeOf(was), to: typeOf(is) }));
}

/** Whether every value the column may hold stays what it is. */
function keepsValues(was: ColumnSnapshot, is: ColumnSnapshot): boolean {
  // What is computed from others was not stored by anyone; what begins to be computed was.
  if (is.generated) return was.generated !== undefined;
  if (was.generated) return true;
  return typeOf(was) === typeOf(is) || isWider(was.type, is.type);
}

function typeOf({ type, typeSchema, generated }: ColumnSnapshot): string {
  const name = typeSchema ? toSnapshotKey({ schema: typeSchema, name: type }) : type;
  return generated ? `${name}, generated` : name;
}

const WHOLE = ['smallint', 'integer', 'bigint', 'numeric'];
const REAL = ['real', 'double precision'];
const TEXT = /^(?:text|varchar|char)\b(?:\((\d+)\))?/;

/** Types the database changes without losing anything, and without an instruction how. */
function isWider(from: string, to: string): boolean {
  for (const order of [WHOLE, REAL])
    if (order.includes(from) && order.includes(to)) return order.indexOf(from) < order.indexOf(to);
  if (/^numeric\b/.test(from) && to === 'numeric') return true;
  if (from.endsWith(']') || to.endsWith(']')) return false;
  const [was, is] = [TEXT.exec(from), TEXT.exec(to)];
  // A char is padded, so it becomes another text than it was.
  if (!was || !is || to.startsWith('char') || from.startsWith('char')) return false;
  return Number(was[1] ?? Infinity) <= Number(is[1] ?? Infinity);
}
