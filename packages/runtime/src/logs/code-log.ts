import { currentContext } from '../engine/context.ts';
import type { Log, LogFields, LogLevel } from '../log.ts';

/** What code of a workspace logs with. A body says a line once: not again when it is replayed. */
export const codeLog: Log = {
  debug: (message, fields) => write('debug', message, fields),
  info: (message, fields) => write('info', message, fields),
  warn: (message, fields) => write('warn', message, fields),
  error: (message, fields) => write('error', message, fields),
};

// --- internal ---

function write(level: LogLevel, message: string, fields?: LogFields): void {
  const context = currentContext();
  // Called by a test, or while a module is loaded.
  if (!context) return void console[level](message, ...(fields === undefined ? [] : [fields]));
  const { execution } = context;
  if (context.kind === 'body' && execution.isRepeating) return;
  const step = context.kind === 'step' ? { step: context.stepName } : {};
  execution.ambient.log({ level, message, ...(fields === undefined ? {} : { fields }), run: execution.run, ...step });
}
