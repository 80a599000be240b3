import { requireGrant, requirePermission } from './caller.ts';
import type { Caller } from './caller.ts';
import { isApiKey, needCredentials, readCredential } from './credential.ts';
import type { Audience } from './identity-tokens.ts';
import type { Strategy } from './strategy.ts';

/** The one place where a request becomes a caller. */
export interface Auth {
  /** Throws `unauthorized`. */
  authenticate(headers: Headers, audience?: Audience): Promise<Caller>;
  /**
   * For the chat wires: some key is needed on any box. Clients of theirs may send two credentials, and either may be the
   * key. Throws `unauthorized`, and `forbidden` for an agent that is not
   * granted, or a person whose role may not chat.
   */
  authorize(headers: Headers, agent?: string): Promise<Caller>;
}

/** What knows the API keys: a room above. */
export interface KeyVerifier {
  /** Who holds the key. Throws `unauthorized` when it is unknown, revoked or expired. */
  verify(value: string): Promise<Caller>;
}

export function createAuth({ strategy, keys }: { strategy: Strategy; keys: KeyVerifier }): Auth {
  const authenticate = async (credential: string | undefined, audience: Audience): Promise<Caller> => {
    if (strategy.checksKeys && credential !== undefined && isApiKey(credential)) return keys.verify(credential);
    return strategy.authenticate(credential, audience);
  };
  const authenticateAny = async ([first, ...others]: readonly string[]): Promise<Caller> => {
    try {
      return await authenticate(first, 'box');
    } catch (error) {
      if (others.length === 0) throw error;
      return authenticateAny(others).catch(() => Promise.reject(error));
    }
  };
  return {
    authenticate: (headers, audience = 'box') => authenticate(readCredential(headers), audience),
    async authorize(headers, agent) {
      const caller = await authenticateAny(needCredentials(headers));
      if (caller.role !== null) requirePermission(caller, 'agents:chat');
      if (agent !== undefined) requireGrant(caller, 'agents', agent);
      return caller;
    },
  };
}
