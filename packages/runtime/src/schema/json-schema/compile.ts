import { createLru } from '../../lru.ts';
import { readList, readObject } from './containers.ts';
import { createWork, isObject, misfit, need, spend, within } from './rule.ts';
import type { Keywords, Misfit, Reading, Rule } from './rule.ts';
import { readScalars } from './scalars.ts';

/**
 * Judges values by a JSON Schema (draft 4 to 2020-12), by all of it: one of which a part is not understood is refused. Its
 * patterns run on an engine that takes as long as the text is.
 * @returns where a value does not fit, and why; undefined: it fits. Throws a `RangeError` where that takes too long to find out
 * @throws a `TypeError` that says that the schema is not understood, and which part of it
 */
export function compileJsonSchema(schema: unknown): JudgeBySchema {
  const rule = readWhole(schema);
  return (value) => rule(value, createWork());
}

export type JudgeBySchema = (value: unknown) => Misfit | undefined;

/** The same, which reads a schema once as long as it is among the last that were asked for. */
export function createSchemaReader(): (schema: unknown) => JudgeBySchema {
  const known = createLru<JudgeBySchema>(MOST_KNOWN);
  return (schema) => {
    const text = JSON.stringify(schema);
    const judge = known.get(text) ?? compileJsonSchema(schema);
    known.set(text, judge);
    return judge;
  };
}

// --- internal ---

const MOST_KNOWN = 200;
const MOST_PARTS = 10_000;

function readWhole(schema: unknown): Rule {
  try {
    return createReading(schema).read(schema, '');
  } catch (error) {
    throw new TypeError(`The schema is not understood: ${(error as Error).message}`, { cause: error });
  }
}

/** What would be left out. */
const UNKNOWN = ['unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$recursiveRef'];

function createReading(root: unknown): Reading {
  const referred = new Map<string, { rule?: Rule }>();
  let parts = 0;
  const reading: Reading = {
    read(schema, keyword) {
      parts += 1;
      if (parts > MOST_PARTS) throw new TypeError(`it has more than ${MOST_PARTS} parts`);
      if (schema === true) return () => undefined;
      if (schema === false) return () => misfit('may not be there');
      if (!isObject(schema)) throw new TypeError(`"${keyword}" has to be a schema`);
      for (const name of UNKNOWN) if (name in schema) throw new TypeError(`"${name}" is not known here`);
      const rules = [
        ...readScalars(schema),
        ...readObject(schema, reading),
        ...readList(schema, reading),
        ...readCombined(schema, reading),
        ...(schema.$ref === undefined ? [] : [refer(schema.$ref)]),
      ];
      return (value, work) => {
        spend(work);
        for (const rule of rules) {
          const found = rule(value, work);
          if (found) return found;
        }
        return undefined;
      };
    },
  };
  /** It may refer to what it is a part of. */
  const refer = (ref: unknown): Rule => {
    if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref))
      throw new TypeError(
        `"$ref" has to lead to a part of the schema, as "#/$defs/name", and not ${JSON.stringify(ref)}`,
      );
    const known = referred.get(ref) ?? {};
    if (!referred.has(ref)) {
      referred.set(ref, known);
      known.rule = reading.read(findPart(root, ref), ref);
    }
    return (value, work) => within(work, () => known.rule?.(value, work));
  };
  return reading;
}

/** The part that a reference leads to (RFC 6901). */
function findPart(root: unknown, ref: string): unknown {
  let part = root;
  for (const step of ref.split('/').slice(1)) {
    const name = toName(step);
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name))
      throw new TypeError(`"$ref" points to nothing: ${JSON.stringify(ref)}`);
    part = (part as Record<string, unknown>)[name];
  }
  return part;
}

function toName(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    throw new TypeError(`"$ref" is not written as one: ${JSON.stringify(step)}`);
  }
}

function readCombined(schema: Keywords, { read }: Reading): Rule[] {
  const listOf = (keyword: string): Rule[] | undefined =>
    schema[keyword] === undefined
      ? undefined
      : need(keyword, schema[keyword], isSome, 'a list of schemas').map((inner) => read(inner, keyword));
  const [all = [], any, one] = [listOf('allOf'), listOf('anyOf'), listOf('oneOf')];
  const rules: Rule[] = [...all];
  if (any)
    rules.push((value, work) =>
      any.some((rule) => !rule(value, work)) ? undefined : misfit('fits none of what it may be'),
    );
  if (one)
    rules.push((value, work) => {
      const count = one.filter((rule) => !rule(value, work)).length;
      return count === 1 ? undefined : misfit(`fits ${count} of what it may be, and has to fit one`);
    });
  if (schema.not !== undefined) {
    const none = read(schema.not, 'not');
    rules.push((value, work) => (none(value, work) ? undefined : misfit('is what it may not be')));
  }
  return schema.if === undefined ? rules : [...rules, readCondition(schema, read)];
}

function readCondition(schema: Keywords, read: Reading['read']): Rule {
  const asked = read(schema.if, 'if');
  const yes = schema.then === undefined ? undefined : read(schema.then, 'then');
  const no = schema.else === undefined ? undefined : read(schema.else, 'else');
  return (value, work) => (asked(value, work) ? no?.(value, work) : yes?.(value, work));
}

function isSome(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0;
}
