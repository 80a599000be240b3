import { currentContext } from '../context.ts';

/** Thrown by `continueAsNew`. A body that catches it and does not throw it again goes on. */
export class ContinueAsNew extends Error {
  override readonly name = 'ContinueAsNew';
  readonly input: unknown;

  constructor(input: unknown) {
    super('The run continues as a new one.');
    this.input = input;
  }
}

/**
 * Ends this run and begins the next of its chain with another input, in one commit: for a workflow that never ends. Open
 * hooks with what they have not been asked for, attributes, children, locks and whoever waits go over to the next run.
 * Works in a workflow body only, and throws to leave it: `finally` blocks run.
 */
export function continueAsNew(input: unknown): never {
  const context = currentContext();
  if (context?.kind !== 'body') throw new Error('continueAsNew() works in a workflow body only.');
  throw new ContinueAsNew(input);
}
