import { createHash, timingSafeEqual } from 'node:crypto';
import { currentRequest } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import { OPERATOR, OWNER } from './caller.ts';
import type { Caller } from './caller.ts';
import type { Audience, IdentityTokens } from './identity-tokens.ts';

/** How a box finds out who calls it, apart from API keys. Exactly one is armed. */
export interface Strategy {
  /** As the boot log names it. */
  name: string;
  /** False: only where the box has keys, and whatever else a request carries lets it in. */
  checksKeys: boolean;
  /** One credential lets in: whoever tries others is guessing. */
  isOneToken?: true;
  /** `credential`: what the request carries, never an API key that is to be checked. Throws `unauthorized`. */
  authenticate(credential: string | undefined, audience: Audience): Promise<Caller>;
}

/** Dev: whoever calls is the owner, but for whoever presents what is to be a key of the box. */
export const OPEN: Strategy = {
  name: 'none: everybody is the owner',
  checksKeys: false,
  authenticate: async () => OWNER,
};

/** API keys alone let anyone in. */
export const KEYS_ONLY: Strategy = {
  name: 'API keys only',
  checksKeys: true,
  async authenticate(credential) {
    throw credential === undefined ? noCredential() : unknownCredential();
  },
};

/** One token, and whoever presents it is the operator; identity tokens are refused like any other text. */
export function operatorToken(token: string): Strategy {
  const digest = sha256(token);
  return {
    name: 'operator token (STUDIO_STANDALONE_TOKEN)',
    checksKeys: true,
    isOneToken: true,
    async authenticate(credential) {
      if (credential === undefined) throw noCredential();
      if (timingSafeEqual(sha256(credential), digest)) return OPERATOR;
      throw unknownCredential();
    },
  };
}

/** Tokens the control plane signs, each for one person, one box and five minutes. */
export function identityTokens(tokens: IdentityTokens): Strategy {
  return {
    name: `identity tokens of ${tokens.issuer}`,
    checksKeys: true,
    async authenticate(credential, audience) {
      if (credential === undefined) throw noCredential();
      return tokens.verify(credential, audience);
    },
  };
}

/**
 * Two ways in, each with its own strategy: what came through a tunnel never gets what the machine of the developer does. A
 * request that is not known to have come straight to the box is one from outside.
 */
export function byWayIn(inside: Strategy, outside: Strategy): Strategy {
  const current = (): Strategy => (currentRequest()?.isTunnelled === false ? inside : outside);
  return {
    name: `${inside.name}; through the tunnel ${outside.name}`,
    get checksKeys() {
      return current().checksKeys;
    },
    authenticate: async (credential, audience) => current().authenticate(credential, audience),
  };
}

// --- internal ---

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function noCredential(): BoxError {
  return new BoxError(
    'unauthorized',
    'This route needs a credential. Send it as "Authorization: Bearer <credential>".',
  );
}

function unknownCredential(): BoxError {
  return new BoxError('unauthorized', 'The credential is not one this box knows.');
}
