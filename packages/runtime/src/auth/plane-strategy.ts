import type { Log } from '../log.ts';
import { createIdentityTokens, keySetUrl } from './identity-tokens.ts';
import { createKeySet } from './key-set.ts';
import { identityTokens } from './strategy.ts';
import type { Strategy } from './strategy.ts';

export interface PlaneStrategyOptions {
  /** The address of the control plane, without a slash at the end. */
  issuer: string;
  installationId: string;
  log: Log;
}

/** People a control plane vouches for, at one installation. */
export function planeStrategy({ issuer, installationId, log }: PlaneStrategyOptions): Strategy {
  const keys = createKeySet({ url: keySetUrl(issuer), log, now: Date.now });
  return identityTokens(createIdentityTokens({ issuer, installationId, keys, now: Date.now }));
}
