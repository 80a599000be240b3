import nodeCrypto from 'node:crypto';
import Module, { syncBuiltinESMExports } from 'node:module';
import { currentContext, runOutside } from '../context.ts';
import { listRefusals } from './refusals.ts';
import type { Refusal } from './refusals.ts';
import { refusedBy } from './refusal-error.ts';
import type { RunHandle, World } from '../handle.ts';
import { guardMachine } from './machine.ts';
import { listPlatformWork, waitForWork } from './platform-work.ts';
import { fillRandom, randomUuid } from './random.ts';
import { real } from '../real.ts';

const INSTALLED = Symbol.for('svc.engine.guard');

/**
 * Makes the time and the randomness of a workflow body the run's own, and refuses it timers, the network, files and
 * processes with a sentence that says what to do. Steps and everything else see the real ones. Installed once per process, before any user module.
 */
export function installGuard(): void {
  const marked = globalThis as Record<symbol, unknown>;
  if (marked[INSTALLED]) return;
  marked[INSTALLED] = true;
  openOutput();
  // A body's local time may not depend on where its process runs.
  process.env['TZ'] ??= 'UTC';
  guardDate();
  guardIntl();
  guardFiles();
  guardRandom();
  guardVariables();
  guardMachine((called) => {
    const variables = world()?.variables;
    return variables && !isNodeItself(called, /^node:/) ? variables : undefined;
  });
  const guarded = new Map<object, object>();
  for (const refusal of listRefusals()) refuse(refusal, guarded);
  for (const work of listPlatformWork()) waitForWork(work, body);
  guardLoader();
  syncBuiltinESMExports();
}

// --- internal ---

function body(): RunHandle | undefined {
  const context = currentContext();
  return context?.kind === 'body' ? context.execution : undefined;
}

function world(): World | undefined {
  return body()?.world;
}

function guardDate(): void {
  const RealDate = globalThis.Date;
  const now = () => world()?.now() ?? real.now();
  const GuardedDate = function (this: unknown, ...parts: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(now()).toString();
    // What nearly every call is, without the cost of a reflective one.
    if (new.target === GuardedDate && parts.length === 0) return new RealDate(now());
    return Reflect.construct(RealDate, parts.length === 0 ? [now()] : parts, new.target);
  } as unknown as DateConstructor;
  Object.defineProperties(GuardedDate, {
    name: { value: 'Date' },
    length: { value: 7 },
    prototype: { value: RealDate.prototype, writable: false },
    now: { value: now, writable: true, configurable: true },
    parse: { value: RealDate.parse, writable: true, configurable: true },
    UTC: { value: RealDate.UTC, writable: true, configurable: true },
  });
  Object.defineProperty(RealDate.prototype, 'constructor', { value: GuardedDate, writable: true, configurable: true });
  globalThis.Date = GuardedDate;
  guardPerformance();
}

/** To a body its run is the process: it began when the run did. */
function guardPerformance(): void {
  const { timeOrigin, nodeTiming } = performance;
  performance.now = () => {
    const current = world();
    return current ? current.now() - current.startedAt : real.performanceNow();
  };
  const origin = () => world()?.startedAt ?? timeOrigin;
  Object.defineProperty(performance, 'timeOrigin', { get: origin, enumerable: true, configurable: true });
  const timing = () => {
    if (world())
      throw refusedBy('performance.nodeTiming', 'Use performance.now(), which replays, or move this to a step');
    return nodeTiming;
  };
  Object.defineProperty(performance, 'nodeTiming', { get: timing, enumerable: true, configurable: true });
  const stamp = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')?.get as (this: unknown) => number;
  Object.defineProperty(Event.prototype, 'timeStamp', {
    get(this: unknown) {
      return world() ? performance.now() : stamp.call(this);
    },
    enumerable: true,
    configurable: true,
  });
}

/** A file is as old as the moment it is made, unless it says so. */
function guardFiles(): void {
  const buffer = process.getBuiltinModule('node:buffer') as unknown as Record<string, unknown>;
  const guarded = new Proxy(buffer['File'] as new (...args: unknown[]) => object, {
    construct(target, [parts, name, options]: unknown[], newTarget) {
      const current = world();
      const made = current ? { lastModified: current.now(), ...(options as object) } : options;
      return Reflect.construct(target, [parts, name, made], newTarget) as object;
    },
  });
  buffer['File'] = guarded;
  Object.defineProperty(globalThis, 'File', { value: guarded, configurable: true, writable: true, enumerable: false });
}

/** Console output is fine in a body, and the stream behind it is made at its first use: of a file, or of a socket. */
function openOutput(): void {
  void process.stdout;
  void process.stderr;
}

/** A package may load a part of itself while a body runs; its module is not the body. */
function guardLoader(): void {
  const loader = Module as unknown as { _load: AnyFunction };
  const load = loader._load;
  loader._load = function (this: unknown, ...args) {
    return world() ? runOutside(() => Reflect.apply(load, this, args)) : Reflect.apply(load, this, args);
  };
}

/** Without a date these take the present one: a body's is its own. */
function guardIntl(): void {
  const { prototype } = Intl.DateTimeFormat;
  const { formatToParts } = prototype;
  const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get as (this: unknown) => AnyFunction;
  const known = new WeakMap<object, AnyFunction>();
  const guardedFormat = function (this: Intl.DateTimeFormat): AnyFunction {
    const bound = format.call(this);
    const guarded: AnyFunction = known.get(this) ?? ((date) => bound(date === undefined ? world()?.now() : date));
    known.set(this, guarded);
    return guarded;
  };
  Object.defineProperty(prototype, 'format', { get: guardedFormat, configurable: true, enumerable: false });
  prototype.formatToParts = function (date) {
    return formatToParts.call(this, date === undefined ? world()?.now() : date);
  };
}

function guardRandom(): void {
  const mathRandom = Math.random;
  Math.random = () => (world() ?? { random: mathRandom }).random();

  const { randomUUID, getRandomValues } = globalThis.crypto;
  const webUuid = randomUUID.bind(globalThis.crypto);
  const webFill = getRandomValues.bind(globalThis.crypto);
  const uuid = () => {
    const current = world();
    return current ? randomUuid(() => current.random()) : webUuid();
  };
  const fill = <T extends ArrayBufferView | null>(view: T): T => {
    const current = world();
    if (!current || view === null) return webFill(view as never) as T;
    fillRandom(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), () => current.random());
    return view;
  };
  globalThis.crypto.randomUUID = uuid;
  Object.assign(globalThis.crypto, { getRandomValues: fill });
  Object.assign(nodeCrypto, { randomUUID: uuid });
  // Node 20 has this one as a getter that cannot be replaced; there it is the engine's only gap.
  if (Object.getOwnPropertyDescriptor(nodeCrypto, 'getRandomValues')?.configurable)
    Object.defineProperty(nodeCrypto, 'getRandomValues', { value: fill, configurable: true, writable: true });
}

/** A body reads the value its run has recorded, from the first time it looks; Node's own reading is not the body's. */
function guardVariables(): void {
  const variablesFor = (key: string | symbol, called: AnyFunction, target: NodeJS.ProcessEnv) => {
    const variables = typeof key === 'string' ? world()?.variables : undefined;
    if (!variables || variables.has(key as string)) return variables;
    if (isNodeItself(called, /^node:/)) return undefined;
    variables.set(key as string, target[key as string]);
    return variables;
  };
  const refuseFor = (label: string, advice: string, called: AnyFunction) => {
    if (world() && !isNodeItself(called, /^node:/)) throw refusedBy(label, advice);
  };
  const write = 'A variable belongs to the whole process. Keep the value in a const';
  const env: NodeJS.ProcessEnv = new Proxy(process.env, {
    get: function get(target, key) {
      const variables = variablesFor(key, get as AnyFunction, target);
      return variables ? variables.get(key as string) : (Reflect.get(target, key) as unknown);
    },
    has: function has(target, key) {
      const variables = variablesFor(key, has as AnyFunction, target);
      return variables ? variables.get(key as string) !== undefined : Reflect.has(target, key);
    },
    getOwnPropertyDescriptor: function own(target, key) {
      const variables = variablesFor(key, own as AnyFunction, target);
      if (!variables) return Reflect.getOwnPropertyDescriptor(target, key);
      const value = variables.get(key as string);
      return value === undefined ? undefined : { value, enumerable: true, configurable: true, writable: true };
    },
    ownKeys: function keys(target) {
      refuseFor('Listing process.env', 'Read each variable by its name, or move this to a step', keys as AnyFunction);
      return Reflect.ownKeys(target);
    },
    set: function set(target, key, value) {
      refuseFor('Assigning to process.env', write, set as AnyFunction);
      return Reflect.set(target, key, value);
    },
    defineProperty: function define(target, key, property) {
      refuseFor('Assigning to process.env', write, define as AnyFunction);
      return Reflect.defineProperty(target, key, property);
    },
    deleteProperty: function remove(target, key) {
      refuseFor('Deleting from process.env', write, remove as AnyFunction);
      return Reflect.deleteProperty(target, key);
    },
  });
  Object.defineProperty(process, 'env', { value: env, enumerable: true, configurable: true, writable: true });
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

interface Guarding {
  label: string;
  advice: string;
  /** A function has one guarded form wherever it is found: `MessageChannel` is a global and of a module. */
  guarded: Map<object, object>;
}

function refuse({ holder, key, label, advice }: Refusal, guarded: Guarding['guarded']): void {
  const property = Object.getOwnPropertyDescriptor(holder, key);
  if (property && !property.configurable) return;
  const { enumerable = true, get } = property ?? {};
  const guardOf = (original: object) => guardFunction(original as AnyFunction, { label, advice, guarded });
  const set = (value: unknown) =>
    void Object.defineProperty(holder, key, { value, enumerable, configurable: true, writable: true });
  // A global or a class behind an accessor is loaded when it is first read: reading it here would load it at every boot.
  if (get && (holder === globalThis || label.startsWith('new '))) {
    const read = () => {
      // The accessor puts what it loaded in its own place, so the guarded form goes there after it.
      const value = guardOf(get.call(holder) as object);
      set(value);
      return value;
    };
    Object.defineProperty(holder, key, { get: read, set, enumerable, configurable: true });
  } else set(guardOf(Reflect.get(holder, key) as object));
}

/** The function, with everything it carries (`realpath.native`, the form for `util.promisify`), refused in a body. */
function guardFunction(original: AnyFunction, guarding: Guarding): object {
  const { label, advice, guarded } = guarding;
  const known = guarded.get(original);
  if (known) return known;
  const check = (caller?: AnyFunction): void => {
    if (!world() || (caller && isNodeItself(caller, LOADER))) return;
    throw refusedBy(label, advice);
  };
  const wrapper = label.startsWith('new ') ? guardClass(original, check) : guardCall(original, check);
  guarded.set(original, wrapper);
  if (label.startsWith('new ')) return wrapper;
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'prototype' || key === 'arguments' || key === 'caller') continue;
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (!property) continue;
    const inner = typeof key === 'string' ? label.replace('()', `.${key}()`) : label;
    if (typeof property.value === 'function')
      property.value = guardFunction(property.value as AnyFunction, { ...guarding, label: inner });
    Object.defineProperty(wrapper, key, property);
  }
  return wrapper;
}

function guardCall(original: AnyFunction, check: (caller: AnyFunction) => void): AnyFunction {
  return function guarded(this: unknown, ...args) {
    check(guarded);
    return Reflect.apply(original, this, args);
  };
}

/** Where Node loads a module or maps a stack: an `import()` in a body reads files, too. */
const LOADER = /^node:internal\/(?:modules|source_map)\//;

/** A function of `fs` may be built of others, each guarded for itself: who has called the first of them is what counts. */
const INNER = /^node:(?:internal\/)?fs(?:\/|$)/;

/** True when what calls this is one of these files of Node's own. */
function isNodeItself(called: AnyFunction, files: RegExp): boolean {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const trace: { stack?: unknown } = {};
  Error.stackTraceLimit = 8;
  Error.prepareStackTrace = (_, sites) => {
    const callers = sites.map((site) => site.getFileName() ?? '');
    return callers.find((file) => file !== import.meta.url && !INNER.test(file)) ?? '';
  };
  Error.captureStackTrace(trace, called);
  const file = trace.stack;
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return typeof file === 'string' && files.test(file);
}

/** A class stays what it was to `instanceof` and `extends`. */
function guardClass(original: AnyFunction, check: () => void): object {
  return new Proxy(original, {
    apply(target, self, args: unknown[]) {
      check();
      return Reflect.apply(target, self, args);
    },
    construct(target, args: unknown[], newTarget) {
      check();
      return Reflect.construct(target, args, newTarget) as object;
    },
  });
}
