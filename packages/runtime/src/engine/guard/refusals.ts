import { DiffieHellman, DiffieHellmanGroup, ECDH, Sign } from 'node:crypto';
import { splitWords } from './split-words.ts';

/** A function or class of the platform that a workflow body may not use. */
export interface Refusal {
  /** As a sentence names it: `fs.readFileSync()`, `new MessageChannel()`. */
  label: string;
  holder: object;
  key: string;
  advice: string;
}

/** What a name of the platform stands for: a function or a class, one that is loaded when it is first read, or a value. */
export type NameKind = 'function' | 'accessor' | 'value';

/** Everything a body is refused: found on the platform's own objects, so it is complete on every version of Node. */
export function listRefusals(): Refusal[] {
  return [...AREAS, ...MODULE_AREAS].flatMap(([, holder, prefix, keys, advice]) => {
    const found = holder();
    // What a release of Node does not have is not refused there.
    if (found === undefined) return [];
    const names = keys === 'all' ? Object.keys(found).filter((key) => isEffect(key, () => kindOf(found, key))) : keys;
    return names
      .filter((key) => key in found)
      .map((key) => ({ holder: found, key, advice, label: `${isClassName(key) ? 'new ' : ''}${prefix}${key}()` }));
  });
}

/**
 * Whether a name is among them, also of another release of Node.
 * @param where `globals`, `process`, `performance`, `crypto.subtle`, or a module: `node:fs`
 */
export function isRefused(where: string, name: string, kind: NameKind): boolean {
  return [...AREAS, ...MODULE_AREAS].some(
    ([of, , , keys]) => of === where && (keys === 'all' ? isEffect(name, () => kind) : keys.includes(name)),
  );
}

// --- internal ---

const ADVICE = {
  step: 'Move this to a step',
  timer: 'Use sleep() from @svc/runtime, or move this to a step',
  clock: 'Use performance.now() or Date.now(), which replay, or move this to a step',
  signature: 'Use crypto.subtle.sign() with a key that draws no numbers, or move this to a step',
  random: 'Use crypto.randomUUID() or crypto.getRandomValues(), which replay, or move this to a step',
} as const;

const SOCKETS = ['fetch', 'WebSocket', 'EventSource', 'MessageChannel', 'BroadcastChannel'];
const STREAMS = ['CompressionStream', 'DecompressionStream'];

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
  os: splitWords(
    'availableParallelism cpus freemem getPriority hostname loadavg networkInterfaces setPriority totalmem uptime userInfo',
  ),
  v8: splitWords(
    'getCppHeapStatistics getHeapCodeStatistics getHeapSnapshot getHeapSpaceStatistics getHeapStatistics queryObjects setFlagsFromString setHeapSnapshotNearHeapLimit startCpuProfile stopCoverage takeCoverage writeHeapSnapshot GCProfiler',
  ),
  perf_hooks: ['eventLoopUtilization', 'monitorEventLoopDelay', 'PerformanceMark', 'PerformanceObserver'],
  zlib: splitWords(
    'BrotliCompress BrotliDecompress Deflate DeflateRaw Gunzip Gzip Inflate InflateRaw Unzip ZstdCompress ZstdDecompress',
  ).flatMap((name) => [name, `create${name}`]),
  vm: ['measureMemory'],
  'stream/web': STREAMS,
};

/** What a process says of itself, and what ends or changes it. */
const PROCESS = splitWords(
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
  // Older names of `randomBytes`.
  'pseudoRandomBytes',
  'prng',
  'rng',
  // Where it is given a length it draws a prime.
  'createDiffieHellman',
];
const MEASURES = splitWords(
  'eventLoopUtilization getEntries getEntriesByName getEntriesByType mark measure timerify toJSON',
);
const RANDOM_KEYS = ['generateKey', 'generateKeyPair', 'generatePrime'].flatMap((name) => [name, `${name}Sync`]);

type Area = readonly [
  where: string,
  holder: () => object | undefined,
  prefix: string,
  /** `all`: whatever has an effect. */
  keys: readonly string[] | 'all',
  advice: string,
];

const AREAS: readonly Area[] = [
  ['globals', () => globalThis, '', TIMERS, ADVICE.timer],
  ['globals', () => globalThis, '', [...SOCKETS, ...STREAMS], ADVICE.step],
  // Behind an accessor, as the global is.
  ['node:http', () => builtin('http'), 'http.', ['WebSocket'], ADVICE.step],
  ['URL', () => URL, 'URL.', ['createObjectURL'], ADVICE.step],
  ['Atomics', () => Atomics, 'Atomics.', ['wait', 'waitAsync'], ADVICE.step],
  ['performance', () => performance, 'performance.', MEASURES, ADVICE.clock],
  ['process', () => process, 'process.', PROCESS, ADVICE.step],
  ['node:worker_threads', () => builtin('worker_threads'), '', ['MessageChannel', 'BroadcastChannel'], ADVICE.step],
  ['AbortSignal', () => AbortSignal, 'AbortSignal.', ['timeout'], ADVICE.timer],
  ['process', () => process, 'process.', ['hrtime'], ADVICE.clock],
  ['globals', () => globalThis, '', ['PerformanceMark'], ADVICE.clock],
  ['process.report', () => process.report, 'process.report.', ['getReport', 'writeReport'], ADVICE.step],
  ['node:timers', () => builtin('timers'), '', TIMERS, ADVICE.timer],
  ['node:timers/promises', () => builtin('timers/promises'), '', TIMERS, ADVICE.timer],
  [
    'scheduler',
    () => builtin<{ scheduler: object }>('timers/promises').scheduler,
    'scheduler.',
    ['wait', 'yield'],
    ADVICE.timer,
  ],
  ['node:crypto', () => builtin('crypto'), 'crypto.', [...RANDOM, ...RANDOM_KEYS], ADVICE.random],
  [
    'crypto.subtle',
    () => globalThis.crypto.subtle,
    'crypto.subtle.',
    ['encapsulateBits', 'encapsulateKey', 'generateKey'],
    ADVICE.random,
  ],
  ...[ECDH, DiffieHellman, DiffieHellmanGroup].map(({ name, prototype }): Area => [
    name,
    () => prototype,
    `crypto.${name}.`,
    ['generateKeys'],
    ADVICE.random,
  ]),
  // Signatures of some keys are drawn: which, only the key says.
  ['node:crypto', () => builtin('crypto'), 'crypto.', ['sign'], ADVICE.signature],
  ['Sign', () => Sign.prototype, 'crypto.Sign.', ['sign'], ADVICE.signature],
];

const MODULE_AREAS = Object.entries(MODULES).map(([name, keys]): Area => [
  `node:${name}`,
  () => builtin(name),
  `${name.replace('/', '.')}.`,
  keys,
  ADVICE.step,
]);

function isEffect(name: string, kindOfName: () => NameKind): boolean {
  if (HARMLESS.test(name)) return false;
  const kind = kindOfName();
  // Classes behind an accessor are loaded when they are first read; `fs.createReadStream()` is refused beside them.
  return kind === 'function' || (kind === 'accessor' && !isClassName(name));
}

function kindOf(holder: object, key: string): NameKind {
  const property = Object.getOwnPropertyDescriptor(holder, key);
  const isLazy = property?.get !== undefined;
  // To read a class here would load it at every boot.
  if (isLazy && isClassName(key)) return 'accessor';
  if (typeof Reflect.get(holder, key) !== 'function') return 'value';
  return isLazy ? 'accessor' : 'function';
}

function builtin<T extends object = object>(name: string): T {
  return process.getBuiltinModule(`node:${name}`) as T;
}

function isClassName(key: string): boolean {
  return /^[A-Z]/.test(key);
}
