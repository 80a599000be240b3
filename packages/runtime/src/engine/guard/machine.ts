import os from 'node:os';
import type { Variables } from '../handle.ts';
import { splitWords } from './split-words.ts';

/** What the body that runs has recorded; undefined: none runs, or Node itself asks. `called`: what is asked. */
export type FindVariables = (called: AnyFunction) => Variables | undefined;

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/**
 * What the machine and the release of Node say of themselves is recorded like a variable: a log line may name it, and a
 * replay on another machine names it again.
 */
export function guardMachine(find: FindVariables): void {
  for (const key of PROCESS) recordValue(process, key, `process.${key}`, find);
  for (const key of OS) recordCall(os as unknown as Holder, key, `os.${key}()`, find);
  // Node 20 has none.
  const { navigator } = globalThis as { navigator?: object };
  if (navigator) for (const key of NAVIGATOR) recordValue(navigator, key, `navigator.${key}`, find);
  guardLocale(find);
}

// --- internal ---

type Holder = Record<string, unknown>;

const PROCESS = splitWords('pid ppid version versions arch platform release config execPath argv execArgv');
const OS = splitWords('arch homedir machine platform release tmpdir type version');
const NAVIGATOR = splitWords('hardwareConcurrency language languages platform userAgent');

/** As JSON: it may be a number, a text, a list. */
function recorded(variables: Variables, name: string, read: () => unknown): unknown {
  if (!variables.has(name)) variables.set(name, JSON.stringify(read()));
  return JSON.parse(variables.get(name) ?? 'null') as unknown;
}

function recordValue(holder: object, key: string, name: string, find: FindVariables): void {
  let known: unknown = Reflect.get(holder, key);
  const get = function get(): unknown {
    const variables = find(get);
    return variables ? recorded(variables, name, () => known) : known;
  };
  const set = (value: unknown): void => void (known = value);
  const isWritable = Object.getOwnPropertyDescriptor(holder, key)?.writable === true;
  Object.defineProperty(holder, key, { get, ...(isWritable ? { set } : {}), enumerable: true, configurable: true });
}

function recordCall(holder: Holder, key: string, name: string, find: FindVariables): void {
  const original = holder[key] as AnyFunction;
  const guarded: AnyFunction = function (...args) {
    const variables = find(guarded);
    return variables ? recorded(variables, name, () => original(...args)) : original(...args);
  };
  // `String(os.release)` and the like: Node gives some of them a value.
  Object.defineProperties(guarded, Object.getOwnPropertyDescriptors(original));
  holder[key] = guarded;
}

/** Where code names no locale, that of the process counts: a body has the one its run has recorded. */
function guardLocale(find: FindVariables): void {
  const { NumberFormat } = Intl;
  const localise = (called: AnyFunction, args: unknown[], at: number): unknown[] => {
    const variables = args[at] === undefined ? find(called) : undefined;
    if (!variables) return args;
    const all = [...args];
    all[at] = recorded(variables, 'Intl.locale', () => new NumberFormat().resolvedOptions().locale);
    return all;
  };
  for (const [prototype, keys, at] of LOCALISED)
    for (const key of splitWords(keys)) {
      const original = Reflect.get(prototype, key) as AnyFunction;
      const guarded: AnyFunction = new Proxy(original, {
        apply: (target, self, args: unknown[]) => Reflect.apply(target, self, localise(guarded, args, at)) as unknown,
      });
      Object.defineProperty(prototype, key, { value: guarded, writable: true, configurable: true });
    }
  for (const key of INTL) {
    const original = Reflect.get(Intl, key) as AnyFunction & { prototype: object };
    const guarded: AnyFunction = new Proxy(original, {
      apply: (target, self, args: unknown[]) => Reflect.apply(target, self, localise(guarded, args, 0)) as unknown,
      construct: (target, args: unknown[], newTarget) =>
        Reflect.construct(target, localise(guarded, args, 0), newTarget) as object,
    });
    Object.defineProperty(original.prototype, 'constructor', { value: guarded, writable: true, configurable: true });
    Object.defineProperty(Intl, key, { value: guarded, writable: true, configurable: true });
  }
}

const LOCALISED: readonly (readonly [prototype: object, keys: string, at: number])[] = [
  [Number.prototype, 'toLocaleString', 0],
  [BigInt.prototype, 'toLocaleString', 0],
  [Date.prototype, 'toLocaleString toLocaleDateString toLocaleTimeString', 0],
  [String.prototype, 'toLocaleLowerCase toLocaleUpperCase', 0],
  [String.prototype, 'localeCompare', 1],
];

const INTL = splitWords('Collator DateTimeFormat ListFormat NumberFormat PluralRules RelativeTimeFormat Segmenter');
