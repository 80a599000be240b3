import { createHash, randomBytes } from 'node:crypto';

/** What secrets that are shown once begin with, so that a reader of one, or a scanner of repositories, knows what it is. */
export const PREFIX = { session: 'svs_', invite: 'svi_', personal: 'svp_' } as const;

/** 256 random bits behind a prefix. */
export function makeSecret(kind: keyof typeof PREFIX): string {
  return `${PREFIX[kind]}${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a secret: it is random, so that no slow hash is needed to keep it from being guessed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
