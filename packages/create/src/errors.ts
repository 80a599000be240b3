export interface CreateErrorOptions {
  /** What to do next, one sentence. */
  suggestion: string;
  details?: Record<string, unknown>;
  /** What a command ends with. Default 1. */
  exitCode?: number;
}

/** A request that cannot be carried out. What was there before is there still, and nothing else. */
export class CreateError extends Error {
  override readonly name = 'CreateError';
  readonly code: string;
  readonly suggestion: string;
  readonly details: Record<string, unknown>;
  readonly exitCode: number;

  constructor(code: string, message: string, options: CreateErrorOptions) {
    super(message);
    this.code = code;
    this.suggestion = options.suggestion;
    this.details = options.details ?? {};
    this.exitCode = options.exitCode ?? 1;
  }
}
