import { createMask } from './mask.ts';
import type { Mask } from './mask.ts';
import { redact } from './redact.ts';

/** One structured record. `error` may be an Error; everything else is plain data. */
export type LogFields = Record<string, unknown>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether records of that level are written, for what is costly to say. Absent: they are not. */
  writes?(level: LogLevel): boolean;
}

/** A record as it is written and kept: plain data without secrets. */
export interface LogRecord extends LogFields {
  time: string;
  level: LogLevel;
  message: string;
}

/** A log whose records others may have, too. */
export interface RootLog extends Log {
  /** Hands over every record at or above `level`, whatever is written. Answers how to end it. */
  listen(level: LogLevel, onRecord: (record: LogRecord) => void): () => void;
}

export interface LogOptions {
  level: LogLevel | 'silent';
  write(line: string): void;
  /** Default: knows no secret by its value. */
  mask?: Mask;
}

/** Writes one JSON line per record at or above `level`. Secrets are taken out before anyone gets the record. */
export function createLog({ level: least, write, mask = createMask() }: LogOptions): RootLog {
  const writer: Listener = { least: rankOf(least), onRecord: (record) => write(JSON.stringify(record)) };
  const listeners = new Set([writer]);
  return {
    ...toLog((level, message, fields) => {
      const heard = [...listeners].filter((listener) => RANK[level] >= listener.least);
      if (heard.length === 0) return;
      const record = redact({ time: new Date().toISOString(), level, message, ...fields }, mask) as LogRecord;
      for (const { onRecord } of heard) onRecord(record);
    }),
    writes: (level) => RANK[level] >= writer.least,
    listen(level, onRecord) {
      const listener = { least: rankOf(level), onRecord };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The same log with these fields in every record, before its own. A function is asked for each record. */
export function withFields(log: Log, given: LogFields | (() => LogFields)): Log {
  const fixed = typeof given === 'function' ? given : () => given;
  return {
    ...toLog((level, message, fields) => log[level](message, { ...fixed(), ...fields })),
    ...(log.writes ? { writes: (level) => log.writes?.(level) ?? false } : {}),
  };
}

// --- internal ---

interface Listener {
  least: number;
  onRecord(record: LogRecord): void;
}

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

function rankOf(level: LogLevel | 'silent'): number {
  return level === 'silent' ? Infinity : RANK[level];
}

function toLog(at: (level: LogLevel, message: string, fields?: LogFields) => void): Log {
  return {
    debug: (message, fields) => at('debug', message, fields),
    info: (message, fields) => at('info', message, fields),
    warn: (message, fields) => at('warn', message, fields),
    error: (message, fields) => at('error', message, fields),
  };
}
