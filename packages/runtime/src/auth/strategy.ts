import { BoxError } from '../errors.ts';
import { OWNER } from './caller.ts';
import type { Caller } from './caller.ts';

/** How a box finds out who calls it, apart from API keys. Exactly one is armed. */
export interface Strategy {
  /** As the boot log names it. */
  name: string;
  /** False: keys are not looked at either. */
  checksKeys: boolean;
  /** `credential`: what the request carries, never an API key that is to be checked. Throws `unauthorized`. */
  authenticate(credential: string | undefined): Promise<Caller>;
}

/** Dev: whoever calls is the owner. */
export const OPEN: Strategy = { name: 'none', checksKeys: false, authenticate: async () => OWNER };

/** API keys alone let anybody in. */
export const KEYS_ONLY: Strategy = {
  name: 'API keys only',
  checksKeys: true,
  async authenticate(credential) {
    throw new BoxError(
      'unauthorized',
      credential === undefined
        ? 'This route needs a credential. Send it as "Authorization: Bearer <credential>".'
        : 'The credential is not one this box knows.',
    );
  },
};
