import type { Schedule } from '../engine/journal/schedules.ts';
import { decode, encode } from '../engine/serialize.ts';
import type { BoxError } from '../errors.ts';

/** Why a timer that is due has fired nowhere yet. */
export interface JobWait {
  code: string;
  message: string;
}

/** A wait as it is stored, in the place of the last error. */
interface StoredWait extends JobWait {
  isWait: true;
}

/** @param error why this replica starts nothing */
export function encodeWait({ name }: Pick<Schedule, 'name'>, { code, message }: BoxError): string {
  const why = `It is due, and no replica that has tried can start workflow "${name}": one whose build can does so at its next look.`;
  return encode({ isWait: true, code, message: `${why} The one that tried last says: ${message}` }, 'error');
}

export function isWait(error: unknown): error is StoredWait {
  return typeof error === 'object' && error !== null && 'isWait' in error;
}

/** Undefined: it has been fired since it was left, or its time has been moved on. */
export function findWait(
  schedule: Pick<Schedule, 'isPaused' | 'lastError' | 'nextAt'>,
  now: number,
): JobWait | undefined {
  const { isPaused, lastError, nextAt } = schedule;
  if (isPaused || lastError === null || nextAt === null || nextAt > now) return undefined;
  const error = decode(lastError);
  return isWait(error) ? { code: error.code, message: error.message } : undefined;
}
