/** What the functions of `workflow/api` throw. `is` also knows one that comes from the journal. */
export class WorkflowError extends Error {
  override readonly name: string = 'WorkflowError';

  static is(value: unknown): value is WorkflowError {
    return isNamed(value, 'WorkflowError') || value instanceof WorkflowError;
  }
}

export class WorkflowRunNotFoundError extends WorkflowError {
  override readonly name = 'WorkflowRunNotFoundError';
  readonly runId: string;

  constructor(runId: string) {
    super(`There is no run "${runId}".`);
    this.runId = runId;
  }

  static override is(value: unknown): value is WorkflowRunNotFoundError {
    return isNamed(value, 'WorkflowRunNotFoundError');
  }
}

/** The run was waited for and has failed; its error is the cause. */
export class WorkflowRunFailedError extends WorkflowError {
  override readonly name = 'WorkflowRunFailedError';
  readonly runId: string;
  declare readonly cause: Error & { code?: string };

  constructor(runId: string, cause: unknown) {
    const reason = cause instanceof Error ? cause : new Error(String(cause));
    super(`The run "${runId}" has failed: ${reason.message}`, { cause: reason });
    this.runId = runId;
  }

  static override is(value: unknown): value is WorkflowRunFailedError {
    return isNamed(value, 'WorkflowRunFailedError');
  }
}

export class WorkflowRunCancelledError extends WorkflowError {
  override readonly name = 'WorkflowRunCancelledError';
  readonly runId: string;

  constructor(runId: string) {
    super(`The run "${runId}" was cancelled.`);
    this.runId = runId;
  }

  static override is(value: unknown): value is WorkflowRunCancelledError {
    return isNamed(value, 'WorkflowRunCancelledError');
  }
}

/** There is no open hook with the token. */
export class HookNotFoundError extends WorkflowError {
  override readonly name = 'HookNotFoundError';
  readonly token: string;

  constructor(token: string) {
    super(`A hook with the token "${token}" was not found, or is not open any more.`);
    this.token = token;
  }

  static override is(value: unknown): value is HookNotFoundError {
    return isNamed(value, 'HookNotFoundError');
  }
}

/** Awaiting a hook whose token another run has throws an error of this name. */
export class HookConflictError extends WorkflowError {
  override readonly name = 'HookConflictError';

  static override is(value: unknown): value is HookConflictError {
    return isNamed(value, 'HookConflictError');
  }
}

// --- internal ---

function isNamed(value: unknown, name: string): boolean {
  return value instanceof Error && value.name === name;
}
