/** What a command ends with. Scripts read these: a value never changes. */
export const EXIT = {
  ok: 0,
  generic: 1,
  auth: 2,
  noTarget: 3,
  notFound: 4,
  interrupted: 130,
} as const;

export interface CliErrorOptions {
  /** What to do next, one sentence. Absent: the sentence of the code. */
  suggestion?: string;
  details?: Record<string, unknown>;
  /** Absent: 1. */
  exitCode?: number;
  /** The box's name for the request that failed. */
  requestId?: string;
}

/** A failure a person can act on. Whatever else is thrown is a bug and is reported as `generic`. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;
  readonly suggestion: string;
  readonly details: Record<string, unknown>;
  readonly exitCode: number;
  readonly requestId: string | undefined;

  constructor(code: string, message: string, options: CliErrorOptions = {}) {
    super(message);
    this.code = code;
    this.suggestion = options.suggestion ?? SUGGESTIONS[code] ?? FALLBACK_SUGGESTION;
    this.details = options.details ?? {};
    this.exitCode = options.exitCode ?? EXIT.generic;
    this.requestId = options.requestId;
  }
}

/**
 * Reads anything thrown as a CliError. An error that carries its own `code` and `exitCode` keeps both; the code of a
 * system error (`ENOENT`) is not one of ours, so that error becomes `generic`.
 */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (!(error instanceof Error)) return new CliError('generic', String(error), { suggestion: BUG_SUGGESTION });
  const { code, exitCode, suggestion, details, requestId } = error as Partial<CliError>;
  if (typeof code !== 'string' || typeof exitCode !== 'number') {
    return new CliError('generic', error.message || error.name, { suggestion: BUG_SUGGESTION });
  }
  return new CliError(code, error.message, {
    exitCode,
    ...(suggestion ? { suggestion } : {}),
    ...(details ? { details } : {}),
    ...(requestId ? { requestId } : {}),
  });
}

/** A wrong flag, argument or verb: `generic`, exit 1. */
export function usageError(message: string, suggestion: string): CliError {
  return new CliError('generic', message, { suggestion });
}

// --- internal ---

const FALLBACK_SUGGESTION = 'Run the command again with --verbose to see the request.';
const BUG_SUGGESTION = 'Run the command again with --verbose to see where it failed.';

const SUGGESTIONS: Record<string, string | undefined> = {
  not_signed_in: 'Run `svc login`, then try again.',
  unauthorized: 'Run `svc login`, then try again.',
  forbidden: 'Ask an owner or admin of the organization for the role this needs.',
  not_found: 'Check the name or id; `svc workflows list` and `svc runs list` show what there is.',
  run_not_found: 'Run `svc runs list` to see the runs of this box.',
  workflow_not_found: 'Run `svc workflows list` to see the names.',
  workflow_input_invalid: 'Run `svc workflows schema <name>` to see what the workflow accepts.',
  workflow_guardrail_blocked: 'Change the input, or ask an owner or admin to change the guardrail.',
  workflow_compile_failed: 'Fix the error `svc dev` prints for this workflow; it reloads when the file is saved.',
  workflow_runtime_not_armed: 'Configure a model provider; `svc dev` prints how when it starts.',
  invalid_cursor: 'Leave --cursor out to start from the first page.',
  model_provider_missing: 'Configure a model provider; `svc dev` prints how when it starts.',
  store_unavailable: 'Look at GET /health of the box; it names the store and why.',
  shutting_down: 'Start the box again, then repeat the command.',
  internal: 'Look for the request id in the log of the box.',
};
