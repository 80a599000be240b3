import { BoxError } from '../../errors.ts';
import { createMask } from '../../mask.ts';
import { explainCode, explainStatus } from '../../provider/ask.ts';
import type { ProviderSettings } from '../../provider/provider.ts';

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

/**
 * Repeats the message of a provider's error object, without the key of the request, and nothing else of what the address
 * answered: it may be anyone's. Of a refused key, and of a connection that failed, nothing is repeated.
 */
export function toProviderError(error: unknown, provider: ProviderSettings): unknown {
  if (error instanceof BoxError || error instanceof ProviderError) return error;
  // What failed below the request is its cause, such as the refusal to connect to a private address.
  const { status, code, error: body, cause } = error as Failure;
  if (cause instanceof BoxError) return new ProviderError(cause.status, cause.code, cause.message);
  if (typeof status !== 'number')
    return new ProviderError(502, DEFAULT_CODE, `The model provider failed: ${explainCode(codeIn(error))}`);
  const isPassedOn = PASSED_STATUSES.has(status) || (status >= 500 && status <= 599);
  const shownStatus = isPassedOn ? status : 502;
  if (!isPassedOn && status !== 404)
    return new ProviderError(shownStatus, DEFAULT_CODE, explainStatus(status), retryAfterOf(error));
  const message = messageOf(body);
  const without = status === 404 ? `no message. ${BASE}` : 'no message.';
  const said = message === undefined ? without : clean(message, provider);
  // A provider that knows no such model says so; else the address is short of what it should be.
  const shown = status === 404 && message !== undefined && !/model/i.test(said) ? `${endSentence(said)} ${BASE}` : said;
  return new ProviderError(
    shownStatus,
    isCode(code) ? clean(code, provider) : DEFAULT_CODE,
    `The model provider answered ${status}: ${shown}`,
    retryAfterOf(error),
  );
}

/** The error a provider sends in the middle of an answer that began well. */
export function toBrokenOff(error: unknown, provider: ProviderSettings): ProviderError {
  const message = messageOf(error);
  const shown = message === undefined ? 'It does not say why.' : clean(message, provider);
  return new ProviderError(502, DEFAULT_CODE, `The model provider failed in the middle of its answer: ${shown}`);
}

/** An answer that ends although more was to come. */
export function cutShort(): ProviderError {
  return new ProviderError(
    502,
    DEFAULT_CODE,
    'The model provider failed: The answer broke off without a finish reason.',
  );
}

/** What an address answers where no API is. */
export function answeredPage(): ProviderError {
  return new ProviderError(502, DEFAULT_CODE, `The model provider failed: It answered with a page. ${BASE}`);
}

/** An answer that is no error, and not what was asked for either. */
export function wrongAnswer(reason: string): ProviderError {
  return new ProviderError(502, DEFAULT_CODE, `The model provider failed: ${reason}`);
}

export function timedOut(ms: number): ProviderError {
  const time = ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 1_000)} s`;
  return new ProviderError(
    504,
    'model_timeout',
    `The model provider did not finish its answer within ${time}. "timeout" sets how long that may take: of the agent, or of the call.`,
  );
}

/**
 * How many milliseconds to wait before a request that failed is sent again; undefined: it is not. Only for requests of
 * which nothing has come back but a refusal: what was emitted, or paid for, is never asked for twice.
 */
export function retryDelay(error: unknown, attempt: number, retries = RETRIES): number | undefined {
  if (!isPassing(error) || attempt > retries) return undefined;
  const askedMs = Number((error as Failure).headers?.get('retry-after-ms') || Number.NaN);
  const asked = Number.isNaN(askedMs) ? retryAfterOf(error) : askedMs / 1_000;
  if (asked !== undefined) return asked <= LONGEST_WAIT_S ? asked * 1_000 : undefined;
  return 500 * 2 ** (attempt - 1) * (0.75 + Math.random() * 0.25);
}

/** Another model, or another time, may answer: 408, 429, 5xx, or no answer at all. */
export function isPassing(error: unknown): boolean {
  const { status, cause } = error as Failure;
  if (cause instanceof BoxError) return false;
  return status === undefined || status === 408 || status === 429 || (status as number) >= 500;
}

// --- internal ---

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Some providers repeat the status there, which says nothing. */
function isCode(code: unknown): code is string {
  return typeof code === 'string' && /[^\d\s]/.test(code);
}

const DEFAULT_CODE = 'model_provider_failed';
const BASE = 'The address must end in what comes before /chat/completions, such as /v1.';
const RETRIES = 2;
/** A provider that asks for more gets no second request: the turn fails instead. */
const LONGEST_WAIT_S = 20;

/** What of the provider's status is the caller's to know: its own request, or trouble that passes. The rest is 502. */
const PASSED_STATUSES = new Set([400, 413, 422, 429]);

const LONGEST_SHOWN = 1_000;

/** Of the member `error` of an answer: an object, or the message itself. */
function messageOf(error: unknown): string | undefined {
  const message = typeof error === 'string' ? error : (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : undefined;
}

/** Masked before it is cut: the beginning of a key is part of it. */
function clean(text: string, { apiKey, baseUrl }: ProviderSettings): string {
  const mask = createMask();
  mask.add(apiKey);
  if (URL.canParse(baseUrl)) {
    const { username, password } = new URL(baseUrl);
    for (const part of [username, password].map(decodePart)) mask.add(part);
  }
  const masked = mask.text(text);
  return masked.length > LONGEST_SHOWN ? `${masked.slice(0, LONGEST_SHOWN)}…` : masked;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The innermost error with a code says what happened to a connection. */
function codeIn(error: unknown): string | undefined {
  let code: string | undefined;
  for (let inner = error as Failure | undefined, depth = 0; inner && depth < 5; depth++) {
    if (typeof inner.code === 'string') code = inner.code;
    inner = inner.cause as Failure | undefined;
  }
  return code;
}

/** Seconds, from a number of them or a date. */
function retryAfterOf(error: unknown): number | undefined {
  const text = (error as Failure).headers?.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d{1,6}(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1_000));
}

/** What sending a request throws, as far as it is read. */
interface Failure {
  status?: unknown;
  code?: unknown;
  cause?: unknown;
  error?: unknown;
  headers?: Headers;
}
