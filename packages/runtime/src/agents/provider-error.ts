import { BoxError } from '../errors.ts';

/** The provider answered with an error, or did not answer. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: string;
  readonly status: number;
  readonly fatal = true;

  /** @param retryAfter seconds the provider asks to wait; kept in `cause`, the member of an error the journal keeps */
  constructor(status: number, code: string, message: string, retryAfter?: number) {
    super(message, retryAfter === undefined ? undefined : { cause: { retryAfter } });
    this.status = status;
    this.code = code;
  }
}

/** Tells the message of a provider's error object and nothing else of what the address answered: it may be anyone's. */
export function toProviderError(error: unknown): unknown {
  if (error instanceof BoxError || error instanceof ProviderError) return error;
  const { status, code, error: body, message } = error as Failure;
  const told = typeof body?.message === 'string' ? body.message : undefined;
  if (typeof status !== 'number')
    return new ProviderError(502, DEFAULT_CODE, `The model provider failed: ${told ?? String(message ?? error)}`);
  return new ProviderError(
    TOLD_STATUSES.has(status) || (status >= 500 && status <= 599) ? status : 502,
    typeof code === 'string' ? code : DEFAULT_CODE,
    `The model provider answered ${status}: ${told ?? 'no message.'}`,
    retryAfterOf(error),
  );
}

/** The error a provider sends in the middle of an answer that began well. */
export function brokenOff(error: unknown): Error {
  const message = typeof error === 'string' ? error : (error as { message?: unknown } | null)?.message;
  const told = typeof message === 'string' ? message : 'It does not say why.';
  return new ProviderError(502, DEFAULT_CODE, `The model provider failed in the middle of its answer: ${told}`);
}

export function timedOut(ms: number): ProviderError {
  const time = ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 1_000)} s`;
  return new ProviderError(
    504,
    'model_timeout',
    `The model provider did not finish its answer within ${time}. The agent's "timeout" sets how long that may take.`,
  );
}

/**
 * How many milliseconds to wait before a request that failed is sent again; undefined: it is not. Only for requests of
 * which nothing has come back but a refusal: what was told, or paid for, is never asked for twice.
 */
export function retryDelay(error: unknown, attempt: number): number | undefined {
  const { status } = error as Failure;
  const isPassing = status === undefined || status === 408 || status === 429 || (status as number) >= 500;
  if (!isPassing || attempt > RETRIES) return undefined;
  const askedMs = Number((error as Failure).headers?.get('retry-after-ms') || Number.NaN);
  const asked = Number.isNaN(askedMs) ? retryAfterOf(error) : askedMs / 1_000;
  if (asked !== undefined) return asked <= LONGEST_WAIT_S ? asked * 1_000 : undefined;
  return 500 * 2 ** (attempt - 1) * (0.75 + Math.random() * 0.25);
}

// --- internal ---

const DEFAULT_CODE = 'model_provider_failed';
const RETRIES = 2;
/** A provider that asks for more gets no second request: whoever waits for the turn is told instead. */
const LONGEST_WAIT_S = 20;

/** What of the provider's status is the caller's to know: its own request, or trouble that passes. The rest is 502. */
const TOLD_STATUSES = new Set([400, 413, 422, 429]);

/** Seconds, from a number of them or a date. */
function retryAfterOf(error: unknown): number | undefined {
  const text = (error as Failure).headers?.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d{1,6}(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1_000));
}

/** An error of the SDK, as far as it is read. */
interface Failure {
  status?: unknown;
  code?: unknown;
  message?: unknown;
  error?: { message?: unknown };
  headers?: Headers;
}
