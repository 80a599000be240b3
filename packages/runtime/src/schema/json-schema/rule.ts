/** Where a value does not fit, by the members that lead there, and why. A name that the schema does not have is `*`. */
export interface Misfit {
  path: readonly (string | number)[];
  why: string;
}

/** One keyword, or all of a schema. Undefined: the value fits. */
export type Rule = (value: unknown, work: Work) => Misfit | undefined;

/** What judging one value has taken so far. */
export interface Work {
  looks: number;
  depth: number;
}

/** A schema that was read, with what it is a part of. */
export interface Reading {
  /** Reads a schema within it. Throws a `TypeError` that says what is wrong with it. */
  read(schema: unknown, keyword: string): Rule;
}

/** Keywords of a schema. */
export type Keywords = Readonly<Record<string, unknown>>;

/** A value of a megabyte has some 500,000 parts. */
const MOST_LOOKS = 2_000_000;
const MOST_DEPTH = 500;

export function createWork(): Work {
  return { looks: 0, depth: 0 };
}

/** Throws a `RangeError` where a schema and a value together take more than a request may. */
export function spend(work: Work, looks = 1): void {
  work.looks += looks;
  if (work.looks > MOST_LOOKS) throw new RangeError(`the value takes more than ${MOST_LOOKS} looks by the schema`);
}

/** The same a level further down. */
export function within<T>(work: Work, judge: () => T): T {
  if (work.depth >= MOST_DEPTH) throw new RangeError(`the value is nested deeper than ${MOST_DEPTH} levels`);
  work.depth += 1;
  // What is thrown ends the whole judgement.
  const answer = judge();
  work.depth -= 1;
  return answer;
}

/** How many looks it is to read a text. */
export function spendOnText(work: Work, text: string): void {
  spend(work, 1 + (text.length >> 6));
}

export function misfit(why: string): Misfit {
  return { path: [], why };
}

/** The same seen from above. */
export function below(name: string | number, found: Misfit | undefined): Misfit | undefined {
  return found && { ...found, path: [name, ...found.path] };
}

/** Asked of values of one kind; all others fit. */
export function of<T>(
  isKind: (value: unknown) => value is T,
  judge: (value: T, work: Work) => Misfit | undefined,
): Rule {
  return (value, work) => (isKind(value) ? judge(value, work) : undefined);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

/** What a keyword has to be. Throws a `TypeError` where it is not. */
export function need<T>(keyword: string, value: unknown, isKind: (value: unknown) => value is T, what: string): T {
  if (!isKind(value)) throw new TypeError(`"${keyword}" has to be ${what}`);
  return value;
}

export function needCount(keyword: string, value: unknown): number {
  const isCount = (given: unknown): given is number => Number.isInteger(given) && (given as number) >= 0;
  return need(keyword, value, isCount, 'a whole number from 0');
}

export function needNames(keyword: string, value: unknown): readonly string[] {
  const isNames = (given: unknown): given is string[] => Array.isArray(given) && given.every(isText);
  return need(keyword, value, isNames, 'a list of names');
}

/** The same text for values that say the same, whatever the order of their members. */
export function toKey(value: unknown, work: Work): string {
  if (isText(value)) spendOnText(work, value);
  else spend(work);
  if (typeof value !== 'object' || value === null) return `${typeof value}:${JSON.stringify(value)}`;
  return within(work, () => {
    if (Array.isArray(value)) return `[${value.map((item) => toKey(item, work)).join()}]`;
    const members = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1));
    const keys = members.map(([name, item]) => {
      spendOnText(work, name);
      return `${JSON.stringify(name)}=${toKey(item, work)}`;
    });
    return `{${keys.join()}}`;
  });
}
