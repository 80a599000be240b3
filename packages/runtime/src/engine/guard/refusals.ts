/** A function or class of the platform that a workflow body may not use. */
export interface Refusal {
  /** As a sentence names it: `fs.readFileSync()`, `new MessageChannel()`. */
  label: string;
  holder: object;
  key: string;
  advice: string;
}

/** Everything a body is refused: found on the platform's own objects, so it is complete on every version of Node. */
export function listRefusals(): Refusal[] {
  return [...listGlobals(), ...listTimers(), ...listRandom(), ...Object.entries(MODULES).flatMap(listModule)];
}

// --- internal ---

const ADVICE = {
  step: 'Move this to a step',
  timer: 'Use sleep() from @svc/runtime, or move this to a step',
  clock: 'Use performance.now() or Date.now(), which replay, or move this to a step',
  random: 'Use crypto.randomUUID() or crypto.getRandomValues(), which replay, or move this to a step',
} as const;

/** What is refused of the modules that reach outside of the process: these, or whatever they have. */
const MODULES: Record<string, readonly string[] | 'all'> = {
  fs: 'all',
  'fs/promises': 'all',
  net: 'all',
  tls: 'all',
  dgram: 'all',
  dns: 'all',
  'dns/promises': 'all',
  http: 'all',
  https: 'all',
  http2: ['connect', 'createServer', 'createSecureServer'],
  child_process: 'all',
  worker_threads: ['Worker'],
  cluster: ['fork'],
};

/** Names of those modules that only look at a value, or make one. */
const HARMLESS =
  /^(?:_|is[A-Z]|validate|[gs]et[A-Z]|convert)|^(?:Agent|Stats|Dir|Dirent|BlockList|SocketAddress|SecureContext|createSecureContext|createSecurePair|checkServerIdentity|IncomingMessage|OutgoingMessage|ServerResponse)$/;

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const RANDOM = ['randomBytes', 'randomInt', 'randomFill', 'randomFillSync'];
const RANDOM_KEYS = ['generateKey', 'generateKeyPair', 'generatePrime'].flatMap((name) => [name, `${name}Sync`]);

function listGlobals(): Refusal[] {
  const sockets = ['fetch', 'WebSocket', 'EventSource', 'MessageChannel', 'BroadcastChannel'];
  return [
    ...list(globalThis, TIMERS, '', ADVICE.timer),
    ...list(globalThis, sockets, '', ADVICE.step),
    ...list(builtin('worker_threads'), ['MessageChannel', 'BroadcastChannel'], '', ADVICE.step),
    ...list(AbortSignal, ['timeout'], 'AbortSignal.', ADVICE.timer),
    ...list(process, ['hrtime'], 'process.', ADVICE.clock),
  ];
}

function listTimers(): Refusal[] {
  const promises = builtin('timers/promises') as { scheduler: object };
  return [
    ...list(builtin('timers'), TIMERS, '', ADVICE.timer),
    ...list(promises, TIMERS, '', ADVICE.timer),
    ...list(promises.scheduler, ['wait', 'yield'], 'scheduler.', ADVICE.timer),
  ];
}

function listRandom(): Refusal[] {
  return [
    ...list(builtin('crypto'), [...RANDOM, ...RANDOM_KEYS], 'crypto.', ADVICE.random),
    ...list(globalThis.crypto.subtle, ['generateKey'], 'crypto.subtle.', ADVICE.random),
  ];
}

function listModule([name, wanted]: [string, readonly string[] | 'all']): Refusal[] {
  const module = builtin(name);
  const keys = wanted === 'all' ? Object.keys(module).filter((key) => isEffect(module, key)) : wanted;
  return list(module, keys, `${name.replace('/', '.')}.`, ADVICE.step);
}

function isEffect(module: object, key: string): boolean {
  if (HARMLESS.test(key)) return false;
  const property = Object.getOwnPropertyDescriptor(module, key);
  // Classes behind an accessor are loaded when they are first read; `fs.createReadStream()` is refused beside them.
  if (property?.get) return /^[a-z]/.test(key) && typeof Reflect.get(module, key) === 'function';
  return typeof property?.value === 'function';
}

function list(holder: object, keys: readonly string[], prefix: string, advice: string): Refusal[] {
  return keys
    .filter((key) => key in holder)
    .map((key) => ({ holder, key, advice, label: `${isClassName(key) ? 'new ' : ''}${prefix}${key}()` }));
}

function builtin(name: string): object {
  return process.getBuiltinModule(`node:${name}`) as object;
}

function isClassName(key: string): boolean {
  return /^[A-Z]/.test(key);
}
