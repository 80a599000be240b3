import { createEncodedSecrets, listEncodings } from './encoded-secrets.ts';
import { isGuessable, listSecretValues } from './secret-variables.ts';

/** Takes secrets out of text that leaves the box: log records and spans. */
export interface Mask {
  text(text: string): string;
  /**
   * The same of a text that whoever gave `given` is shown. A secret that can be guessed and that stands in `given` is not
   * hidden: a mask in its place would show that the guess is right.
   */
  textFor(given: string, text: string): string;
  /** One that was not in the environment. */
  add(secret: string | undefined): void;
  /** One that ends soon, as tokens of OAuth do: the newest hundred are known. */
  addPassing(secret: string): void;
}

export const HIDDEN = '[hidden]';

/** The token of a webhook, which is a credential: by itself, or in the address made of it. */
export const WEBHOOK_TOKEN = String.raw`(?<=/api/webhooks/)[\w-]{16,}|whk_[\w-]{43}`;

/** Knows the secrets of the environment, what comes before the host of any address, and the tokens of webhooks. Short values are words. */
export function createMask(env: NodeJS.ProcessEnv = {}): Mask {
  const secrets = new Set<string>();
  const guessable = new Set<string>();
  let all: Hider | undefined;
  /** Of the last one who gave something: an error has many texts. */
  let last: { given: string; hide: Hider } | undefined;
  const add = (secret: string | undefined): void => {
    const value = secret?.trim() ?? '';
    if (value.length < SHORTEST || secrets.has(value)) return;
    secrets.add(value);
    if (isGuessable(value)) guessable.add(value);
    all = undefined;
    last = undefined;
  };
  const passing = new Set<string>();
  const addPassing = (secret: string): void => {
    if (passing.has(secret) || secrets.has(secret)) return;
    add(secret);
    if (secrets.has(secret)) passing.add(secret);
    const [oldest] = passing;
    if (passing.size <= MOST_PASSING || oldest === undefined) return;
    passing.delete(oldest);
    secrets.delete(oldest);
    guessable.delete(oldest);
  };
  // The keys of the box by their names: in base64 one may look like a path.
  for (const secret of [...listSecretValues(env), env.SVC_SECRET_KEY, env.HMAC_SECRET]) add(secret);
  for (const [name, value = ''] of Object.entries(env))
    if (/^OTEL_EXPORTER_OTLP.*HEADERS$/.test(name)) listHeaderValues(value).forEach(add);
  const text = (plain: string): string => (all ??= createHider(secrets))(plain);
  const createFor = (given: string): Hider => {
    const guessed = new Set([...guessable].filter((secret) => standsIn(secret, given)));
    return guessed.size === 0 ? text : createHider([...secrets].filter((secret) => !guessed.has(secret)));
  };
  return {
    add,
    addPassing,
    text,
    textFor(given, plain) {
      if (last?.given !== given) last = { given, hide: createFor(given) };
      return last.hide(plain);
    },
  };
}

// --- internal ---

type Hider = (text: string) => string;

function createHider(secrets: Iterable<string>): Hider {
  const forms = new Set<string>();
  const encoded = createEncodedSecrets();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) forms.add(form);
    encoded.add(secret);
  }
  // The longest first: one may be the beginning of another.
  const longest = [...forms].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp([...longest.map(escape), CREDENTIALS, WEBHOOK_TOKEN].join('|'), 'g');
  return (text) => encoded.hide(text.replace(pattern, HIDDEN), HIDDEN);
}

function standsIn(secret: string, text: string): boolean {
  return [...formsOf(secret), ...listEncodings(secret)].some((form) => text.includes(form));
}

const SHORTEST = 6;
const MOST_PASSING = 100;
/** What comes before the host of an address, whoever it belongs to. */
const CREDENTIALS = String.raw`(?<=\b[a-z][a-z\d+.-]{1,20}://)[^\s/@"'\\]{1,500}(?=@)`;

/** As it is, as an address carries it, and as JSON writes it. */
function formsOf(secret: string): string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}

/** Whole, and without the scheme: `Bearer abc`. */
function listHeaderValues(text: string): string[] {
  return text.split(',').flatMap((entry) => {
    const value = entry.slice(entry.indexOf('=') + 1).trim();
    const plain = value.replaceAll('%20', ' ');
    return [value, plain.slice(plain.lastIndexOf(' ') + 1)];
  });
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
