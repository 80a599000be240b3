import type { Log, LogFields } from '../log.ts';
import type { Caller } from './caller.ts';

/** What is written of who was let in, who was not, and who took or changed what others are let in by. */
export interface SecurityLog {
  /** A request was refused: `code` says why. */
  refused(refusal: Refusal): void;
  /** An operation was called that exports what is recorded, or changes credentials. */
  called(kind: 'exported' | 'credentials_changed', facts: CallFacts): void;
}

export interface Refusal {
  code: string;
  requestId?: string | undefined;
  route?: string | undefined;
  operation?: string;
  address?: string | undefined;
  /** Undefined: no caller was authenticated. */
  caller?: Pick<Caller, 'id' | 'name'> | undefined;
}

export interface CallFacts {
  operation: string;
  caller: Pick<Caller, 'id' | 'name'>;
  source: string;
  address?: string | undefined;
  target: Record<string, string>;
  requestId?: string | undefined;
}

export interface SecurityLogOptions {
  log: Log;
  /** Refusals of one address or caller that are written in a minute. Default 30. */
  mostLines?: number;
  /** Milliseconds that only grow. */
  now?(): number;
}

/** Each record has a member `security`, by which it is found among all others. */
export function createSecurityLog(options: SecurityLogOptions): SecurityLog {
  const { log, mostLines = 30, now = () => performance.now() } = options;
  const written = new Map<string, { until: number; lines: number; left: number }>();

  /** How many were left out before this one; undefined: it is left out, too. */
  const take = (who: string): number | undefined => {
    const own = written.get(who);
    if (own && now() < own.until) {
      const isLeftOut = own.lines >= mostLines;
      if (isLeftOut) own.left += 1;
      else own.lines += 1;
      return isLeftOut ? undefined : 0;
    }
    written.delete(who);
    written.set(who, { until: now() + MINUTE_MS, lines: 1, left: 0 });
    const [oldest] = written.keys();
    if (written.size > MOST_WHO && oldest !== undefined) written.delete(oldest);
    return own?.left ?? 0;
  };
  return {
    refused({ code, caller, ...facts }) {
      const leftOut = take(caller?.id ?? facts.address ?? '');
      if (leftOut === undefined) return;
      const [security, message] = toKind(code);
      const fields: LogFields = { security, code, ...facts, ...(caller ? { caller: toName(caller) } : {}) };
      log.warn(message, leftOut === 0 ? fields : { ...fields, leftOut });
    },
    called(kind, { caller, ...facts }) {
      log.info(MESSAGES[kind], { security: kind, ...facts, caller: toName(caller) });
    },
  };
}

// --- internal ---

const MINUTE_MS = 60_000;
const MOST_WHO = 10_000;

const MESSAGES = {
  exported: 'The history of a run was exported.',
  credentials_changed: 'Credentials were changed.',
} as const;

const KINDS: Record<string, readonly [security: string, message: string]> = {
  unauthorized: ['credential_refused', 'A credential was refused.'],
  invalid_signature: ['credential_refused', 'A signature was refused.'],
  rate_limited: ['credential_throttled', 'An address has tried too many credentials.'],
};

function toKind(code: string): readonly [security: string, message: string] {
  return KINDS[code] ?? ['denied', 'A caller was denied what it asked for.'];
}

function toName({ id, name }: Pick<Caller, 'id' | 'name'>): { id: string; name: string } {
  return { id, name };
}
