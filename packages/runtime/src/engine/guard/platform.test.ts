import { execFileSync } from 'node:child_process';
import { builtinModules } from 'node:module';
import { describe, expect, test } from 'vitest';
import { listPlatformWork } from './platform-work.ts';
import { words } from './words.ts';
import { listRefusals } from './refusals.ts';

// Every global of Node and every export of its modules is one of: refused in a body, rebound to its run, waited for, or
// named here as harmless. What a new release of Node brings fails these tests until it is judged.

const REBOUND = words(
  'Date Math Intl performance crypto process Event File crypto.getRandomValues crypto.randomUUID crypto.webcrypto process.env process.pid process.ppid performance.now performance.timeOrigin buffer.File perf_hooks.performance',
);

/** Modules of which every export works on its arguments alone. */
const PURE = words(
  'assert assert/strict async_hooks buffer console constants diagnostics_channel domain events module path path/posix path/win32 punycode querystring stream stream/consumers stream/promises stream/web string_decoder sys url util util/types',
);

/** To have them at hand would cost each boot their loading, and no body uses them by oversight: the compiler refuses them. */
const NOT_LOADED = words(
  'node:sea node:sqlite node:test node:test/reporters inspector inspector/promises readline readline/promises repl trace_events tty wasi',
);

const HARMLESS: Record<string, string> = {
  fs: 'Dir Dirent FileReadStream FileWriteStream ReadStream Utf8Stream WriteStream F_OK R_OK Stats W_OK X_OK constants promises _toUnixTimestamp',
  'fs/promises': 'constants',
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
  os: 'EOL arch constants devNull endianness homedir machine platform release tmpdir type version',
  v8: 'DefaultDeserializer DefaultSerializer Deserializer Serializer cachedDataVersionTag deserialize isStringOneByteRepresentation promiseHooks serialize startupSnapshot',
  perf_hooks:
    'Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserverEntryList PerformanceResourceTiming constants createHistogram timerify',
  zlib: 'brotliCompressSync brotliDecompressSync codes constants crc32 deflateRawSync deflateSync gunzipSync gzipSync inflateRawSync inflateSync unzipSync zstdCompressSync zstdDecompressSync',
  vm: 'Script compileFunction constants createContext createScript isContext runInContext runInNewContext runInThisContext',
  crypto:
    'Certificate Cipher Cipheriv Decipher Decipheriv DiffieHellman DiffieHellmanGroup ECDH Hash Hmac KeyObject Sign Verify X509Certificate argon2Sync checkPrimeSync constants createCipher createCipheriv createDecipher createDecipheriv createDiffieHellman createDiffieHellmanGroup createECDH createHash createHmac createPrivateKey createPublicKey createSecretKey createSign createVerify decapsulate diffieHellman fips getCipherInfo getCiphers getCurves getDiffieHellman getFips getHashes hash hkdfSync pbkdf2Sync privateDecrypt privateEncrypt prng pseudoRandomBytes publicDecrypt rng scryptSync setEngine setFips subtle timingSafeEqual verify',
  timers: 'active enroll unenroll clearImmediate clearInterval clearTimeout promises',
  'timers/promises': 'scheduler',
  process:
    'allowedNodeEnvironmentFlags arch argv argv0 assert config cwd debugPort domain emitWarning execArgv execPath exitCode features finalization getBuiltinModule hasUncaughtExceptionCaptureCallback mainModule moduleLoadList nextTick platform ref release report setSourceMapsEnabled setUncaughtExceptionCaptureCallback sourceMapsEnabled stderr stdin stdout title unref version versions',
  performance:
    'clearMarks clearMeasures clearResourceTimings constructor markResourceTiming nodeTiming onresourcetimingbufferfull setResourceTimingBufferSize',
  globals:
    'AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Blob Boolean Buffer ByteLengthQueuingStrategy CloseEvent CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DataView DisposableStack Error EvalError EventTarget FinalizationRegistry Float16Array Float32Array Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array Iterator JSON Map MessageEvent MessagePort NaN Navigator Number Object Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming Promise Proxy RangeError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader ReferenceError Reflect RegExp Request Response Set SharedArrayBuffer Storage String SubtleCrypto SuppressedError Symbol SyntaxError TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController TypeError URIError URL URLPattern URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WritableStream WritableStreamDefaultController WritableStreamDefaultWriter atob btoa clearImmediate clearInterval clearTimeout console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval global globalThis isFinite isNaN localStorage navigator parseFloat parseInt queueMicrotask sessionStorage structuredClone undefined unescape',
};

/** Of a process that was forked, as that of a test is. */
const IPC = ['channel', 'connected', 'disconnect', 'emit', 'send'];

const refused = listRefusals().map(({ label }) => label.replace(/^new |\(\)$/g, ''));
const waited = listPlatformWork().map(({ key }) => key);
const judged = new Set([...refused, ...REBOUND]);

/** Names that nothing is said about. Constants say nothing that changes. */
function unjudged(where: string, holder: object, names: readonly string[]): string[] {
  const prefix = where === 'globals' ? '' : `${where.replace('/', '.')}.`;
  const harmless = new Set(HARMLESS[where]?.split(' '));
  return names.filter((name) => {
    if (harmless.has(name) || judged.has(prefix + name) || judged.has(name) || waited.includes(name)) return false;
    return !name.startsWith('_') && !['string', 'undefined'].includes(typeof Reflect.get(holder, name));
  });
}

describe('what the platform has', () => {
  test('every global is judged', () => {
    // Of a process without the tests, and what they load.
    const names = execFileSync(process.execPath, ['-p', 'Object.getOwnPropertyNames(globalThis).join()']);
    const own = names.toString().trim().split(',');
    expect(unjudged('globals', globalThis, own)).toEqual([]);
  });

  test('every member of process and of performance is judged', () => {
    expect(
      unjudged(
        'process',
        process,
        Object.keys(process).filter((name) => !IPC.includes(name)),
      ),
    ).toEqual([]);
    const members = Object.getOwnPropertyNames(Object.getPrototypeOf(performance) as object);
    expect(unjudged('performance', performance, members)).toEqual([]);
  });

  const modules = builtinModules.filter((name) => !name.startsWith('_') && !PURE.includes(name));
  test.each(modules.filter((name) => !NOT_LOADED.includes(name) && name !== 'process'))(
    'every export of %s is judged',
    (name) => {
      const module = process.getBuiltinModule(`node:${name.replace('node:', '')}`) as unknown as object;
      expect(unjudged(name, module, Object.keys(module))).toEqual([]);
    },
  );
});
