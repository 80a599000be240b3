/** What a refusal says. */
export interface Refusal {
  code?: string;
  message?: string;
  details?: Record<string, unknown>;
  requestId?: string;
}

/** What a box refused. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: string;
  readonly status: number;
  readonly details: Record<string, unknown> | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: Refusal) {
    super(body.message ?? `The box answered ${status}.`);
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.details = body.details;
    this.requestId = body.requestId;
  }
}

/** A run, or a turn of an agent, that has not come to its end: it failed, was cancelled, or takes too long. */
export class ClientRunError extends Error {
  override readonly name = 'ClientRunError';
  /** Of the run's own error: `run_failed`, `run_cancelled`, `model_provider_failed` …; `run_not_final`: it goes on. */
  readonly code: string;
  /** Undefined: there is none yet, as of a start that waits in a queue. */
  readonly runId: string | undefined;

  constructor(code: string, message: string, runId?: string) {
    super(message);
    this.code = code;
    this.runId = runId;
  }
}
