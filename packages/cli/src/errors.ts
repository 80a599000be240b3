/** What a command ends with. Scripts read these: a value never changes. */
export const EXIT = {
  ok: 0,
  generic: 1,
  auth: 2,
  noTarget: 3,
  notFound: 4,
  interrupted: 130,
} as const;

/** The codes of the command line itself, and what it ends with. A box's own codes pass through it unchanged. */
export const CLI_CODES = {
  generic: {
    exitCode: EXIT.generic,
    meaning: 'A wrong flag, argument or verb, a busy port, or a bug; the message says which.',
  },
  invalid_json: { exitCode: EXIT.generic, meaning: 'What --input or --input-file holds is not JSON.' },
  file_unreadable: { exitCode: EXIT.generic, meaning: 'The file of --input-file cannot be read.' },
  already_exists: { exitCode: EXIT.generic, meaning: 'What is to be made is there already; --force replaces it.' },
  name_invalid: { exitCode: EXIT.generic, meaning: 'A name has characters or a length that no name may have.' },
  name_refused: {
    exitCode: EXIT.generic,
    meaning: 'A name that is taken by the box, or by a package the workspace needs.',
  },
  flag_removed: {
    exitCode: EXIT.generic,
    meaning: 'A flag of an earlier version; the message says what took its place.',
  },
  write_failed: { exitCode: EXIT.generic, meaning: 'A file of a workspace cannot be written; nothing was kept.' },
  install_failed: { exitCode: EXIT.generic, meaning: 'The workspace is made, and the install of its packages failed.' },
  unsupported_platform: { exitCode: EXIT.generic, meaning: 'Node is too old, or this is a native Windows shell.' },
  no_project: { exitCode: EXIT.noTarget, meaning: 'The folder is not a workspace.' },
  manifest_invalid: { exitCode: EXIT.generic, meaning: 'svc.json is not usable.' },
  journal_unavailable: { exitCode: EXIT.generic, meaning: 'The runs are in a SQLite file and no SQLite opens here.' },
  build_failed: {
    exitCode: EXIT.generic,
    meaning: 'An agent or svc.config.ts does not compile, or the folder of --out is in use.',
  },
  check_failed: { exitCode: EXIT.generic, meaning: 'The code of the workspace has problems.' },
  contract_invalid: { exitCode: EXIT.generic, meaning: 'The workspace needs what the box does not offer.' },
  dev_not_running: { exitCode: EXIT.noTarget, meaning: 'No dev runtime answers on its address.' },
  no_deployment: { exitCode: EXIT.noTarget, meaning: '--agent names no registered deployment.' },
  not_signed_in: { exitCode: EXIT.auth, meaning: 'Something other than a box answered 401.' },
  forbidden: { exitCode: EXIT.generic, meaning: 'Something other than a box answered 403.' },
  not_found: { exitCode: EXIT.notFound, meaning: 'Something other than a box answered 404, or no name can be meant.' },
} as const satisfies Record<string, { exitCode: number; meaning: string }>;

export interface CliErrorOptions {
  /** What to do next, one sentence. Absent: the sentence of the code. */
  suggestion?: string;
  details?: Record<string, unknown>;
  /** Absent: the one of the code in `CLI_CODES`, else 1. */
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
    this.suggestion = options.suggestion ?? findSuggestion(code) ?? FALLBACK_SUGGESTION;
    this.details = options.details ?? {};
    this.exitCode = options.exitCode ?? findOwn(code)?.exitCode ?? EXIT.generic;
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

/** What to do about a code, where one sentence fits every case of it. */
export function findSuggestion(code: string): string | undefined {
  return SUGGESTIONS[code];
}

// --- internal ---

function findOwn(code: string): { exitCode: number } | undefined {
  return Object.hasOwn(CLI_CODES, code) ? CLI_CODES[code as keyof typeof CLI_CODES] : undefined;
}

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
  store_full: 'Free some space on the disk of the store; runs go on by themselves then.',
  shutting_down: 'Start the box again, then repeat the command.',
  internal: 'Look for the request id in the log of the box.',
};
