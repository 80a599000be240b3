import { CommandError } from './errors.ts';

/** The provider of models a workspace begins with. */
export interface Provider {
  /** Any endpoint of the chat-completions format, up to and including /v1. */
  url: string;
  /** Absent: one that asks for none. */
  key?: string | undefined;
}

/** The variables of `.env` a provider is kept in. */
export const PROVIDER_URL = 'MODEL_PROVIDER_BASE_URL';
export const PROVIDER_KEY = 'MODEL_PROVIDER_API_KEY';

/** What a provider said to the question for its models; `problem` is a sentence. */
export type ModelAnswer = { models: string[] } | { problem: string; isRefused: boolean };

/** The address as it is kept. Throws where the box would refuse it. */
export function checkProviderUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const suggestion = 'For example: https://provider.example/v1';
  // First of all, because the other refusal repeats the address.
  if (url && (url.username !== '' || url.password !== ''))
    throw new CommandError('provider_url_invalid', 'The provider address carries credentials.', {
      suggestion: `Leave them out: the key is typed when asked, or set in ${PROVIDER_KEY}.`,
    });
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || UNPRINTABLE.test(text))
    throw new CommandError('provider_url_invalid', `"${text}" is not an http or https address.`, { suggestion });
  return text.replace(/\/+$/, '');
}

/** The key as it is kept; undefined: none. Throws where no request could carry it. Nothing of it is repeated. */
export function checkProviderKey(text: string): string | undefined {
  const key = text.trim();
  if (key === '') return undefined;
  const fits = key.length <= MOST_KEY && /^[\x21-\x7e]+$/.test(key) && QUOTES.some((mark) => !key.includes(mark));
  if (fits) return key;
  throw new CommandError(
    'provider_key_invalid',
    `The key of the model provider has a character that no key has, or more than ${MOST_KEY} of them.`,
    { suggestion: 'Copy it again: one line, without spaces and quotation marks.' },
  );
}

/** The name of a model as it is kept. Throws where there can be no such. */
export function checkModel(text: string): string {
  const model = text.trim();
  if (model !== '' && model.length <= MOST_MODEL && !UNPRINTABLE.test(model)) return model;
  throw new CommandError('model_invalid', 'The name of the model is empty, too long, or has control characters.', {
    suggestion: 'For example: --model vendor/model',
  });
}

/** Asks the provider for its models, sorted. Never throws. */
export async function listModels({ url, key }: Provider, signal?: AbortSignal): Promise<ModelAnswer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await fetch(`${url}/models`, {
      headers: { accept: 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const { status } = answer;
    if (status === 401 || status === 403)
      return { isRefused: true, problem: `It answered ${status}: ${key ? 'it refuses the key' : 'it wants a key'}.` };
    if (!answer.ok) return { isRefused: false, problem: `It answered ${status} when it was asked for its models.` };
    const models = toNames(await readText(answer));
    return models ? { models } : { isRefused: false, problem: 'It answered with no list of models.' };
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } };
    const reason = name === 'TimeoutError' ? `not within ${TIMEOUT_MS / 1_000} s` : (cause?.code ?? name);
    return { isRefused: false, problem: `It cannot be reached from here (${reason}).` };
  }
}

/** The text of `.env` with a provider in it. `before` is what it holds; what is not of a provider stays. */
export function renderEnv({ url, key }: Provider, before = ''): string {
  const kept = before.replaceAll(OF_PROVIDER, '');
  const lines = [`${PROVIDER_URL}=${quote(url)}`, ...(key === undefined ? [] : [`${PROVIDER_KEY}=${quote(key)}`])];
  return `${kept}${kept === '' || kept.endsWith('\n') ? '' : '\n'}${lines.join('\n')}\n`;
}

// --- internal ---

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4 * 1_024 * 1_024;
const MOST_KEY = 10_000;
const MOST_MODEL = 200;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** What a value of `.env` may stand between; in the last, "\n" is a line break. */
const QUOTES = ["'", '`'] as const;
const OF_PROVIDER = new RegExp(
  `^[ \\t]*(?:export[ \\t]+)?(?:${PROVIDER_URL}|${PROVIDER_KEY})[ \\t]*=.*(?:\\n|$)`,
  'gm',
);

function quote(value: string): string {
  if (/^[\w.:/@%+,~?&=-]+$/.test(value)) return value;
  const mark = QUOTES.find((one) => !value.includes(one)) ?? '';
  return `${mark}${value}${mark}`;
}

/** Undefined: it is no list of the format. Names no configuration can hold are left out. */
function toNames(text: string): string[] | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    if (!Array.isArray(data)) return undefined;
    const names = data.map((one: unknown) => (one as { id?: unknown } | null)?.id);
    return [...new Set(names.filter(isName))].sort();
  } catch {
    return undefined;
  }
}

function isName(id: unknown): id is string {
  return typeof id === 'string' && id.trim() === id && id !== '' && id.length <= MOST_MODEL && !UNPRINTABLE.test(id);
}

async function readText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    // Cut off, it is no JSON any more.
    if (size > MOST_BYTES) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
