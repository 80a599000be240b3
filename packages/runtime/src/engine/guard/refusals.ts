import { DiffieHellman, DiffieHellmanGroup, ECDH, Sign } from 'node:crypto';
import { words } from './words.ts';

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
  signature: 'Use crypto.subtle.sign() with a key that draws no numbers, or move this to a step',
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
  worker_threads: ['Worker', 'postMessageToThread', 'receiveMessageOnPort'],
  cluster: ['fork', 'disconnect', 'setupMaster', 'setupPrimary'],
  os: words(
    'availableParallelism cpus freemem getPriority hostname loadavg networkInterfaces setPriority totalmem uptime userInfo',
  ),
  v8: words(
    'getCppHeapStatistics getHeapCodeStatistics getHeapSnapshot getHeapSpaceStatistics getHeapStatistics queryObjects setFlagsFromString setHeapSnapshotNearHeapLimit startCpuProfile stopCoverage takeCoverage writeHeapSnapshot GCProfiler',
  ),
  perf_hooks: ['eventLoopUtilization', 'monitorEventLoopDelay', 'PerformanceObserver'],
  zlib: words(
    'BrotliCompress BrotliDecompress Deflate DeflateRaw Gunzip Gzip Inflate InflateRaw Unzip ZstdCompress ZstdDecompress',
  ).flatMap((name) => [name, `create${name}`]),
  vm: ['measureMemory'],
};

/** What a process says of itself, and what ends or changes it. */
const PROCESS = words(
  'abort availableMemory binding chdir constrainedMemory cpuUsage dlopen execve exit getActiveResourcesInfo getegid geteuid getgid getgroups getuid initgroups kill loadEnvFile memoryUsage openStdin reallyExit resourceUsage setegid seteuid setgid setgroups setuid threadCpuUsage umask uptime',
);

/** Names of those modules that only look at a value, or make one. */
const HARMLESS =
  /^(?:_|is[A-Z]|validate|[gs]et[A-Z]|convert)|^(?:Agent|Stats|Dir|Dirent|BlockList|SocketAddress|SecureContext|createSecureContext|createSecurePair|checkServerIdentity|IncomingMessage|OutgoingMessage|ServerResponse)$/;

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const RANDOM = [
  'secureHeapUsed',
  'randomBytes',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'randomUUIDv7',
  'publicEncrypt',
  'encapsulate',
];
const MEASURES = words(
  'eventLoopUtilization getEntries getEntriesByName getEntriesByType mark measure timerify toJSON',
);
const RANDOM_KEYS = ['generateKey', 'generateKeyPair', 'generatePrime'].flatMap((name) => [name, `${name}Sync`]);

function listGlobals(): Refusal[] {
  const sockets = ['fetch', 'WebSocket', 'EventSource', 'MessageChannel', 'BroadcastChannel'];
  const streams = ['CompressionStream', 'DecompressionStream'];
  return [
    ...list(globalThis, TIMERS, '', ADVICE.timer),
    ...list(globalThis, [...sockets, ...streams], '', ADVICE.step),
    ...list(URL, ['createObjectURL'], 'URL.', ADVICE.step),
    ...list(Atomics, ['wait', 'waitAsync'], 'Atomics.', ADVICE.step),
    ...list(performance, MEASURES, 'performance.', ADVICE.clock),
    ...list(process, PROCESS, 'process.', ADVICE.step),
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
    ...list(
      globalThis.crypto.subtle,
      ['encapsulateBits', 'encapsulateKey', 'generateKey'],
      'crypto.subtle.',
      ADVICE.random,
    ),
    ...[ECDH, DiffieHellman, DiffieHellmanGroup].flatMap(({ name, prototype }) =>
      list(prototype, ['generateKeys'], `crypto.${name}.`, ADVICE.random),
    ),
    // Signatures of some keys are drawn: which, only the key says.
    ...list(builtin('crypto'), ['sign'], 'crypto.', ADVICE.signature),
    ...list(Sign.prototype, ['sign'], 'crypto.Sign.', ADVICE.signature),
  ];
}

function listModule([name, wanted]: [string, readonly string[] | 'all']): Refusal[] {
  const module = builtin(name);
  // What a release of Node does not have is not refused there.
  if (module === undefined) return [];
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

function builtin<T extends object = object>(name: string): T {
  return process.getBuiltinModule(`node:${name}`) as T;
}

function isClassName(key: string): boolean {
  return /^[A-Z]/.test(key);
}
