import type { ApiKeys } from './api-keys.ts';
import { requireGrant, requirePermission } from './caller.ts';
import type { Caller } from './caller.ts';
import { isApiKey, needCredential, readCredential } from './credential.ts';
import type { Audience, Strategy } from './strategy.ts';

/** The one place where a request becomes a caller. */
export interface Auth {
  /** Throws `unauthorized`. */
  authenticate(headers: Headers, audience?: Audience): Promise<Caller>;
  /**
   * For the chat wires: some key is needed on any box. Throws `unauthorized`, and `forbidden` for an agent that is not
   * granted, or a person whose role may not chat.
   */
  authorize(headers: Headers, agent?: string): Promise<Caller>;
}

export function createAuth({ strategy, keys }: { strategy: Strategy; keys: Pick<ApiKeys, 'verify'> }): Auth {
  const authenticate = async (headers: Headers, audience: Audience = 'box'): Promise<Caller> => {
    const credential = readCredential(headers);
    if (strategy.checksKeys && credential !== undefined && isApiKey(credential)) return keys.verify(credential);
    return strategy.authenticate(credential, audience);
  };
  return {
    authenticate,
    async authorize(headers, agent) {
      needCredential(headers);
      const caller = await authenticate(headers);
      if (caller.role !== null) requirePermission(caller, 'agents:chat');
      if (agent !== undefined) requireGrant(caller, 'agents', agent);
      return caller;
    },
  };
}
