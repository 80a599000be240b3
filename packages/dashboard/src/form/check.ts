import { isRecord } from './path.ts';
import type { Path } from './path.ts';
import { describe, findVariant, labelOf } from './schema.ts';
import type { JsonSchema, Node } from './schema.ts';

/** What is wrong with a value and where, as the box says it. */
export interface Issue {
  path: Path;
  message: string;
}

/**
 * What a person sees before anything is sent. The box has the last word: patterns and formats are left to it, so that a
 * pattern of someone else is never run in the browser.
 */
export function check(schema: JsonSchema, value: unknown): Issue[] {
  const issues: Issue[] = [];
  walk({ schema, value, path: [], root: schema, issues });
  return issues;
}

// --- internal ---

const MOST_ISSUES = 50;
const MOST_DEPTH = 64;

interface Place {
  schema: unknown;
  value: unknown;
  path: Path;
  root: JsonSchema;
  issues: Issue[];
}

function walk(place: Place): void {
  const { value, path, root, issues } = place;
  if (issues.length >= MOST_ISSUES || path.length > MOST_DEPTH) return;
  const node = describe(place.schema, root);
  if (value === undefined) {
    if (node.kind !== 'json' || path.length === 0) issues.push({ path, message: 'Required.' });
    return;
  }
  const message = explain(node, value);
  if (message !== undefined) issues.push({ path, message });
  else walkInside(node, place);
}

/** What is wrong with the value itself, not with what is in it. */
function explain(node: Node, value: unknown): string | undefined {
  switch (node.kind) {
    case 'text':
      return typeof value === 'string' ? explainText(node.schema, value) : 'Expected a text.';
    case 'number':
      return typeof value === 'number' ? explainNumber(node, value) : 'Expected a number.';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'Expected true or false.';
    case 'choice':
      return node.options.some((option) => isSame(option, value)) ? undefined : `Expected ${listOf(node.options)}.`;
    case 'constant':
      return isSame(node.value, value) ? undefined : `Expected ${labelOf(node.value)}.`;
    case 'list':
      return Array.isArray(value) ? explainList(node, value.length) : 'Expected a list.';
    case 'object':
      return isRecord(value) ? undefined : 'Expected an object.';
    default:
      return undefined;
  }
}

function walkInside(node: Node, { value, path, root, issues }: Place): void {
  if (node.kind === 'nullable' && value !== null) walk({ schema: node.of, value, path, root, issues });
  if (node.kind === 'variants') {
    const option = node.options[findVariant(node, value, root)];
    if (option) walk({ schema: option.schema, value, path, root, issues });
    else issues.push({ path, message: `Expected one of ${node.options.map(({ label }) => label).join(', ')}.` });
  }
  if (node.kind === 'list')
    for (const [at, item] of (value as unknown[]).entries())
      walk({ schema: node.items, value: item, path: [...path, at], root, issues });
  if (node.kind === 'object') walkMembers(node, { schema: undefined, value, path, root, issues });
}

function walkMembers(node: Extract<Node, { kind: 'object' }>, { value, path, root, issues }: Place): void {
  const given = value as Record<string, unknown>;
  for (const { name, schema, isRequired } of node.members) {
    const inner = Object.hasOwn(given, name) ? given[name] : undefined;
    if (inner !== undefined || isRequired) walk({ schema, value: inner, path: [...path, name], root, issues });
  }
  if (node.schema['additionalProperties'] !== false) return;
  const known = new Set(node.members.map(({ name }) => name));
  for (const name of Object.keys(given))
    if (!known.has(name) && issues.length < MOST_ISSUES)
      issues.push({ path: [...path, name], message: 'There is no such member.' });
}

function explainText({ minLength, maxLength }: JsonSchema, value: string): string | undefined {
  if (typeof minLength === 'number' && value.length < minLength) return `At least ${count(minLength, 'character')}.`;
  if (typeof maxLength === 'number' && value.length > maxLength) return `At most ${count(maxLength, 'character')}.`;
  return undefined;
}

function explainNumber({ schema, isWhole }: Extract<Node, { kind: 'number' }>, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (isWhole && !Number.isInteger(value)) return 'Expected a whole number.';
  if (typeof minimum === 'number' && value < minimum) return `At least ${minimum}.`;
  if (typeof maximum === 'number' && value > maximum) return `At most ${maximum}.`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return `More than ${exclusiveMinimum}.`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return `Less than ${exclusiveMaximum}.`;
  return undefined;
}

function explainList({ least, most }: Extract<Node, { kind: 'list' }>, length: number): string | undefined {
  if (length < least) return `At least ${count(least, 'entry', 'entries')}.`;
  return length > most ? `At most ${count(most, 'entry', 'entries')}.` : undefined;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

function listOf(options: readonly unknown[]): string {
  const shown = options.slice(0, 8).map(labelOf).join(', ');
  return options.length > 8 ? `one of ${shown} …` : `one of ${shown}`;
}

function isSame(one: unknown, two: unknown): boolean {
  if (typeof one !== 'object' || one === null) return one === two;
  return JSON.stringify(one) === JSON.stringify(two);
}
