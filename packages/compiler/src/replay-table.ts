/** Where a name comes from: a specifier as written, `globalThis`, or (left out) the module itself. */
export interface Target {
  from?: string;
  /** Names from there on, joined by dots. Empty: the module's namespace. */
  path: string;
}

/** What to do instead of a call that a replay could not repeat; undefined: a replay minds neither it nor its module. */
export function findAdvice({ from, path }: Target): string | undefined {
  if (from === undefined || path === '') return undefined;
  if (from === 'globalThis') return findGlobalAdvice(path);
  const module = from.replace(/^node:/, '');
  const name = path.replace(/^default(?:\.|$)/, '');
  if (module === 'process') return findGlobalAdvice(`process.${name}`);
  if (module === 'timers' || module === 'timers/promises') return TIMER_FUNCTIONS.test(name) ? ADVICE.timer : undefined;
  if (module === 'crypto') return findCryptoAdvice(name);
  const isRefused = Object.hasOwn(BUILTINS, module) ? isEffect(module, lastOf(name)) : isRequest(from, lastOf(name));
  return isRefused ? ADVICE.step : undefined;
}

/** True for what a body waits by: without `await` it goes on at once. */
export function isWait({ from, path }: Target): boolean {
  return (from === '@svc/runtime' || from === 'workflow') && WAITS.has(path.replace(/^svc\./, ''));
}

/** True for a package whose objects do I/O themselves: `new OpenAI()`, `axios.create()`. */
export function isClientPackage(from: string | undefined): boolean {
  return from !== undefined && PACKAGES.has(from);
}

/** True when the code may call something of the table. Cheap, and never false when it does. */
export function mayCallRefused(code: string): boolean {
  return WORDS.test(code);
}

// --- internal ---

const WAITS = new Set(['sleep', 'requestApproval', 'workflows.startAndWait', 'events.wait']);

const ADVICE = {
  step: 'Move this to a step',
  timer: 'Use sleep() from @svc/runtime, or move this to a step',
  random:
    'Use crypto.randomUUID() or crypto.getRandomValues() of the global crypto, which replay, or move this to a step',
  clock: 'Use performance.now() or Date.now(), which replay, or move this to a step',
} as const;

const GLOBALS: Record<string, string> = {
  setTimeout: ADVICE.timer,
  setInterval: ADVICE.timer,
  setImmediate: ADVICE.timer,
  'AbortSignal.timeout': ADVICE.timer,
  fetch: ADVICE.step,
  XMLHttpRequest: ADVICE.step,
  WebSocket: ADVICE.step,
  EventSource: ADVICE.step,
  MessageChannel: ADVICE.step,
  BroadcastChannel: ADVICE.step,
  CompressionStream: ADVICE.step,
  DecompressionStream: ADVICE.step,
  'URL.createObjectURL': ADVICE.step,
  'Atomics.wait': ADVICE.step,
  'Atomics.waitAsync': ADVICE.step,
  PerformanceMark: ADVICE.clock,
  'process.hrtime': ADVICE.clock,
  'process.hrtime.bigint': ADVICE.clock,
  'crypto.subtle.generateKey': ADVICE.random,
  'crypto.subtle.encapsulateBits': ADVICE.random,
  'crypto.subtle.encapsulateKey': ADVICE.random,
};

/** What a process says of itself, and what ends or changes it. */
const PROCESS =
  /^(?:abort|availableMemory|binding|chdir|constrainedMemory|cpuUsage|dlopen|execve|exit|getActiveResourcesInfo|get(?:e?[gu]id|groups)|initgroups|kill|loadEnvFile|memoryUsage(?:\.rss)?|openStdin|reallyExit|report\.(?:get|write)Report|resourceUsage|set(?:e?[gu]id|groups)|threadCpuUsage|umask|uptime)$/;

const MEASURES = /^(?:eventLoopUtilization|getEntries(?:ByName|ByType)?|mark|measure|timerify|toJSON)$/;

/** The modules that reach outside of the process, with what is refused of them when that is not nearly everything. */
const BUILTINS: Record<string, RegExp | undefined> = {
  fs: undefined,
  'fs/promises': undefined,
  net: undefined,
  tls: undefined,
  dgram: undefined,
  dns: undefined,
  'dns/promises': undefined,
  http: undefined,
  https: undefined,
  http2: /^(?:connect|createServer|createSecureServer)$/,
  child_process: undefined,
  worker_threads: /^(?:Worker|MessageChannel|BroadcastChannel|postMessageToThread|receiveMessageOnPort)$/,
  cluster: /^(?:fork|disconnect|setup(?:Master|Primary))$/,
  os: /^(?:availableParallelism|cpus|freemem|[gs]etPriority|hostname|loadavg|networkInterfaces|totalmem|uptime|userInfo)$/,
  v8: /^(?:get(?:CppHeap|HeapCode|HeapSpace|Heap)Statistics|getHeapSnapshot|queryObjects|setFlagsFromString|setHeapSnapshotNearHeapLimit|startCpuProfile|stopCoverage|takeCoverage|writeHeapSnapshot|GCProfiler)$/,
  perf_hooks: /^(?:eventLoopUtilization|monitorEventLoopDelay|Performance(?:Mark|Observer))$/,
  zlib: /^(?:create)?(?:BrotliCompress|BrotliDecompress|Deflate|DeflateRaw|Gunzip|Gzip|Inflate|InflateRaw|Unzip|ZstdCompress|ZstdDecompress)$/,
  vm: /^measureMemory$/,
  'stream/web': /^(?:Dec|C)ompressionStream$/,
};

/** Well-known packages that exist to do I/O. */
const PACKAGES = new Set([
  'axios',
  'got',
  'ky',
  'node-fetch',
  'cross-fetch',
  'undici',
  'superagent',
  'needle',
  'ws',
  'nodemailer',
  'pg',
  'postgres',
  'mysql',
  'mysql2',
  'mysql2/promise',
  'redis',
  'ioredis',
  'better-sqlite3',
  'sqlite3',
  'openai',
  '@anthropic-ai/sdk',
  'fs-extra',
  'execa',
]);

const TIMER_FUNCTIONS = /^(?:promises\.)?(?:setTimeout|setInterval|setImmediate|scheduler\.(?:wait|yield))$/;

// `getRandomValues` of the module is a getter on Node 20, which the guard cannot replace.
const RANDOM_FUNCTIONS =
  /^(?:random(?:Bytes|Int|Fill|FillSync|UUIDv7)|pseudoRandomBytes|p?rng|createDiffieHellman|secureHeapUsed|publicEncrypt|encapsulate|sign|getRandomValues|generate(?:Key|KeyPair|Prime)(?:Sync)?|(?:webcrypto\.)?subtle\.generateKey)$/;

/** Names of those modules that only look at a value, or make one. The guard of the runtime has the same list. */
const HARMLESS =
  /^(?:_|is[A-Z]|validate|[gs]et[A-Z]|convert)|^(?:Agent|Stats|Dir|Dirent|BlockList|SocketAddress|SecureContext|createSecureContext|createSecurePair|checkServerIdentity|IncomingMessage|OutgoingMessage|ServerResponse)$/;

/** The same of packages: `axios.isAxiosError()`, `new Headers()`. */
const HARMLESS_IN_PACKAGES =
  /^(?:is[A-Z]|validate|escape)|Error$|^(?:Headers|Request|Response|FormData|File|Blob|URLSearchParams|toFormData|toFile|format)$/;

const WORDS = createWords();

function findGlobalAdvice(path: string): string | undefined {
  if (Object.hasOwn(GLOBALS, path)) return GLOBALS[path];
  const [, holder, name = ''] = /^(process|performance)\.(.+)$/.exec(path) ?? [];
  if (holder === 'process') return PROCESS.test(name) ? ADVICE.step : undefined;
  return holder === 'performance' && MEASURES.test(name) ? ADVICE.clock : undefined;
}

function isEffect(module: string, name: string): boolean {
  return BUILTINS[module]?.test(name) ?? !HARMLESS.test(name);
}

function isRequest(from: string, name: string): boolean {
  return PACKAGES.has(from) && !HARMLESS_IN_PACKAGES.test(name);
}

function findCryptoAdvice(name: string): string | undefined {
  return RANDOM_FUNCTIONS.test(name) ? ADVICE.random : undefined;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function createWords(): RegExp {
  const globals = Object.keys(GLOBALS).map(lastOf);
  const modules = [...Object.keys(BUILTINS), ...PACKAGES, 'timers', 'timers/promises', 'crypto', 'process'];
  return new RegExp(`\\b(?:${globals.join('|')}|process|performance)\\b|['"](?:node:)?(?:${modules.join('|')})['"]`);
}
