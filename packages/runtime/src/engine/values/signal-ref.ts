/** An AbortSignal of a body, or its controller, as a step is given it. */
export interface SignalRef {
  /** Which of its run. */
  id: number;
  isController: boolean;
  aborted: boolean;
  reason?: unknown;
}

/** A step has called `abort()` of a controller of its body. */
export interface Abort {
  id: number;
  reason: unknown;
}

/** The signals of one run that its steps are given. */
export interface SignalsOfRun {
  /** Which one it is: they are counted as the body hands them out. */
  idOf(signal: AbortSignal, controller: AbortController | undefined): number;
  /** What an attempt of a step has in its place; undefined: the body has handed out none of this number. */
  viewFor(attempt: { readonly call: number }, id: number): AbortController | undefined;
  /** A step aborts: the other steps see it at once, the body with the answer of this one. */
  abortFrom(call: number, abort: Abort): void;
}
