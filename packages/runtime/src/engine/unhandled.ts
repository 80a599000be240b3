import { currentAsked, currentContext } from './context.ts';

/**
 * A promise of a run's code that failed and that nothing has awaited ends no process: it may be awaited later, and if it
 * is not, the log of the run says so. What fails outside of any run ends the process, as Node has it.
 */
export function installUnhandled(): void {
  if (process.listeners('unhandledRejection').includes(onUnhandled)) return;
  process.on('unhandledRejection', onUnhandled);
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
  const message = `A promise failed before anything awaited it: ${textOf(reason)}`;
  execution.ambient.log({ level: 'warn', message, run: execution.run, ...(step === undefined ? {} : { step }) });
}

function textOf(reason: unknown): string {
  try {
    return reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
  } catch {
    return 'a value without a text';
  }
}
