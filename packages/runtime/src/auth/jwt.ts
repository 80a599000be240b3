import { BoxError } from '../errors.ts';

/** Fixed here: a header chooses among them and adds nothing. */
export const PUBLIC_KEY_ALGORITHMS = ['EdDSA', 'ES256', 'RS256'];
/** How far another clock may be from this one. */
export const SKEW_S = 30;

/** A part of a token that nothing has been checked of yet. */
export type Unchecked = Record<string, unknown>;

/** What a token says of itself, before anything of it is checked. Undefined: it is none. */
export function peekToken(token: string): { header: Unchecked; payload: Unchecked } | undefined {
  const parts = token.split('.', 4);
  if (parts.length !== 3 || token.length > LONGEST) return undefined;
  const [header, payload] = parts.map(readPart);
  return header && payload && { header, payload };
}

export function isClaimText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT;
}

/** Who signs a kind of token, as a refusal says it. */
export interface Signer {
  /** `of another control plane` */
  other: string;
  /** `not signed by the control plane` */
  unsigned: string;
}

/** Why a token does not verify. */
export function toReason(error: unknown, { other, unsigned }: Signer): string {
  const { code, claim } = error as { code?: string; claim?: string };
  if (code === 'ERR_JWT_EXPIRED') return OVER;
  if (claim === 'aud') return 'for another address than this';
  if (claim === 'iss') return other;
  if (claim === 'iat' || claim === 'nbf') return 'from another time: the clock here, or of who signed it, is off';
  if (claim !== undefined) return `not complete: "${claim}"`;
  return unsigned;
}

export function tokenRefused(why: string): BoxError {
  // An `expired` one is the client's to replace; about the others it can do nothing.
  const options = why === OVER ? { details: { reason: 'expired' } } : {};
  return new BoxError('unauthorized', `The credential is not accepted: it is ${why}.`, options);
}

// --- internal ---

const OVER = 'over';
const MAX_TEXT = 256;
/** More than headers of a request may hold. */
const LONGEST = 32_768;

function readPart(part: string): Unchecked | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Unchecked) : undefined;
  } catch {
    return undefined;
  }
}
