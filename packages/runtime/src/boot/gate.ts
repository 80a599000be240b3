import { createIdentityTokens, keySetUrl } from '../auth/identity-tokens.ts';
import { createKeySet } from '../auth/key-set.ts';
import { identityTokens, OPEN, operatorToken } from '../auth/strategy.ts';
import type { Strategy } from '../auth/strategy.ts';
import type { Log } from '../log.ts';
import type { BoxEnvironment } from './environment.ts';
import type { Identity } from './identity.ts';

/** The one strategy the environment arms. */
export function armGate(environment: BoxEnvironment, identity: Identity, log: Log): Strategy {
  const { insecureLocal, standaloneToken, controlPlaneUrl: issuer } = environment;
  if (insecureLocal) return OPEN;
  if (standaloneToken !== undefined) return operatorToken(standaloneToken);
  const keys = createKeySet({ url: keySetUrl(issuer), log, now: Date.now });
  return identityTokens(createIdentityTokens({ issuer, installationId: identity.installationId, keys, now: Date.now }));
}
