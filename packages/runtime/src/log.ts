/** One structured record. `error` may be an Error; everything else is plain data. */
export type LogFields = Record<string, unknown>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Writes one JSON line per record at or above `level`. */
export function createLog(options: { level: LogLevel | 'silent'; write(line: string): void }): Log {
  const least = options.level === 'silent' ? Infinity : RANK[options.level];
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (RANK[level] < least) return;
      options.write(JSON.stringify({ time: new Date().toISOString(), level, message, ...plain(fields) }));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The same log with these fields in every record, before its own. */
export function withFields(log: Log, fixed: LogFields): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => log[level](message, { ...fixed, ...fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

// --- internal ---

function plain(fields: LogFields): LogFields {
  const { error } = fields;
  if (!(error instanceof Error)) return fields;
  return { ...fields, error: { name: error.name, message: error.message, stack: error.stack } };
}
