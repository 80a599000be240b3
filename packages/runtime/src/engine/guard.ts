import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import nodeTimers from 'node:timers';
import { currentContext } from './context.ts';
import { DeterminismError } from './errors.ts';
import type { World } from './handle.ts';
import { fillRandom, randomUuid } from './random.ts';
import { real } from './real.ts';

const INSTALLED = Symbol.for('svc.engine.guard');

/**
 * Makes time, randomness, timers and the network of a workflow body the run's own, or refuses them with a sentence
 * that says what to do. Steps and everything else see the real ones. Installed once per process, before any user module.
 */
export function installGuard(): void {
  const marked = globalThis as Record<symbol, unknown>;
  if (marked[INSTALLED]) return;
  marked[INSTALLED] = true;
  guardDate();
  guardRandom();
  for (const name of ['setTimeout', 'setInterval', 'setImmediate'] as const) {
    refuse(globalThis, name, 'Use sleep() from @svc/runtime, or move this to a step');
    refuse(nodeTimers, name, 'Use sleep() from @svc/runtime, or move this to a step');
  }
  refuse(globalThis, 'fetch', 'Move this to a step');
  refuse(AbortSignal, 'timeout', 'Use sleep() from @svc/runtime, or move this to a step');
  syncBuiltinESMExports();
}

// --- internal ---

function world(): World | undefined {
  const context = currentContext();
  return context?.kind === 'body' ? context.execution.world : undefined;
}

function guardDate(): void {
  const RealDate = globalThis.Date;
  const now = () => world()?.now() ?? real.now();
  const GuardedDate = function (this: unknown, ...parts: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(now()).toString();
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
  const origin = performance.timeOrigin;
  performance.now = () => {
    const current = world();
    return current ? current.now() - origin : real.performanceNow();
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
  for (const name of ['randomBytes', 'randomInt', 'randomFill', 'randomFillSync'] as const)
    refuse(
      nodeCrypto,
      name,
      'Use crypto.randomUUID() or crypto.getRandomValues(), which replay, or move this to a step',
    );
}

function refuse<T extends object>(target: T, name: keyof T & string, advice: string): void {
  const original = target[name] as (...args: unknown[]) => unknown;
  const guarded = function (this: unknown, ...args: unknown[]): unknown {
    if (world())
      throw new DeterminismError(
        `${name}() cannot be used in a workflow body, because a replay could not repeat it. ${advice}.`,
      );
    return Reflect.apply(original, this, args);
  };
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'length' || key === 'name' || key === 'prototype') continue;
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (property) Object.defineProperty(guarded, key, property);
  }
  Object.defineProperty(guarded, 'name', { value: name });
  target[name] = guarded as T[keyof T & string];
}
