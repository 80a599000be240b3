import { CliError, EXIT } from '../errors.ts';
import type { Context } from '../context.ts';

/** What a request needs of where the command runs. */
export type Reach = Pick<Context, 'env' | 'signal' | 'trace' | 'say'>;

export interface PlaneRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** From the address of the control plane. */
  path: string;
  /** A JSON body. */
  body?: object;
  /** A form, which is what OAuth sends. */
  form?: Record<string, string>;
  token?: string;
}

export interface PlaneAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** One request to a control plane, whatever it answers. Throws `control_plane_unavailable` when it cannot. */
export async function askPlane(endpoint: string, request: PlaneRequest, reach: Reach): Promise<PlaneAnswer> {
  const { method, path } = request;
  const url = endpoint + path;
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...toInit(request), signal: AbortSignal.any([reach.signal, limit]) });
    reach.trace(`${method} ${url} ${response.status}`);
    const { status } = response;
    const body = parseBody(await response.text());
    if (body && status < 500) return { status, body };
    throw unavailable(`The control plane ${endpoint} answered ${status}${sayWhy(body)}`);
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (reach.signal.aborted) throw interrupted();
    const { cause, message } = error as Error;
    const reason = limit.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : reasonOf(cause, message);
    throw unavailable(`The control plane ${endpoint} does not answer: ${reason}.`);
  }
}

/** A refusal in the words of the control plane. */
export function toPlaneError(endpoint: string, { status, body }: PlaneAnswer): CliError {
  const { code, message } = body;
  const known = BY_STATUS[status];
  const text = typeof message === 'string' ? message : `${endpoint} answered ${status}.`;
  return new CliError(typeof code === 'string' ? code : (known?.code ?? 'generic'), text, {
    exitCode: known?.exitCode ?? EXIT.generic,
    ...(status === 404 ? { suggestion: 'Check the id; the control plane lists the agents of the organization.' } : {}),
  });
}

export function interrupted(): CliError {
  return new CliError('generic', 'Interrupted before it was done.', {
    exitCode: EXIT.interrupted,
    suggestion: 'Run the command again.',
  });
}

// --- internal ---

const TIMEOUT_MS = 30_000;
const MOST_WORDS = 500;

const BY_STATUS: Record<number, { code: string; exitCode: number } | undefined> = {
  401: { code: 'session_expired', exitCode: EXIT.auth },
  403: { code: 'forbidden', exitCode: EXIT.generic },
  404: { code: 'not_found', exitCode: EXIT.notFound },
};

function toInit({ method, body, form, token }: PlaneRequest): RequestInit {
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
  const payload = form ? new URLSearchParams(form).toString() : body && JSON.stringify(body);
  return {
    method,
    headers: {
      accept: 'application/json',
      ...(payload === undefined ? {} : { 'content-type': type }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(payload === undefined ? {} : { body: payload }),
    // A session follows no redirect to another host.
    redirect: 'manual',
  };
}

function parseBody(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = text === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** In its own words, of OAuth or of its API, where it has some. */
function sayWhy(body: Record<string, unknown> | undefined): string {
  if (!body) return ' with something other than JSON.';
  const words = [body.message, body.error_description].find((one) => typeof one === 'string' && one !== '');
  return words === undefined ? '.' : `: ${String(words).slice(0, MOST_WORDS)}`;
}

function reasonOf(cause: unknown, message: string): string {
  const { code, message: reason } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' ? 'nothing listens there' : (reason ?? message);
}

function unavailable(message: string): CliError {
  return new CliError('control_plane_unavailable', message, {
    suggestion: 'Check the address and the network, then try again.',
  });
}
