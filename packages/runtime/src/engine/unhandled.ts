import { currentAsked, currentContext } from './context.ts';

/**
 * A promise of a run's code that failed and that nothing has awaited ends no process: it may be awaited later, and if it
 * is not, the log of the run says so. What fails outside of any run ends the process, as in Node.
 */
export function installUnhandled(): void {
  if (process.listeners('unhandledRejection').includes(onUnhandled)) return;
  process.on('unhandledRejection', onUnhandled);
}

/** What was thrown, in a sentence; of an error with what `more` says of it. Never throws. */
export function textOfThrown(thrown: unknown, more: (error: Error) => string = () => ''): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}${more(thrown)}` : String(thrown);
  } catch {
    return 'a value without a text';
  }
}

// --- internal ---

function onUnhandled(reason: unknown): void {
  const asked = currentAsked();
  if (asked) return asked.crash(reason);
  const context = currentContext();
  if (!context) {
    // Where others listen it is theirs to decide.
    if (process.listenerCount('unhandledRejection') === 1) throw reason;
    return;
  }
  const { execution } = context;
  if (execution.hasLeft || execution.isReplaying) return;
  const step = context.kind === 'step' ? context.stepName : undefined;
  const message = `A promise failed before anything awaited it: ${textOfThrown(reason)}`;
  execution.ambient.log({ level: 'warn', message, run: execution.run, ...(step === undefined ? {} : { step }) });
}
