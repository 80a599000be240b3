import { createFindings } from './findings.ts';
import type { Judged } from './findings.ts';
import { judgeText, judgeValue } from './judge.ts';
import { writeJson } from './value-texts.ts';
import type { About } from './judge.ts';
import type { SideRules, SpanRule } from './rules.ts';

/**
 * Judges a text that may be JSON, alone or in a code block: the values it is read as, and then the text itself. It stays as it is
 * written where nothing of it is masked. What is about the whole of it is not asked here.
 */
export async function judgeJsonText(rules: SideRules, text: string, about: About = {}): Promise<Judged<string>> {
  const json = readJson(text);
  return json ? judgeJson(rules, json, about) : judgeText({ ...rules, wholes: [] }, text, about);
}

/** The same of one that is. */
export async function judgeJson(rules: SideRules, json: ReadJson, about: About = {}): Promise<Judged<string>> {
  const places = { ...rules, wholes: [] };
  const findings = createFindings();
  const judged = await judgeValue(places, json.value, about);
  for (const one of judged.found) findings.add(one);
  const toText = (inner: string): string => json.before + inner + json.after;
  const given = toText(namesTwice(json.text, json.value) ? writeJson(json.value) : json.text);
  const masked = judged.value === json.value ? given : toText(writeJson(judged.value));
  if (judged.blocked) return { value: masked, ...findings.toAnswer() };
  // As it is written it may hold what no value of it does, as a name with its value. What stands for a value is nothing of that.
  const known = new Set(judged.found.map(({ rule }) => rule.id));
  const others = await judgeText({ ...places, own: [], spans: places.spans.filter((rule) => !isMask(rule)) }, given);
  for (const one of others.found) if (!known.has(one.rule.id)) findings.add(one);
  const masks = await judgeText({ ...places, own: [], spans: places.spans.filter(isMask) }, masked);
  for (const one of masks.found) findings.add(one);
  return { value: masks.value, ...findings.toAnswer() };
}

/** What a tool or an agent has written, with what is about the whole of it: that reads it as the model would. */
export async function judgeWritten(rules: SideRules, text: string, about: About = {}): Promise<Judged<string>> {
  const findings = createFindings();
  const whole = await judgeText({ ...rules, spans: [], own: [] }, text, about);
  const places = await judgeJsonText(rules, text, about);
  for (const one of [...places.found, ...whole.found]) findings.add(one);
  return { value: places.value, ...findings.toAnswer() };
}

/** Whether a text that begins so may be JSON, alone or in a code block. Undefined: that is not known yet. */
export function beginsAsJson(begun: string): boolean | undefined {
  const text = begun.slice(0, MOST_LOOKED_AT).trimStart();
  if (begun.length > MOST_LOOKED_AT) return (text === '' ? undefined : beginsAsJson(text)) ?? true;
  if (text.startsWith('`')) {
    const [opening] = OPENING.exec(text) ?? [];
    if (opening !== undefined) return beginsAsValue(text.slice(opening.length).trimStart());
    return MAY_OPEN.test(text) ? undefined : false;
  }
  return beginsAsValue(text);
}

/** An object, a list or a text that was written as JSON. */
export interface ReadJson {
  value: unknown;
  text: string;
  /** What surrounds it. */
  before: string;
  after: string;
}

/** Undefined: it is none. */
export function readJson(text: string): ReadJson | undefined {
  const from = text.length - text.trimStart().length;
  const [opening = ''] = OPENING.exec(text.slice(from, from + 64)) ?? [];
  const before = text.slice(0, from + opening.length);
  const after = opening === '' ? '' : (CLOSING.exec(text.slice(-MOST_CLOSING))?.[0] ?? '');
  const inner = text.slice(before.length, text.length - after.length);
  if (beginsAsValue(inner.slice(0, MOST_LOOKED_AT).trimStart()) === false) return undefined;
  try {
    return { value: JSON.parse(inner) as unknown, text: inner, before, after };
  } catch {
    return undefined;
  }
}

// --- internal ---

const isMask = ({ action }: SpanRule): boolean => action === 'mask';

const MOST_LOOKED_AT = 1_000;
const OPENING = /^```(?:json)?[^\S\n]*\n/;
/** As far as an opening of a code block may be written so far. */
const MAY_OPEN = /^`(?:`(?:`(?:j|js|jso|json)?[^\S\n]{0,64})?)?$/;
const CLOSING = /\s*```\s*$/;

/** What a text in quotes is not: it goes on in another line, or behind them, but for the end of a code block. */
const NO_TEXT = /^"(?:[^"\\\n]|\\.)*(?:\n|"\s*[^\s`])/;
/** A list that begins with a number or a word, and what it may be so far. */
const LIST_OF_PLAIN = /^\[\s*(-?\d[\d.eE+-]*|-|[a-z]+)/;
const WORDS = ['true', 'false', 'null'];

/** Of an object, a list or a text. A number or a word is the same read and written. */
function beginsAsValue(text: string): boolean | undefined {
  if (text === '') return undefined;
  if (text.startsWith('"')) return NO_TEXT.test(text) ? false : undefined;
  const inner = text.slice(1).trimStart().charAt(0);
  if (text.startsWith('{')) return inner === '' ? undefined : '"}'.includes(inner);
  if (!text.startsWith('[')) return false;
  const [begun, plain] = LIST_OF_PLAIN.exec(text) ?? [];
  if (begun !== undefined && plain !== undefined) return beginsAsPlain(plain, text.slice(begun.length));
  return inner === '' ? undefined : '[]{"'.includes(inner);
}

/** Whether a list goes on as one behind its first number or word. Prose may begin with one in brackets. */
function beginsAsPlain(plain: string, behind: string): boolean | undefined {
  const isWhole = /\d/.test(plain) || WORDS.includes(plain);
  if (!isWhole) return behind === '' && [...WORDS, '-'].some((word) => word.startsWith(plain)) ? undefined : false;
  const rest = behind.trimStart();
  return rest === '' || /^\]\s*(?:$|`)/.test(rest) ? undefined : rest.startsWith(',');
}

const MOST_CLOSING = 256;

/** Of a name that is there twice, JSON is read without the first value. */
function namesTwice(text: string, value: unknown): boolean {
  return countColons(text) > countMembers(value);
}

/** Outside of texts. */
function countColons(json: string): number {
  let count = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (isText && code === BACKSLASH) at += 1;
    else if (code === QUOTE) isText = !isText;
    else if (!isText && code === COLON) count += 1;
  }
  return count;
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

function countMembers(value: unknown): number {
  let count = 0;
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== 'object' || one === null) continue;
    const inner: unknown[] = Object.values(one);
    if (!Array.isArray(one)) count += inner.length;
    for (const item of inner) left.push(item);
  }
  return count;
}
