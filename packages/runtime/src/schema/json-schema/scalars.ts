import { z } from 'zod';
import { compileLinear } from '../../linear-pattern.ts';
import type { LinearPattern } from '../../linear-pattern.ts';
import {
  createWork,
  isNumber,
  isObject,
  isText,
  misfit,
  need,
  needCount,
  of,
  spend,
  spendOnText,
  toKey,
} from './rule.ts';
import type { Keywords, Rule, Work } from './rule.ts';

/** Keywords about any value, about texts and about numbers. */
export function readScalars(schema: Keywords): Rule[] {
  const rules: Rule[] = [];
  if (schema.type !== undefined) rules.push(readType(schema));
  if (schema.enum !== undefined) rules.push(readEnum(need('enum', schema.enum, Array.isArray, 'a list')));
  if ('const' in schema) rules.push(readEnum([schema.const]));
  return [...rules, ...readText(schema), ...readNumber(schema)];
}

/** What runs it takes a time that grows with the text. Throws a `TypeError`. */
export function readPattern(keyword: string, source: unknown): LinearPattern {
  const pattern = compileLinear(need(keyword, source, isText, 'a text'));
  if (!pattern)
    throw new TypeError(`"${keyword}" is no regular expression without lookaround and references to groups`);
  return pattern;
}

// --- internal ---

const TYPES: Record<string, (value: unknown) => boolean> = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isInteger(value),
  null: (value) => value === null,
  number: isNumber,
  object: isObject,
  string: isText,
};

function readType({ type, nullable }: Keywords): Rule {
  const names = (Array.isArray(type) ? type : [type]) as unknown[];
  const kinds = names.map((name) => {
    const kind = typeof name === 'string' && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (!kind) throw new TypeError(`"type" knows ${Object.keys(TYPES).join(', ')}, and not ${JSON.stringify(name)}`);
    return kind;
  });
  const wanted = names.join(' or ');
  return (value) =>
    kinds.some((isKind) => isKind(value)) || (nullable === true && value === null)
      ? undefined
      : misfit(`is no ${wanted}`);
}

function readEnum(values: readonly unknown[]): Rule {
  const work = createWork();
  const keys = new Set(values.map((value) => toKey(value, work)));
  return (value, own) => (keys.has(toKey(value, own)) ? undefined : misfit('is none of what it may be'));
}

function readText(schema: Keywords): Rule[] {
  const rules: Rule[] = [];
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined) {
    const least = needCount('minLength', minLength);
    rules.push(
      of(isText, (text, work) => {
        spendOnText(work, text);
        return countTo(text, least) < least ? misfit(`is shorter than ${least}`) : undefined;
      }),
    );
  }
  if (maxLength !== undefined) {
    const most = needCount('maxLength', maxLength);
    rules.push(
      of(isText, (text, work) => {
        spendOnText(work, text);
        return countTo(text, most + 1) > most ? misfit(`is longer than ${most}`) : undefined;
      }),
    );
  }
  if (pattern !== undefined) {
    const compiled = readPattern('pattern', pattern);
    rules.push(
      of(isText, (text, work) => {
        spendOnText(work, text);
        return compiled.test(text) ? undefined : misfit('does not match its pattern');
      }),
    );
  }
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  // One that is not known here is a remark, as the standard defines it.
  if (known)
    rules.push(
      of(isText, (text, work) => {
        spendOnText(work, text);
        return text.length <= LONGEST_FORMAT && known.safeParse(text).success
          ? undefined
          : misfit(`is no ${String(format)}`);
      }),
    );
  return rules;
}

const LONGEST_FORMAT = 2_000;

const FORMATS: Record<string, { safeParse(text: string): { success: boolean } }> = {
  date: z.iso.date(),
  'date-time': z.iso.datetime({ offset: true }),
  email: z.email(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  uri: z.url(),
  uuid: z.guid(),
};

/** Characters of a text as people count them, as far as it matters. */
function countTo(text: string, most: number): number {
  if (text.length <= most / 2) return text.length;
  let count = 0;
  for (const _ of text) {
    count += 1;
    if (count >= most) return count;
  }
  return count;
}

function readNumber(schema: Keywords): Rule[] {
  const rules: Rule[] = [];
  const bound = (keyword: string, fits: (value: number, limit: number) => boolean, why: string) => {
    const limit = schema[keyword];
    // Draft 4 says of the other bound whether it counts itself.
    if (limit === undefined || typeof limit === 'boolean') return;
    const number = need(keyword, limit, isNumber, 'a number');
    rules.push(of(isNumber, (value) => (fits(value, number) ? undefined : misfit(`is ${why} ${number}`))));
  };
  const isOpen = { least: schema.exclusiveMinimum === true, most: schema.exclusiveMaximum === true };
  bound('minimum', (value, limit) => value > limit || (value === limit && !isOpen.least), 'under');
  bound('maximum', (value, limit) => value < limit || (value === limit && !isOpen.most), 'over');
  bound('exclusiveMinimum', (value, limit) => value > limit, 'not over');
  bound('exclusiveMaximum', (value, limit) => value < limit, 'not under');
  if (schema.multipleOf !== undefined) {
    const part = need('multipleOf', schema.multipleOf, isPositive, 'a number above 0');
    const isMultiple = createMultiple(part);
    rules.push(
      of(isNumber, (value, work) => (isMultiple(value, work) ? undefined : misfit(`is no multiple of ${part}`))),
    );
  }
  return rules;
}

function isPositive(value: unknown): value is number {
  return isNumber(value) && value > 0 && value < Infinity;
}

/** As both are written: 0.3 is a multiple of 0.1, though no division says so. */
function createMultiple(part: number): (value: number, work: Work) => boolean {
  const parts = toDecimal(part);
  const power = Math.max(0, -parts.scale);
  const unit = 10 ** power;
  const whole = Number(atScale(parts, -power));
  const isShort = power <= MOST_POWER && whole < MOST_EXACT;
  return (value, work) => {
    if (Number.isInteger(part) && Number.isInteger(value)) return value % part === 0;
    if (!Number.isFinite(value)) return false;
    // Below so many digits a whole number over a power of ten is read as what it is written as, and as nothing else.
    const times = Math.round(value * unit);
    if (isShort && Math.abs(times) < MOST_EXACT) return times / unit === value && times % whole === 0;
    spend(work, LOOKS_OF_LONG);
    const values = toDecimal(value);
    const scale = Math.min(values.scale, parts.scale);
    return atScale(values, scale) % atScale(parts, scale) === 0n;
  };
}

const MOST_EXACT = 1e15;
/** Powers of ten up to this are exact. */
const MOST_POWER = 22;
/** How many looks it takes to divide numbers of any length. */
const LOOKS_OF_LONG = 32;

/** `digits` times ten to the power of `scale`. */
interface Decimal {
  digits: bigint;
  scale: number;
}

function toDecimal(value: number): Decimal {
  const [mantissa = '', power = ''] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), scale: Number(power) - fraction.length };
}

function atScale({ digits, scale }: Decimal, least: number): bigint {
  return digits * 10n ** BigInt(scale - least);
}
