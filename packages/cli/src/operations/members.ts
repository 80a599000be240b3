import type { ArgDef } from 'citty';
import { usageError } from '../errors.ts';
import { readJson } from '../terminal/read-input.ts';
import type { Context } from '../context.ts';
import type { Schema } from '../payload/schema.ts';

/** How a member of an input is typed. */
export type MemberKind = 'text' | 'choice' | 'switch' | 'number' | 'time' | 'list' | 'json';

/** A member of an input as one or two flags, or as an argument. */
export interface Member {
  /** In the input. */
  name: string;
  /** On the command line, without dashes. */
  flag: string;
  kind: MemberKind;
  schema: Schema;
}

export function toMember(name: string, schema: Schema): Member {
  return { name, flag: FLAG_NAMES[name] ?? toKebab(name), kind: findKind(schema), schema };
}

/** The flags of a member; JSON may also come from a file. */
export function toFlags({ flag, kind, schema }: Member): Record<string, ArgDef> {
  const described = schema.description === undefined ? undefined : endSentence(schema.description);
  const words = [described, describeDefault(schema), KIND_WORDS[kind]].filter(Boolean).join(' ');
  const description = { description: words || endSentence(toSentence(flag)) };
  if (kind === 'switch') return { [flag]: { type: 'boolean', ...description } };
  if (kind === 'choice') return { [flag]: { type: 'enum', options: listChoices(schema), ...description } };
  const one = { type: 'string', valueHint: VALUE_HINTS[kind] ?? flag, ...description } as const;
  if (kind !== 'json') return { [flag]: one };
  return {
    [flag]: one,
    [`${flag}-file`]: { type: 'string', valueHint: 'path', description: `A file that holds --${flag}; - is stdin.` },
  };
}

/** The value of a member, or undefined where nothing was typed. */
export async function readMember(
  { flag, kind, schema }: Member,
  args: Record<string, unknown>,
  context: Context,
): Promise<unknown> {
  const typed = args[flag];
  if (kind === 'json') {
    const file = args[`${flag}-file`] as string | undefined;
    return readJson({ flag, text: typed as string | undefined, file }, context);
  }
  if (typed === undefined || kind === 'switch') return typed;
  const text = String(typed);
  if (kind === 'number') return parseNumber(flag, text, schema);
  if (kind === 'time') return parseTime(flag, text);
  if (flag === REVISION && !/^\d{1,15}$/.test(text))
    throw usageError(
      `--${flag} does not take "${text}".`,
      `Use the revision that \`svc config get ${String(args.key)}\` shows.`,
    );
  return kind === 'list' ? splitList(text) : text;
}

/** `a,b` as its parts. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** `90s`, `30m`, `12h`, `7d` in milliseconds; undefined for anything else. */
export function parseSpan(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
}

// --- internal ---

const REVISION = 'if-revision';

/** A flag that every verb has means something else. */
const FLAG_NAMES: Record<string, string | undefined> = {
  agent: 'agent-name',
  url: 'of-url',
  ifMatch: REVISION,
};

const KIND_WORDS: Partial<Record<MemberKind, string>> = {
  list: 'May be given more than once.',
  time: 'A time, or how long ago: 2h.',
};

const VALUE_HINTS: Partial<Record<MemberKind, string>> = {
  number: 'number',
  time: 'time',
  list: 'names',
  json: 'json',
};

const UNITS: Record<string, number | undefined> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function findKind(schema: Schema): MemberKind {
  const shapes = (schema.anyOf ?? [schema]).filter(({ type }) => type !== 'null');
  if (shapes.some(({ type }) => type === 'boolean')) return 'switch';
  if (shapes.every(({ enum: values, const: value }) => values !== undefined || value !== undefined)) return 'choice';
  const [shape = {}, ...others] = shapes;
  if (others.length > 0) return 'json';
  if (shape.type === 'integer' || shape.type === 'number') return 'number';
  if (shape.type === 'string') return shape.format === 'date-time' ? 'time' : 'text';
  return shape.type === 'array' && shape.items?.type === 'string' ? 'list' : 'json';
}

function listChoices({ anyOf, enum: values, const: value }: Schema): string[] {
  if (anyOf) return anyOf.flatMap(listChoices);
  return (values ?? (value === undefined ? [] : [value])).map(String);
}

function parseNumber(flag: string, text: string, { type, minimum, maximum }: Schema): number {
  const isWhole = type === 'integer';
  const value = (isWhole ? /^-?\d{1,15}$/ : /^-?\d{1,15}(\.\d+)?$/).test(text) ? Number(text) : Number.NaN;
  const fits = value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
  if (fits) return value;
  const kind = isWhole ? 'a whole number' : 'a number';
  throw usageError(`--${flag} does not take "${text}".`, `Use ${kind}${describeRange(minimum, maximum)}.`);
}

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, ${minimum} or more`;
  return maximum === undefined ? '' : `, ${maximum} or less`;
}

function parseTime(flag: string, text: string): string {
  const span = parseSpan(text);
  if (span !== undefined) return new Date(Date.now() - span).toISOString();
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw usageError(
    `--${flag} does not take "${text}".`,
    'Use a time as in 2026-01-31T12:00:00Z, or how long ago: 90s, 30m, 2h, 7d.',
  );
}

function describeDefault({ default: value }: Schema): string {
  if (value === undefined || value === null || typeof value === 'object' || value === '') return '';
  return `Default ${String(value)}.`;
}

function toSentence(flag: string): string {
  const words = flag.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function endSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

function toKebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
