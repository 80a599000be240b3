import type { DeterminismError } from '../errors.ts';
import type { RunHandle } from '../handle.ts';
import { refusedBy } from './refusal-error.ts';
import { splitWords } from './split-words.ts';

/**
 * Functions of the platform whose answer depends on their arguments alone, and comes when a thread of its own has made
 * it. A body may await them: the run waits with it (`RunHandle.waitFor`), so that the order of what it sees replays.
 */
export interface PlatformWork {
  holder: object;
  key: string;
  /** How the answer comes. */
  answers: 'promise' | 'callback';
}

/** Whether an export of a module, or a member of `crypto.subtle`, is such work, also of another release of Node. */
export function isPlatformWork(where: string, name: string): boolean {
  return WORK[where]?.includes(name) ?? false;
}

export function listPlatformWork(): PlatformWork[] {
  return [
    ...list(Object.getPrototypeOf(globalThis.crypto.subtle) as object, SUBTLE, 'promise'),
    ...list(Blob.prototype, ['arrayBuffer', 'bytes', 'text'], 'promise'),
    ...list((globalThis as unknown as { WebAssembly: object }).WebAssembly, ['compile', 'instantiate'], 'promise'),
    ...list(builtin('crypto'), DERIVING, 'callback'),
    ...list(builtin('zlib'), ZLIB, 'callback'),
  ];
}

/** Makes the function one that a run waits for when its body calls it. `current`: the run whose body is running. */
export function waitForWork({ holder, key, answers }: PlatformWork, current: () => RunHandle | undefined): void {
  const original = Reflect.get(holder, key) as AnyFunction;
  const { [key]: property } = Object.getOwnPropertyDescriptors(holder) as Record<string, PropertyDescriptor>;
  const waited: AnyFunction =
    answers === 'promise'
      ? function (this: unknown, ...args) {
          const call = (): Promise<unknown> => Reflect.apply(original, this, args) as Promise<unknown>;
          const run = current();
          if (run && drawsNumbers(key, key === 'wrapKey' ? args[3] : args[0])) throw drawn(key);
          return run ? run.waitFor(call) : call();
        }
      : function (this: unknown, ...args) {
          const run = current();
          const callback = args.at(-1);
          if (!run || typeof callback !== 'function') return Reflect.apply(original, this, args);
          const answer = run.waitFor(
            () =>
              new Promise<unknown[]>((resolve) => {
                Reflect.apply(original, this, [...args.slice(0, -1), (...given: unknown[]) => resolve(given)]);
              }),
          );
          void answer.then((given) => Reflect.apply(callback as AnyFunction, undefined, given));
        };
  Object.defineProperty(waited, 'name', { value: key, configurable: true });
  Object.defineProperty(waited, 'length', { value: original.length, configurable: true });
  const { enumerable = true } = property ?? {};
  Object.defineProperty(holder, key, { value: waited, enumerable, configurable: true, writable: true });
}

// --- internal ---

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** What these answer with these algorithms is another one each time. */
const DRAWN: Record<string, RegExp> = { sign: /^(?:ECDSA|RSA-PSS)$/i, encrypt: /^RSA-OAEP$/i, wrapKey: /^RSA-OAEP$/i };

function drawsNumbers(key: string, algorithm: unknown): boolean {
  const name = typeof algorithm === 'string' ? algorithm : (algorithm as { name?: unknown } | undefined)?.name;
  return DRAWN[key]?.test(String(name)) ?? false;
}

function drawn(key: string): DeterminismError {
  const advice = 'Move this to a step';
  return refusedBy(`crypto.subtle.${key}() with an algorithm that draws numbers`, advice);
}

const SUBTLE = splitWords(
  'decapsulateBits decapsulateKey decrypt deriveBits deriveKey digest encrypt exportKey getPublicKey importKey sign unwrapKey verify wrapKey',
);

const DERIVING = ['argon2', 'checkPrime', 'hkdf', 'pbkdf2', 'scrypt'];

const ZLIB = splitWords(
  'brotliCompress brotliDecompress deflate deflateRaw gunzip gzip inflate inflateRaw unzip zstdCompress zstdDecompress',
);

const WORK: Record<string, readonly string[]> = {
  'crypto.subtle': SUBTLE,
  'node:crypto': DERIVING,
  'node:zlib': ZLIB,
};

function list(holder: object, keys: readonly string[], answers: PlatformWork['answers']): PlatformWork[] {
  return keys.filter((key) => key in holder).map((key) => ({ holder, key, answers }));
}

function builtin(name: string): object {
  return process.getBuiltinModule(`node:${name}`) as object;
}
