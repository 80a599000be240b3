import { planeStrategy } from '../auth/plane-strategy.ts';
import { OPEN, operatorToken } from '../auth/strategy.ts';
import type { Strategy } from '../auth/strategy.ts';
import type { Log } from '../log.ts';
import type { BoxEnvironment } from './environment.ts';
import type { Identity } from './identity.ts';

/** The one strategy the environment arms. */
export function armGate(environment: BoxEnvironment, identity: Identity, log: Log): Strategy {
  const { insecureLocal, standaloneToken, controlPlaneUrl: issuer } = environment;
  if (insecureLocal) return OPEN;
  if (standaloneToken !== undefined) return operatorToken(standaloneToken);
  return planeStrategy({ issuer, installationId: identity.installationId, log });
}
