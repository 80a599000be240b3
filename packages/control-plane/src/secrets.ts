import { createHash, createHmac, randomBytes } from 'node:crypto';

/** What secrets that are shown once begin with, so that a reader of one, or a scanner of repositories, knows what it is. */
export const PREFIX = {
  session: 'svs_',
  invite: 'svi_',
  personal: 'svp_',
  device: 'svd_',
  access: 'sva_',
  refresh: 'svr_',
} as const;

/** 256 random bits behind a prefix. */
export function makeSecret(kind: keyof typeof PREFIX): string {
  return `${PREFIX[kind]}${randomBytes(32).toString('base64url')}`;
}

/**
 * The secret that follows another one. The same each time, so that it can be answered again; only who has both the other one
 * and the random `salt` of its row, which are never in one place, can make it.
 */
export function deriveSecret(kind: keyof typeof PREFIX, { from, salt }: { from: string; salt: string }): string {
  return `${PREFIX[kind]}${createHmac('sha256', salt).update(`${kind} ${from}`).digest('base64url')}`;
}

export function makeSalt(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of a secret: it is random, so that no slow hash is needed to keep it from being guessed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
