import { HIDDEN } from '../../mask.ts';
import type { Ambient } from '../handle.ts';
import type { RunRow } from '../journal/run.ts';

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** For what code of the run has thrown. */
export function redactFor({ redact }: Pick<Ambient, 'redact'>, { input }: Pick<RunRow, 'input'>): Redact | undefined {
  return redact && ((text) => redact(input, text));
}

/** Values of headers that are credentials, under whatever object has them: a Request, a Response, or options of a client. */
const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'x-auth-token',
]);

/**
 * A value as `encode` has made it, an error, without the secrets in its texts, and without credentials of headers. What is
 * no text stays as it is.
 */
export function redactEncoded(encoded: string, redact: Redact): string {
  const format = encoded.slice(0, 1);
  const flat = JSON.parse(encoded.slice(1)) as unknown;
  // Errors are flattened: a list of values that refer to each other by their places.
  if (!Array.isArray(flat)) return encoded;
  const hidden = findCredentials(flat);
  const redactItem = (item: unknown, place: number): unknown => {
    if (typeof item === 'string') return hidden.has(place) ? HIDDEN : redact(item);
    const isUrl = Array.isArray(item) && item[0] === 'URL' && typeof item[1] === 'string';
    return isUrl ? ['URL', redactUrl(String(item[1]), redact)] : item;
  };
  return format + JSON.stringify(flat.map(redactItem));
}

// --- internal ---

function redactUrl(text: string, redact: Redact): string {
  const redacted = redact(text);
  return URL.canParse(redacted) ? redacted : 'about:blank';
}

/** The places of what is under the name of a credential, as a member of an object or the second of a pair. */
function findCredentials(flat: readonly unknown[]): Set<number> {
  const found = new Set<number>();
  const add = (place: unknown): void => {
    if (typeof place !== 'number' || place < 0 || found.has(place)) return;
    found.add(place);
    const item = flat[place];
    if (typeof item === 'object' && item !== null) Object.values(item).forEach(add);
  };
  for (const item of flat) {
    if (typeof item !== 'object' || item === null) continue;
    if (!Array.isArray(item)) for (const [key, place] of Object.entries(item)) if (isCredential(key)) add(place);
    if (Array.isArray(item) && item.length === 2 && typeof item[0] === 'number' && isCredential(flat[item[0]]))
      add(item[1]);
  }
  return found;
}

function isCredential(name: unknown): boolean {
  return typeof name === 'string' && CREDENTIALS.has(name.toLowerCase());
}
