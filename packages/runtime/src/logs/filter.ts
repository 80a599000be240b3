import type { Hidden } from '../auth/visibility.ts';
import type { LogLevel } from '../log.ts';
import { CLIENT, LEVEL_NUMBERS, USER } from './entry.ts';
import type { LogEntry } from './entry.ts';

export interface LogFilter {
  /** That one and above. */
  level?: LogLevel;
  runId?: string;
  sessionId?: string;
  name?: string;
  step?: string;
  /** A text that the message or the fields contain, in any case of its letters. */
  text?: string;
  /** Of runs that the application had started, and those of its users. */
  client?: string;
  user?: string;
  from?: Date;
  to?: Date;
  /** Leaves out records of runs that carry this mark, unless its value is this text. */
  hidden?: Hidden;
}

/** What the store's `where` says, of one entry in memory. */
export function createMatch(filter: LogFilter): (entry: LogEntry) => boolean {
  const { level = 'debug', runId, sessionId, name, step, client, user, from, to, hidden } = filter;
  const text = filter.text?.toLowerCase();
  return (entry) => {
    if (LEVEL_NUMBERS[entry.level] < LEVEL_NUMBERS[level]) return false;
    if (runId !== undefined && entry.runId !== runId) return false;
    if (sessionId !== undefined && entry.sessionId !== sessionId) return false;
    if (name !== undefined && entry.name !== name) return false;
    if (step !== undefined && entry.step !== step) return false;
    if (client !== undefined && entry.fields?.[CLIENT] !== client) return false;
    if (user !== undefined && entry.fields?.[USER] !== user) return false;
    if (hidden && (entry.fields?.[hidden.mark] ?? hidden.unless) !== hidden.unless) return false;
    const at = from || to ? Date.parse(entry.at) : 0;
    if ((from && at < from.getTime()) || (to && at >= to.getTime())) return false;
    return text === undefined || textOf(entry).includes(text);
  };
}

// --- internal ---

function textOf({ message, fields }: LogEntry): string {
  return `${message}\n${fields ? JSON.stringify(fields) : ''}`.toLowerCase();
}
