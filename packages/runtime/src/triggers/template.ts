import { BoxError } from '../errors.ts';

/** What the places of a mapping are looked up in. */
export interface Scope {
  body: unknown;
  /** By names in lower case. */
  headers: Record<string, string>;
  query: Record<string, string>;
  event: string | null;
  deliveryId: string;
  receivedAt: string;
  trigger: { id: string; name: string };
}

/**
 * The template with what its places name. A text that is one place becomes the value there, whatever that is; in a longer one
 * values are written. A member whose place has nothing is left out. Throws `trigger_invalid` for more text than is made.
 */
export function fill(template: unknown, scope: Scope): unknown {
  return fillIn(template, scope, { left: MOST_TEXT });
}

/** The same as text: an object as JSON, nothing as no text. */
export function fillText(template: string, scope: Scope): string {
  return writeAll(template, scope, { left: MOST_TEXT });
}

/** The value at a path such as `body.issue.title` or `body/issue/title`. Undefined: there is none. */
export function find(path: string, scope: Scope): unknown {
  const { root, keys } = toPlace(path);
  if (!Object.hasOwn(scope, root)) return undefined;
  const value = scope[root as keyof Scope];
  return lookUp(value, root === 'headers' ? keys.map((key) => key.toLowerCase()) : keys);
}

/** What is there, without what objects inherit. */
export function lookUp(value: unknown, keys: readonly string[]): unknown {
  let at = value;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    if (Array.isArray(at) && !/^\d{1,9}$/.test(key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** Why it is no path of a request; undefined: it is one. */
export function explainPath(path: string): string | undefined {
  const { root } = toPlace(path);
  if (ROOTS.includes(root)) return undefined;
  return `"${path}" does not begin with one of ${ROOTS.join(', ')}`;
}

/** Every path that a template names. */
export function listPaths(template: unknown): string[] {
  if (typeof template === 'string')
    return Array.from(template.matchAll(PLACE), ([, paths = '']) => splitPaths(paths)).flat();
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(listPaths);
}

/** How many values a mapping may name. */
export const MOST_PLACES = 100;

// --- internal ---

interface Budget {
  left: number;
}

const ROOTS = ['body', 'headers', 'query', 'event', 'deliveryId', 'receivedAt', 'trigger'];
const PLACE = /\{\{([^{}]{1,500})\}\}/g;
const WHOLE = /^\{\{([^{}]{1,500})\}\}$/;
/** Characters. */
const MOST_TEXT = 1_048_576;

function fillIn(template: unknown, scope: Scope, budget: Budget): unknown {
  if (typeof template === 'string') {
    const whole = WHOLE.exec(template);
    return whole ? findFirst(whole[1] ?? '', scope) : writeAll(template, scope, budget);
  }
  if (Array.isArray(template)) return template.map((item) => fillIn(item, scope, budget) ?? null);
  if (typeof template !== 'object' || template === null) return template;
  const members = Object.entries(template).map(([name, value]) => [name, fillIn(value, scope, budget)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function writeAll(template: string, scope: Scope, budget: Budget): string {
  return template.replace(PLACE, (_, paths: string) => {
    const value = findFirst(paths, scope);
    const text = value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    budget.left -= text.length;
    if (budget.left < 0)
      throw new BoxError('trigger_invalid', `The mapping writes more than ${MOST_TEXT} characters of what came.`);
    return text;
  });
}

/** The first of `a | b` that has something. */
function findFirst(paths: string, scope: Scope): unknown {
  for (const path of splitPaths(paths)) {
    const value = find(path, scope);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function splitPaths(paths: string): string[] {
  return paths.split('|').map((path) => path.trim());
}

/** A JSON pointer behind its root, or names between dots. */
function toPlace(path: string): { root: string; keys: string[] } {
  const root = /^[A-Za-z]*/.exec(path)?.[0] ?? '';
  const rest = path.slice(root.length);
  if (rest === '') return { root, keys: [] };
  const keys = rest.slice(1).split(rest[0] === '/' ? '/' : '.');
  if (rest[0] === '/') return { root, keys: keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')) };
  return { root: rest[0] === '.' ? root : '', keys };
}
