import type { Fetch } from './http-fetch.ts';
import type { ProviderInUse } from './provider.ts';

export interface ProviderQuestion {
  path: string;
  /** Sent as JSON with POST. Undefined: GET. */
  body?: unknown;
  signal: AbortSignal;
}

/** Its outcome. Never the text of an answer: it may be anyone's. */
export type ProviderAnswer =
  | { status: number; json: unknown; problem?: undefined }
  | { status: number | null; json?: undefined; problem: string };

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 16 * 1_024 * 1_024;

/** One short question to the provider, besides those of agents. Never throws. */
export async function askProvider(provider: ProviderInUse, question: ProviderQuestion): Promise<ProviderAnswer> {
  const { baseUrl, apiKey, fetch: send = globalThis.fetch as Fetch } = provider;
  const { path, body, signal } = question;
  try {
    const answer = await send(`${baseUrl.replace(/\/+$/, '')}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      return { status: answer.status, problem: explainStatus(answer.status) };
    }
    const json = parse(await readText(answer));
    if (json === undefined) return { status: answer.status, problem: 'The address answers, but not with JSON.' };
    return { status: answer.status, json };
  } catch (error) {
    return { status: null, problem: explainFailure(error) };
  }
}

/** What an answer with this status means, in our own words. */
export function explainStatus(status: number): string {
  const reason = status >= 300 && status < 400 ? 'Redirects are not followed.' : STATUSES[status];
  return `The model provider answered ${status}.${reason === undefined ? '' : ` ${reason}`}`;
}

/** What the code of a failed connection means, in our own words. */
export function explainCode(code: string | undefined): string {
  return FAILURES[code ?? ''] ?? `The connection failed (${code ?? 'unknown'}).`;
}

// --- internal ---

const STATUSES: Record<number, string> = {
  400: 'It does not take the request.',
  401: 'It refuses the key.',
  402: 'The account has no credit.',
  403: 'It refuses the key.',
  404: 'There is nothing at that address: it must end in what comes before /chat/completions, such as /v1; or there is no such model.',
  429: 'It takes no more requests for now, or the account has no credit.',
};

const FAILURES: Record<string, string> = {
  ECONNREFUSED: 'Nothing listens at the address.',
  ECONNRESET: 'The connection broke off.',
  UND_ERR_SOCKET: 'The connection broke off.',
  ENOTFOUND: 'The name of the host does not resolve.',
  EAI_AGAIN: 'The name of the host does not resolve.',
};

function explainFailure(error: unknown): string {
  const { name, code, message, cause } = error as { name?: string; code?: string; message?: string; cause?: unknown };
  if (name === 'BoxError') return message ?? '';
  if (name === 'TimeoutError' || name === 'AbortError')
    return `The model provider did not answer within ${TIMEOUT_MS / 1_000} s.`;
  // `fetch` says only that it failed; what happened is its cause.
  const reason = code ?? (cause as { code?: string } | undefined)?.code;
  return `The model provider cannot be reached. ${explainCode(reason)}`;
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
