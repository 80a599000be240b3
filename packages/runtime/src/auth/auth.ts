import type { ApiKeys } from './api-keys.ts';
import { requireGrant } from './caller.ts';
import type { Caller } from './caller.ts';
import { isApiKey, needCredential, readCredential } from './credential.ts';
import type { Strategy } from './strategy.ts';

/** The one place where a request becomes a caller. */
export interface Auth {
  /** Throws `unauthorized`. */
  authenticate(headers: Headers): Promise<Caller>;
  /** For the chat wires: some key is needed on any box. Throws `unauthorized`, and `forbidden` for an agent that is not granted. */
  authorize(headers: Headers, agent?: string): Promise<Caller>;
}

export function createAuth({ strategy, keys }: { strategy: Strategy; keys: Pick<ApiKeys, 'verify'> }): Auth {
  const authenticate = async (headers: Headers): Promise<Caller> => {
    const credential = readCredential(headers);
    if (strategy.checksKeys && credential !== undefined && isApiKey(credential)) return keys.verify(credential);
    return strategy.authenticate(credential);
  };
  return {
    authenticate,
    async authorize(headers, agent) {
      needCredential(headers);
      const caller = await authenticate(headers);
      if (agent !== undefined) requireGrant(caller, 'agents', agent);
      return caller;
    },
  };
}
