import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isPlatformWork } from './platform-work.ts';
import { isRefused, listRefusals } from './refusals.ts';
import type { NameKind } from './refusals.ts';
import { splitWords } from './split-words.ts';

// Every global of Node and every export of its modules is one of: refused in a body, rebound to its run, waited for, or
// named here as harmless. That is judged on every Node for each release that boxes run on, by the lists that
// `scripts/list-platform.mjs` makes. What a new release of Node brings fails these tests until it is judged.

const REBOUND = splitWords(
  'Date Math Intl navigator performance crypto process Event File crypto.getRandomValues crypto.randomUUID crypto.webcrypto process.env process.pid process.ppid process.version process.versions process.arch process.platform process.release process.config process.execPath process.argv process.execArgv os.arch os.homedir os.machine os.platform os.release os.tmpdir os.type os.version performance.now performance.timeOrigin performance.nodeTiming buffer.File perf_hooks.performance',
);

/** Modules of which every export works on its arguments alone. */
const PURE = splitWords(
  'assert assert/strict async_hooks buffer console constants diagnostics_channel domain events module path path/posix path/win32 punycode querystring stream stream/consumers stream/promises string_decoder sys url util util/types',
);

/** To have them at hand would cost each boot their loading, and no body uses them by oversight: the compiler refuses them. */
const NOT_LOADED = splitWords(
  'sea sqlite test test/reporters inspector inspector/promises readline readline/promises repl trace_events tty wasi',
);

const HARMLESS: Record<string, string> = {
  fs: 'Dir Dirent FileReadStream FileWriteStream ReadStream Utf8Stream WriteStream F_OK R_OK Stats W_OK X_OK constants promises _toUnixTimestamp',
  'fs/promises': 'constants',
  'crypto.subtle': 'constructor',
  'stream/web':
    'ByteLengthQueuingStrategy CountQueuingStrategy ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader ReadableStreamTee TextDecoderStream TextEncoderStream TransformStream TransformStreamDefaultController WritableStream WritableStreamDefaultController WritableStreamDefaultWriter',
  net: 'BlockList SocketAddress _createServerHandle _normalizeArgs _setSimultaneousAccepts getDefaultAutoSelectFamily getDefaultAutoSelectFamilyAttemptTimeout isIP isIPv4 isIPv6 setDefaultAutoSelectFamily setDefaultAutoSelectFamilyAttemptTimeout',
  tls: 'CLIENT_RENEG_LIMIT CLIENT_RENEG_WINDOW DEFAULT_CIPHERS DEFAULT_ECDH_CURVE DEFAULT_MAX_VERSION DEFAULT_MIN_VERSION SecureContext checkServerIdentity convertALPNProtocols createSecureContext createSecurePair getCACertificates getCertificateCompressionAlgorithms getCiphers rootCertificates setDefaultCACertificates',
  dgram: '_createSocketHandle',
  dns: 'ADDRCONFIG ALL V4MAPPED promises getDefaultResultOrder getServers setDefaultResultOrder setServers',
  'dns/promises': 'getDefaultResultOrder getServers setDefaultResultOrder setServers',
  http: 'Agent CloseEvent IncomingMessage METHODS MessageEvent OutgoingMessage STATUS_CODES ServerResponse _connectionListener globalAgent maxHeaderSize setGlobalProxyFromEnv setMaxIdleHTTPParsers validateHeaderName validateHeaderValue',
  https: 'Agent globalAgent',
  http2:
    'Http2ServerRequest Http2ServerResponse constants getDefaultSettings getPackedSettings getUnpackedSettings performServerHandshake sensitiveHeaders',
  child_process: '_forkChild',
  worker_threads:
    'MessagePort SHARE_ENV getEnvironmentData isInternalThread isMainThread isMarkedAsUntransferable locks markAsUncloneable markAsUntransferable moveMessagePortToContext parentPort resourceLimits setEnvironmentData threadId threadName workerData',
  cluster: 'SCHED_NONE SCHED_RR Worker isMaster isPrimary isWorker schedulingPolicy settings workers',
  os: 'EOL constants devNull endianness',
  v8: 'DefaultDeserializer DefaultSerializer Deserializer Serializer cachedDataVersionTag deserialize isStringOneByteRepresentation promiseHooks serialize startupSnapshot',
  perf_hooks:
    'Performance PerformanceEntry PerformanceMeasure PerformanceObserverEntryList PerformanceResourceTiming constants createHistogram timerify',
  zlib: 'brotliCompressSync brotliDecompressSync codes constants crc32 deflateRawSync deflateSync gunzipSync gzipSync inflateRawSync inflateSync unzipSync zstdCompressSync zstdDecompressSync',
  vm: 'Script compileFunction constants createContext createScript isContext runInContext runInNewContext runInThisContext',
  crypto:
    'Certificate Cipher Cipheriv Decipher Decipheriv DiffieHellman DiffieHellmanGroup ECDH Hash Hmac KeyObject Sign Verify X509Certificate argon2Sync checkPrimeSync constants createCipher createCipheriv createDecipher createDecipheriv createDiffieHellmanGroup createECDH createHash createHmac createPrivateKey createPublicKey createSecretKey createSign createVerify decapsulate diffieHellman fips getCipherInfo getCiphers getCurves getDiffieHellman getFips getHashes hash hkdfSync pbkdf2Sync privateDecrypt privateEncrypt publicDecrypt scryptSync setEngine setFips subtle timingSafeEqual verify',
  timers: 'active enroll unenroll clearImmediate clearInterval clearTimeout promises',
  'timers/promises': 'scheduler',
  process:
    'allowedNodeEnvironmentFlags argv0 assert cwd debugPort domain emitWarning exitCode features finalization getBuiltinModule hasUncaughtExceptionCaptureCallback mainModule moduleLoadList nextTick ref report setSourceMapsEnabled setUncaughtExceptionCaptureCallback sourceMapsEnabled stderr stdin stdout title unref',
  performance:
    'clearMarks clearMeasures clearResourceTimings constructor markResourceTiming onresourcetimingbufferfull setResourceTimingBufferSize',
  globals:
    'AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Blob Boolean Buffer ByteLengthQueuingStrategy CloseEvent CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DataView DisposableStack Error EvalError EventTarget FinalizationRegistry Float16Array Float32Array Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array Iterator JSON Map MessageEvent MessagePort NaN Navigator Number Object Performance PerformanceEntry PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming Promise Proxy RangeError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader ReferenceError Reflect RegExp Request Response Set SharedArrayBuffer Storage String SubtleCrypto SuppressedError Symbol SyntaxError TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController TypeError URIError URL URLPattern URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WritableStream WritableStreamDefaultController WritableStreamDefaultWriter atob btoa clearImmediate clearInterval clearTimeout console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval global globalThis isFinite isNaN localStorage parseFloat parseInt queueMicrotask sessionStorage structuredClone undefined unescape',
};

const SCRIPT = fileURLToPath(new URL('../../../../../scripts/list-platform.mjs', import.meta.url));
const LISTS = fileURLToPath(new URL('platform/', import.meta.url));

const KINDS: Record<string, NameKind> = { '@': 'accessor', '=': 'value' };

/** The names of one line that nothing is said about. */
function listUnjudged(line: string): string[] {
  const [, where = '', found = ''] = /^([^ ]+): ?(.*)$/.exec(line) ?? [];
  const module = where.replace('node:', '');
  if (PURE.includes(module) || NOT_LOADED.includes(module) || found === '') return [];
  // The module is what the global is.
  const area = module === 'process' ? module : where;
  const harmless = HARMLESS[module]?.split(' ') ?? [];
  return found.split(' ').filter((text) => {
    const [, name = '', mark = ''] = /^(.+?)([@=]?)$/.exec(text) ?? [];
    const isRebound = REBOUND.includes(where === 'globals' ? name : `${module.replace('/', '.')}.${name}`);
    if (harmless.includes(name) || isRebound || isPlatformWork(area, name)) return false;
    return !isRefused(area, name, KINDS[mark] ?? 'function');
  });
}

describe('what the platform has', () => {
  // What this very release of Node brings that those of the lists do not is judged, too.
  const here = execFileSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
  const lists = readdirSync(LISTS).map((file) => [file, readFileSync(join(LISTS, file), 'utf8')] as const);

  test('there is a list of each release that boxes run on', () => {
    expect(lists.map(([file]) => file)).toEqual(['node-20.txt', 'node-24.txt']);
  });

  test.each([['the Node that runs', here] as const, ...lists])('of %s every name is judged', (_, text) => {
    const lines = text.trim().split('\n');
    expect(lines.length).toBeGreaterThan(50);
    const unjudged = lines.map((line) => [line.split(':', 2).join(':'), listUnjudged(line)] as const);
    expect(Object.fromEntries(unjudged.filter(([, names]) => names.length > 0))).toEqual({});
  });

  test('a name that is not judged is found', () => {
    expect(listUnjudged('globals: Array teleport Math= beam@')).toEqual(['teleport', 'beam@']);
    expect(listUnjudged('node:os: arch brandNew')).toEqual(['brandNew']);
    expect(listUnjudged('node:fs: readFile brandNew Lazy@ value=')).toEqual(['Lazy@', 'value=']);
    expect(listUnjudged('node:brand/new: name')).toEqual(['name']);
  });

  test('what is refused here is refused by its name in the lists', () => {
    const holders = new Map<object, string>([
      [globalThis, 'globals'],
      [process, 'process'],
      [performance, 'performance'],
    ]);
    const known = listRefusals().filter(({ holder }) => holders.has(holder));
    expect(known.length).toBeGreaterThan(40);
    for (const { holder, key } of known) expect(isRefused(holders.get(holder) ?? '', key, 'function')).toBe(true);
  });
});
