import { BoxError } from '../errors.ts';

/** What any caller may read of a failed probe: no host, no user, no name of anything inside. */
export function toReason(error: unknown): string {
  if (error instanceof ProbeTimeout) return error.message;
  const refused = toRefusal(error);
  if (refused !== undefined) return refused;
  const codes = codesOf(error);
  if (codes.some((code) => REFUSED.has(code))) return 'It refuses the credentials of the box.';
  if (codes.includes('store_full') || codes.includes('53100')) return 'Its disk is full.';
  if (codes.some((code) => UNREACHABLE.has(code))) return 'It cannot be reached.';
  return 'It does not work as it should. The log of the box says why.';
}

/** A probe that has not answered in time. */
export class ProbeTimeout extends Error {
  override readonly name = 'ProbeTimeout';
}

// --- internal ---

const UNREACHABLE = new Set([
  'store_unavailable',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** Of PostgreSQL: `invalid_password` and `invalid_authorization_specification`. */
const REFUSED = new Set(['28P01', '28000']);

/** An object storage says by a code of its own what is wrong, and names nothing. */
function toRefusal(error: unknown): string | undefined {
  if (!(error instanceof BoxError) || error.code !== 'storage_refused') return undefined;
  const { status, code } = (error.details ?? {}) as { status?: unknown; code?: unknown };
  if (typeof status !== 'number') return undefined;
  return `It refuses the box: ${status}${typeof code === 'string' && /^\w{1,60}$/.test(code) ? ` ${code}` : ''}.`;
}

/** Of the error and what is behind it. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth++) {
    const { code } = inner as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
  }
  return codes;
}
