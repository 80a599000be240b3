import { listSecretValues } from './secret-variables.ts';

/** Takes secrets out of text that leaves the box: log records and spans. */
export interface Mask {
  text(text: string): string;
  /** One that was not in the environment. */
  add(secret: string | undefined): void;
}

export const HIDDEN = '[hidden]';

/** The token of a webhook, which is a credential: by itself, or in the address made of it. */
export const WEBHOOK_TOKEN = String.raw`(?<=/api/webhooks/)[\w-]{16,}|whk_[\w-]{43}`;

/** Knows the secrets of the environment, what stands before the host of any address, and the tokens of webhooks. Short values are words. */
export function createMask(env: NodeJS.ProcessEnv = {}): Mask {
  const secrets = new Set<string>();
  let pattern: RegExp | undefined;
  const add = (secret: string | undefined): void => {
    const value = secret?.trim() ?? '';
    if (value.length < SHORTEST) return;
    for (const form of formsOf(value)) secrets.add(form);
    pattern = undefined;
  };
  // The keys of the box by their names: in base64 one may look like a path.
  for (const secret of [...listSecretValues(env), env.SVC_SECRET_KEY, env.HMAC_SECRET]) add(secret);
  for (const [name, value = ''] of Object.entries(env))
    if (/^OTEL_EXPORTER_OTLP.*HEADERS$/.test(name)) listHeaderValues(value).forEach(add);
  const toPattern = (): RegExp => {
    // The longest first: one may be the beginning of another.
    const longest = [...secrets].toSorted((a, b) => b.length - a.length);
    return new RegExp([...longest.map(escape), CREDENTIALS, WEBHOOK_TOKEN].join('|'), 'g');
  };
  return {
    add,
    text: (text) => text.replace((pattern ??= toPattern()), HIDDEN),
  };
}

// --- internal ---

const SHORTEST = 6;
/** What stands before the host of an address, whoever it belongs to. */
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
