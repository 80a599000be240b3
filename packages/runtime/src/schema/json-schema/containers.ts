import { below, isObject, misfit, need, needCount, needNames, of, spend, spendOnText, toKey, within } from './rule.ts';
import type { Keywords, Misfit, Reading, Rule, Work } from './rule.ts';
import { readPattern } from './scalars.ts';

/** Keywords about objects. */
export function readObject(schema: Keywords, reading: Reading): Rule[] {
  const rules: Rule[] = [...readMembers(schema, reading), ...readDependent(schema, reading)];
  if (schema.required !== undefined && typeof schema.required !== 'boolean')
    rules.push(of(isObject, needAll(needNames('required', schema.required))));
  if (schema.minProperties !== undefined) {
    const least = needCount('minProperties', schema.minProperties);
    rules.push(
      of(isObject, (value, work) =>
        countNames(value, work) < least ? misfit(`has under ${least} members`) : undefined,
      ),
    );
  }
  if (schema.maxProperties !== undefined) {
    const most = needCount('maxProperties', schema.maxProperties);
    rules.push(
      of(isObject, (value, work) => (countNames(value, work) > most ? misfit(`has over ${most} members`) : undefined)),
    );
  }
  return rules;
}

/** Keywords about lists. */
export function readList(schema: Keywords, reading: Reading): Rule[] {
  const rules: Rule[] = [...readItems(schema, reading), ...readContains(schema, reading)];
  const bound = (keyword: string, fits: (length: number, limit: number) => boolean, why: string): void => {
    if (schema[keyword] === undefined) return;
    const limit = needCount(keyword, schema[keyword]);
    rules.push(of(isList, ({ length }) => (fits(length, limit) ? undefined : misfit(`has ${why} ${limit} items`))));
  };
  bound('minItems', (length, limit) => length >= limit, 'under');
  bound('maxItems', (length, limit) => length <= limit, 'over');
  if (schema.uniqueItems === true)
    rules.push(
      of(isList, (items, work) =>
        new Set(items.map((item) => toKey(item, work))).size < items.length ? misfit('has an item twice') : undefined,
      ),
    );
  return rules;
}

// --- internal ---

function countNames(value: object, work: Work): number {
  const { length } = Object.keys(value);
  spend(work, 1 + (length >> 2));
  return length;
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

/** Each member by the schemas that are about its name. */
function readMembers(schema: Keywords, { read }: Reading): Rule[] {
  const own = new Map(readMap('properties', schema, read));
  const patterned = readMap('patternProperties', schema, read).map(
    ([source, rule]) => [readPattern('patternProperties', source), rule] as const,
  );
  const { additionalProperties: others, propertyNames } = schema;
  const rest = others === undefined ? undefined : read(others, 'additionalProperties');
  const names = propertyNames === undefined ? undefined : read(propertyNames, 'propertyNames');
  if (own.size + patterned.length === 0 && !rest && !names) return [];
  const judgeMember = (name: string, value: unknown, work: Work): Misfit | undefined => {
    spend(work);
    const mine = own.get(name);
    const found = names?.(name, work) ?? mine?.(value, work);
    if (found) return found;
    let isKnown = mine !== undefined;
    for (const [pattern, rule] of patterned) {
      spendOnText(work, name);
      if (!pattern.test(name)) continue;
      isKnown = true;
      const misfits = rule(value, work);
      if (misfits) return misfits;
    }
    return isKnown ? undefined : rest?.(value, work);
  };
  // Where nothing is said of others, only its own are looked at.
  const isOwnOnly = patterned.length === 0 && !rest && !names;
  return [
    of(isObject, (value, work) =>
      within(work, () => {
        for (const name of isOwnOnly ? own.keys() : Object.keys(value)) {
          if (!Object.hasOwn(value, name)) continue;
          const found = below(own.has(name) ? name : '*', judgeMember(name, value[name], work));
          if (found) return found;
        }
        return undefined;
      }),
    ),
  ];
}

function readMap(keyword: string, schema: Keywords, read: Reading['read']): [name: string, rule: Rule][] {
  if (schema[keyword] === undefined) return [];
  const all = need(keyword, schema[keyword], isObject, 'an object of schemas');
  return Object.entries(all).map(([name, inner]) => [name, read(inner, `${keyword}.${name}`)]);
}

function needAll(names: readonly string[]): (value: Record<string, unknown>, work: Work) => Misfit | undefined {
  return (value, work) => {
    spend(work, names.length);
    const missing = names.find((name) => !Object.hasOwn(value, name));
    return missing === undefined ? undefined : below(missing, misfit('is missing'));
  };
}

/** What has to be there besides a member, or has to fit. `dependencies`: as drafts to 7 say both. */
function readDependent(schema: Keywords, { read }: Reading): Rule[] {
  return ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((keyword) => {
    if (schema[keyword] === undefined) return [];
    const all = Object.entries(need(keyword, schema[keyword], isObject, 'an object'));
    return all.map(([name, inner]): Rule => {
      const isNames = keyword === 'dependentRequired' || Array.isArray(inner);
      const judge: Rule = isNames
        ? of(isObject, needAll(needNames(keyword, inner)))
        : read(inner, `${keyword}.${name}`);
      return of(isObject, (value, work) => (Object.hasOwn(value, name) ? judge(value, work) : undefined));
    });
  });
}

/** Those by their place, and the others. `items` as a list is how drafts to 2019-09 say `prefixItems`. */
function readItems({ prefixItems, items, additionalItems }: Keywords, { read }: Reading): Rule[] {
  const places = prefixItems ?? (Array.isArray(items) ? items : []);
  const first = need('prefixItems', places, isList, 'a list of schemas').map((inner) => read(inner, 'prefixItems'));
  const others = Array.isArray(items) ? additionalItems : items;
  const rest = others === undefined ? undefined : read(others, 'items');
  if (first.length === 0 && !rest) return [];
  return [
    of(isList, (list, work) =>
      within(work, () => {
        const end = rest ? list.length : Math.min(first.length, list.length);
        for (let at = 0; at < end; at++) {
          const found = below(at, (first[at] ?? rest)?.(list[at], work));
          if (found) return found;
        }
        return undefined;
      }),
    ),
  ];
}

function readContains({ contains, minContains = 1, maxContains }: Keywords, { read }: Reading): Rule[] {
  if (contains === undefined) return [];
  const rule = read(contains, 'contains');
  const least = needCount('minContains', minContains);
  const most = maxContains === undefined ? Infinity : needCount('maxContains', maxContains);
  return [
    of(isList, (list, work) =>
      within(work, () => {
        let count = 0;
        for (const item of list) {
          if (!rule(item, work)) count += 1;
        }
        if (count < least) return misfit(`has under ${least} items of the kind it has to have`);
        return count > most ? misfit(`has over ${most} items of one kind`) : undefined;
      }),
    ),
  ];
}
