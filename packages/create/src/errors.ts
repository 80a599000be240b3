export interface Remedy {
  /** What to do next, one sentence. */
  suggestion: string;
  details?: Record<string, unknown>;
  /** What a command ends with. Default 1. */
  exitCode?: number;
}

/** A failure a person can act on, and the base of every one the command line knows: what happened, and what to do next. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly code: string;
  readonly suggestion: string;
  readonly details: Record<string, unknown>;
  readonly exitCode: number;

  constructor(code: string, message: string, { suggestion, details = {}, exitCode = 1 }: Remedy) {
    super(message);
    this.code = code;
    this.suggestion = suggestion;
    this.details = details;
    this.exitCode = exitCode;
  }
}
