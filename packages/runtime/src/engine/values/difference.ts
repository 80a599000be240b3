import { decodeInert, inertType } from '../serialize.ts';
import { toText } from './text.ts';

/** Where two recorded values differ first. */
export interface Difference {
  /** As in `args[0].user.name`; empty: the whole value. */
  path: string;
  recorded: string;
  called: string;
}

/**
 * Compares two values as the journal holds them. Undefined: they are the same, or differ only in what code does not
 * choose and another process, platform or release makes otherwise: the order of an object's keys, the stack of an error
 * (as text, too), the wording of an error that the language throws.
 */
export function differenceOf(recorded: string, called: string): Difference | undefined {
  return compare(decodeInert(recorded), decodeInert(called), { path: '', seen: new Map() });
}

// --- internal ---

interface Place {
  path: string;
  /** Pairs that are being compared: what leads back to itself ends there. */
  seen: Map<object, object>;
}

/** Of errors of these classes the message is the engine's, and changes with its release. */
const WORDED_BY_ENGINE = new Set(['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']);

function compare(a: unknown, b: unknown, place: Place): Difference | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a === 'string' && typeof b === 'string' && withoutFrames(a) === withoutFrames(b)) return undefined;
  if (!isObject(a) || !isObject(b)) return differ(a, b, place);
  if (place.seen.get(a) === b) return undefined;
  place.seen.set(a, b);
  if (kindOf(a) !== kindOf(b)) return differ(a, b, place);
  if (a instanceof Map && b instanceof Map) return compareLists([...a].flat(), [...b].flat(), place);
  if (a instanceof Set && b instanceof Set) return compareLists([...a], [...b], place);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b, place);
  if (ArrayBuffer.isView(a) || a instanceof ArrayBuffer)
    return Buffer.compare(bytesOf(a), bytesOf(b)) === 0 ? undefined : differ(a, b, place);
  if (!isKeyed(a)) return textOf(a) === textOf(b) ? undefined : differ(a, b, place);
  return compareKeys(chosenOf(a), chosenOf(b), place);
}

function compareLists(a: readonly unknown[], b: readonly unknown[], place: Place): Difference | undefined {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const found = compare(a[index], b[index], { ...place, path: `${place.path}[${index}]` });
    if (found) return found;
  }
  return a.length === b.length ? undefined : differ(a, b, place);
}

function compareKeys(a: Record<string, unknown>, b: Record<string, unknown>, place: Place): Difference | undefined {
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const path = place.path === '' ? key : `${place.path}.${key}`;
    const isMissing = Object.hasOwn(a, key) !== Object.hasOwn(b, key);
    const found = isMissing ? differ(a[key], b[key], { ...place, path }) : compare(a[key], b[key], { ...place, path });
    if (found) return found;
  }
  return undefined;
}

/** What the author's code has chosen of an object: of an error all but its stack, its system number and the engine's words. */
function chosenOf(value: object): Record<string, unknown> {
  if (inertType(value) !== 'Error') return value as Record<string, unknown>;
  const { stack: _, message, props, ...rest } = value as Record<string, unknown> & { props?: Record<string, unknown> };
  const { errno: __, ...chosen } = props ?? {};
  const isOwn = !WORDED_BY_ENGINE.has(String(rest.name));
  return { ...rest, ...(isOwn ? { message } : {}), ...chosen };
}

/** One frame of a stack, as V8 writes it or `inspect` does. Which of them there are differs with each process, too. */
const FRAME =
  /^\s+(?:at .*(?::\d+:\d+\)?|\((?:<anonymous>|native|index \d+)\)|<anonymous>)(?: \{)?|\.\.\. \d+ lines matching .*)$/;

function withoutFrames(text: string): string {
  const lines = text.split('\n');
  return lines.filter((line, index) => index === 0 || !FRAME.test(line)).join('\n');
}

/** Of a date, a pattern, an address, a number in a box. */
function textOf(value: object): string {
  return value instanceof Date ? String(value.getTime()) : String(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isKeyed(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || inertType(value) !== undefined;
}

function kindOf(value: object): string {
  return inertType(value) ?? Object.prototype.toString.call(value);
}

function bytesOf(value: object): Buffer {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Buffer.from(value as ArrayBuffer);
}

function differ(a: unknown, b: unknown, { path }: Place): Difference {
  return { path, recorded: show(a), called: show(b) };
}

const SHOWN = 120;

function show(value: unknown): string {
  if (typeof value === 'string') return cut(JSON.stringify(value));
  if (value === undefined) return 'nothing';
  return cut(typeof value === 'bigint' ? `${value}n` : toText(isObject(value) ? toShown(value) : value));
}

function toShown(value: object): unknown {
  if (value instanceof Map || value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) ? Object.prototype.toString.call(value) : value;
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
