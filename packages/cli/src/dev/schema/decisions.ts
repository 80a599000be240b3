import { usageError } from '../../errors.ts';
import { copySnapshot, toKey, toSnapshotKey } from './names.ts';
import { findQuestions, ROLE } from './questions.ts';
import type { Question } from './questions.ts';
import { renameColumn, renameEnum, renameRole, renameSequence, renameTable, renameValue } from './renames.ts';
import type { EnumSnapshot, Named, Snapshot, TableSnapshot } from './snapshot.ts';

/** What a person has said about the questions. */
export interface Decisions {
  /** `users.name=users.full_name`, each. */
  renames: readonly string[];
  /** Names of what is dropped, with what it holds. */
  drops: readonly string[];
  /** Names of columns whose values are converted. */
  converts: readonly string[];
}

export const NO_DECISIONS: Decisions = { renames: [], drops: [], converts: [] };

export interface Decided {
  /** Where it begins, under the new names. */
  from: Snapshot;
  /** What gives the new names. */
  statements: string[];
  /** What is not decided. */
  open: Question[];
}

/** Throws a usage error for a decision about something that is not to be decided. */
export function decide(before: Snapshot, to: Snapshot, { renames, drops, converts }: Decisions): Decided {
  const from = copySnapshot(before);
  const statements = rename(from, to, renames.map(parseRename));
  const questions = findQuestions(from, to);
  const isDecided = (question: Question): boolean =>
    (question.kind === 'type' ? converts : drops).some((name) => isNamed(question.name, name));
  for (const [flag, names, kinds] of [
    ['--drop', drops, questions.filter(({ kind }) => kind !== 'type')],
    ['--convert', converts, questions.filter(({ kind }) => kind === 'type')],
  ] as const)
    for (const name of names) if (!kinds.some((question) => isNamed(question.name, name))) throw idle(flag, name);
  return { from, statements, open: questions.filter((question) => !isDecided(question)) };
}

// --- internal ---

interface Names {
  left: string;
  right: string;
}

function parseRename(text: string): Names {
  const [left = '', right = '', ...more] = text.split('=');
  if (left !== '' && right !== '' && more.length === 0) return { left, right };
  throw usageError(`--rename does not take "${text}".`, 'For example: --rename users.name=users.full_name');
}

/** Whole things first: what is in them is named below either name of theirs. */
function rename(from: Snapshot, to: Snapshot, names: Names[]): string[] {
  const keyOf = new Map<Named, string>();
  for (const kind of [from.tables, from.enums]) for (const thing of Object.values(kind)) keyOf.set(thing, toKey(thing));
  const parts: Names[] = [];
  const whole = names.flatMap((one) => {
    const statements = renameWhole(from, to, one);
    if (!statements) parts.push(one);
    return statements ?? [];
  });
  const keysOf = (thing: Named, part: string) => [toKey(thing, part), `${keyOf.get(thing)}.${part}`];
  return [...whole, ...parts.flatMap((one) => renamePart({ from, to, keysOf }, one))];
}

/** Undefined: it is no table, enum, sequence or role. */
function renameWhole(from: Snapshot, to: Snapshot, names: Names): string[] | undefined {
  const table = pick(from.tables, to.tables, names);
  if (table) return renameTable(from, table);
  const type = pick(from.enums, to.enums, names);
  if (type) return renameEnum(from, type);
  const sequence = pick(from.sequences, to.sequences, names);
  if (sequence) return renameSequence(from, sequence);
  const [left, right] = [names.left.slice(ROLE.length), names.right.replace(ROLE, '')];
  if (!names.left.startsWith(ROLE) || !from.roles[left]) return undefined;
  checkNew({ isGone: !to.roles[left], isNew: to.roles[right] !== undefined && !from.roles[right] }, names);
  return renameRole(from, { from: { name: left }, to: { name: right } });
}

function pick<T extends Named>(from: Record<string, T>, to: Record<string, T>, names: Names) {
  const thing = Object.values(from).find((one) => isNamed(toKey(one), names.left));
  if (!thing) return undefined;
  const target = Object.values(to).find((one) => isNamed(toKey(one), names.right));
  const isNew = target !== undefined && !Object.hasOwn(from, toSnapshotKey(target));
  checkNew({ isGone: !Object.hasOwn(to, toSnapshotKey(thing)), isNew }, names);
  return { from: thing, to: { name: target?.name ?? '', schema: target?.schema ?? '' } };
}

interface Renaming {
  from: Snapshot;
  to: Snapshot;
  keysOf(thing: Named, part: string): string[];
}

function renamePart({ from, to, keysOf }: Renaming, names: Names): string[] {
  const isLeft = (thing: Named) => (part: string) => keysOf(thing, part).some((key) => isNamed(key, names.left));
  const isRight = (thing: Named) => (part: string) => part === names.right || isNamed(toKey(thing, part), names.right);
  for (const table of Object.values(from.tables)) {
    const column = Object.keys(table.columns).find(isLeft(table));
    if (column === undefined) continue;
    const after: TableSnapshot | undefined = to.tables[toSnapshotKey(table)];
    const target = after && Object.keys(after.columns).find(isRight(after));
    const isNew = target !== undefined && !table.columns[target];
    checkNew({ isGone: !after?.columns[column], isNew }, names);
    return renameColumn(from, { table, from: column, to: target ?? '' });
  }
  for (const type of Object.values(from.enums)) {
    const value = type.values.find(isLeft(type));
    if (value === undefined) continue;
    const after: EnumSnapshot | undefined = to.enums[toSnapshotKey(type)];
    const target = after?.values.find(isRight(after));
    const isNew = target !== undefined && !type.values.includes(target);
    checkNew({ isGone: !after?.values.includes(value), isNew }, names);
    return renameValue(type, { from: value, to: target ?? '' });
  }
  throw idle('--rename', names.left);
}

function checkNew({ isGone, isNew }: { isGone: boolean; isNew: boolean }, { left, right }: Names): void {
  if (!isGone) throw usageError(`"${left}" is still in src/schema.ts, so it was not renamed.`, LOOK);
  if (!isNew) throw usageError(`"${right}" is not new in src/schema.ts, so nothing was renamed to it.`, LOOK);
}

function isNamed(key: string, given: string): boolean {
  return key === given || `public.${key}` === given;
}

function idle(flag: string, name: string) {
  return usageError(`There is nothing to decide about "${name}", which ${flag} names.`, LOOK);
}

const LOOK = 'Run `svc schema status` to see what is to be decided.';
