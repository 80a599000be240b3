import { BoxError } from '../errors.ts';
import { createTextFinder } from '../text-finder.ts';
import type { TextFinder } from '../text-finder.ts';

/** Hides in plain data what no other caller may read, and remembers where. */
export interface Masker {
  /** Looks for secrets by the names of fields. All values are learnt from before the first one is masked. */
  learn(value: unknown): void;
  /** A copy without secrets. `path`: what the value is called in `masked`. */
  mask<T>(value: T, path: string): T;
  /** The same of what is a secret as a whole. */
  maskSecret(value: string, path: string): unknown;
  /** As `learn` and `mask`, of a value the engine's codec has flattened: what a field holds is a place in the list. */
  learnFlat(flat: readonly unknown[]): void;
  maskFlat(flat: readonly unknown[], path: string): unknown[];
  /** The places where something was hidden. */
  readonly masked: readonly string[];
}

/**
 * Hides the values of `secrets`, and of fields that are named like one, wherever they occur in a text. One secret has one
 * mask everywhere, so that code that compares it or passes it on does the same with its mask. `names` are no secrets, even
 * in a field that is named like one.
 */
export function createMasker(secrets: readonly string[], names: ReadonlySet<unknown> = new Set()): Masker {
  /** What is hidden, and the secret it is a form of. */
  const forms = new Map<string, string>();
  /** The masks of secrets that occur, in the order in which they do: others are not counted. */
  const masks = new Map<string, string>();
  const masked: string[] = [];
  let finder: TextFinder | undefined;
  let room = MOST_CHARACTERS;
  const add = (secret: string, shortest: number): void => {
    if (secret.length < shortest || forms.has(secret)) return;
    for (const form of formsOf(secret)) {
      forms.set(form, secret);
      room -= form.length;
    }
    if (room < 0) throw tooManySecrets();
    finder = undefined;
  };
  const maskFor = (secret: string): string => {
    const known = masks.get(secret) ?? maskOf(masks.size + 1);
    masks.set(secret, known);
    return known;
  };
  for (const secret of secrets) add(secret, SHORTEST);
  const learnField = (value: unknown): void => {
    if (names.has(value)) return;
    if (typeof value === 'string') for (const secret of partsOf(value)) add(secret, SHORTEST_FIELD);
    if (typeof value === 'number') add(String(value), SHORTEST_FIELD);
  };
  const learnText = (text: string): void => {
    for (const secret of findInText(text)) add(secret, SHORTEST_FIELD);
  };
  const hide = (text: string): string => {
    finder ??= createTextFinder(forms.keys());
    // Of two that overlap, what they cover is one secret more.
    return finder.replace(text, (part) => maskFor(forms.get(part) ?? part));
  };
  /** What a field with the name of a secret shows. */
  const hideField = (value: unknown): unknown => {
    if (typeof value === 'number') return hideField(String(value));
    if (typeof value !== 'string' || value === '') return value;
    const hidden = hide(value);
    return hidden === value && !names.has(value) ? maskOf(0) : hidden;
  };
  const note = (path: string, isHidden: boolean): void => {
    if (isHidden && masked.at(-1) !== path) masked.push(path);
  };

  function learn(value: unknown): void {
    if (typeof value === 'string') return learnText(value);
    if (typeof value !== 'object' || value === null) return;
    for (const { item } of secretFields(value)) learnField(item);
    for (const item of Object.values(value)) learn(item);
  }

  function mask(value: unknown, path: string): unknown {
    if (typeof value === 'string') {
      const hidden = hide(value);
      note(path, hidden !== value);
      return hidden;
    }
    if (typeof value !== 'object' || value === null) return value;
    const fields = new Set(secretFields(value).map(({ key }) => key));
    const inner = (key: string, item: unknown, place: string): unknown => {
      const hidden = fields.has(key) ? hideField(item) : item;
      note(place, hidden !== item);
      return hidden === item ? mask(item, place) : hidden;
    };
    if (Array.isArray(value))
      return value.map((item: unknown, index) => inner(String(index), item, `${path}[${index}]`));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [hide(key), inner(key, item, `${path}.${key}`)]),
    );
  }

  return {
    learn,
    mask: <T>(value: T, path: string) => mask(value, path) as T,
    maskSecret(value, path) {
      const hidden = hideField(value);
      note(path, hidden !== value);
      return hidden;
    },
    learnFlat(flat) {
      for (const item of flat) {
        if (typeof item === 'string') learnText(item);
        else for (const { place } of flatFields(flat, item)) learnField(flat[place]);
      }
    },
    maskFlat(flat, path) {
      const copy = structuredClone(flat) as unknown[];
      const append = (hidden: unknown): number => copy.push(hidden) - 1;
      for (const [index, item] of flat.entries()) {
        const shown = hideFlatItem(copy[index], hide);
        for (const { key, place } of flatFields(flat, item)) {
          const hidden = hideField(flat[place]);
          // The same text may stand in other fields, too: this one gets a place of its own.
          if (hidden !== flat[place]) (shown as Record<string, unknown>)[key] = append(hidden);
        }
        note(`${path}[${index}]`, JSON.stringify(shown) !== JSON.stringify(item));
        copy[index] = shown;
      }
      return copy;
    },
    masked,
  };
}

// --- internal ---

/** Of all that is looked for: a document of the largest size is masked in a second, and in 100 MB. */
const MOST_CHARACTERS = 1_048_576;

function tooManySecrets(): BoxError {
  const found = `The history of the run has more than ${MOST_CHARACTERS} characters in fields that are named like secrets.`;
  const details = { limit: MOST_CHARACTERS };
  return new BoxError('run_too_large', `${found} Read its steps one by one instead.`, { details });
}

/** Shorter texts occur by chance. */
const SHORTEST = 4;
const SHORTEST_FIELD = 6;

const SECRET_NAMES = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'password',
  'passwd',
  'passphrase',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'apikey',
  'xapikey',
  'secret',
  'clientsecret',
  'privatekey',
]);

function isSecretName(name: unknown): boolean {
  return typeof name === 'string' && SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
}

/** Letters, digits and "_" alone: it may stand in an address. */
function maskOf(n: number): string {
  return n === 0 ? '__masked__' : `__masked_${n}__`;
}

/** How a secret looks in a text: as it is, in an address, inside JSON. */
function formsOf(secret: string): Set<string> {
  // Half a character cannot stand in an address.
  return new Set([
    secret,
    encodeURIComponent(secret.replaceAll(/\p{Surrogate}/gu, '\ufffd')),
    JSON.stringify(secret).slice(1, -1),
  ]);
}

/** The value of a field, and the credential in it without what it is called: `Bearer …`. */
function partsOf(value: string): string[] {
  const credential = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(value)?.[1];
  return credential === undefined ? [value] : [credential, value];
}

/** What is a secret by where it is in a text: a header, a field of JSON, the password of an address. */
function findInText(text: string): string[] {
  const found = [
    ...text.matchAll(/\b(?:bearer|basic)\s+([\w.~+/=-]{16,})/gi),
    // From the colon on: a text of nothing but schemes is read once.
    ...text.matchAll(/:(?<=\b[a-z][\w+.-]{0,30}:)\/\/[^\s:/@]*:([^\s/@]+)@/gi),
  ].map(([, secret = '']) => secret);
  for (const [, name, secret = ''] of text.matchAll(/"([\w-]{1,30})"\s*:\s*"((?:[^"\\]|\\.)*)"/g))
    if (isSecretName(name)) found.push(secret);
  return found;
}

/** The fields of an object, and the second of a pair such as a header, that are named like a secret. */
function secretFields(value: object): { key: string; item: unknown }[] {
  if (Array.isArray(value)) return value.length === 2 && isSecretName(value[0]) ? [{ key: '1', item: value[1] }] : [];
  const fields: { key: string; item: unknown }[] = [];
  for (const key of Object.keys(value))
    if (isSecretName(key)) fields.push({ key, item: (value as Record<string, unknown>)[key] });
  return fields;
}

/** The same of an item of a flattened value; also the entries of a Map, whose tag stands before them. */
function flatFields(flat: readonly unknown[], item: unknown): { key: string; place: number }[] {
  if (typeof item !== 'object' || item === null) return [];
  const at = (place: unknown): unknown => (typeof place === 'number' ? flat[place] : undefined);
  const pairs: [string, unknown, unknown][] = [];
  if (!Array.isArray(item)) for (const [key, place] of Object.entries(item)) pairs.push([key, key, place]);
  else if (item[0] === 'Map' || item[0] === 'null')
    for (let i = 1; i + 1 < item.length; i += 2)
      pairs.push([String(i + 1), item[0] === 'Map' ? at(item[i]) : item[i], item[i + 1]]);
  else if (item.length === 2) pairs.push(['1', at(item[0]), item[1]]);
  return pairs.flatMap(([key, name, place]) =>
    typeof place === 'number' && place >= 0 && isSecretName(name) ? [{ key, place }] : [],
  );
}

function hideFlatItem(item: unknown, hide: (text: string) => string): unknown {
  if (typeof item === 'string') return hide(item);
  if (typeof item !== 'object' || item === null) return item;
  if (!Array.isArray(item)) return Object.fromEntries(Object.entries(item).map(([key, place]) => [hide(key), place]));
  if (item[0] === 'ArrayBuffer') return ['ArrayBuffer', hideBytes(String(item[1]), hide)];
  // The first is the tag.
  return item.map((part: unknown, index) => (index > 0 && typeof part === 'string' ? hide(part) : part));
}

/** Bytes that are text with a secret in it: as many stars as it has bytes. */
function hideBytes(base64: string, hide: (text: string) => string): string {
  const bytes = Buffer.from(base64, 'base64');
  const text = bytes.toString('latin1');
  return hide(text) === text ? base64 : Buffer.from('*'.repeat(bytes.length)).toString('base64');
}
