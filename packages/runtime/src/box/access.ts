import { createAuth } from '../auth/auth.ts';
import type { Auth } from '../auth/auth.ts';
import { createKeySet } from '../auth/key-set.ts';
import { byWayIn, KEYS_ONLY, OPEN } from '../auth/strategy.ts';
import { createUserTokens } from '../auth/user-tokens.ts';
import type { CatalogOverrides } from '../catalog/overrides.ts';
import { readUserId, readWho, toLimitedUser, whoOfAgent } from '../limits/limits.ts';
import type { Limited } from '../limits/limits.ts';
import { createCountingKv } from '../stores/kv-counting.ts';
import type { Rooms } from '../surface/rooms.ts';
import type { Ground } from './ground.ts';

/** Who calls, by the strategy of the host, by keys, and by tokens of the users of those who hold keys. */
export function createBoxAuth({ options, kv, keys, limiter, log }: Ground & Pick<Rooms, 'keys'>): Auth {
  const users = createUserTokens({
    speakers: keys,
    provider: options.users ?? (() => undefined),
    openKeySet: (url) => createKeySet({ url, log, now: Date.now, of: 'the issuer of user tokens' }),
    now: Date.now,
  });
  const own = options.strategy ?? (options.host === 'dev' ? OPEN : KEYS_ONLY);
  const strategy = options.tunnel ? byWayIn(own, options.tunnel.strategy) : own;
  return createAuth({ strategy, keys, users, limiter, kv: createCountingKv(kv) });
}

/** Finds what usage is counted for, with its limits: a key, a user or an agent. */
export function createLimitedFinder({
  catalog,
  keys,
  overrides,
}: Pick<Rooms, 'catalog' | 'keys'> & { overrides: CatalogOverrides }): (who: string) => Promise<Limited | undefined> {
  const findAgent = async (name: string): Promise<Limited | undefined> => {
    const loaded = catalog.findAgent(name);
    const chosen = loaded && (await overrides.find('agent', name)).limits;
    const limits = chosen ?? loaded?.definition?.agent.limits;
    return limits && { id: whoOfAgent(name), name: `The agent "${name}"`, limits };
  };
  return async (who) => {
    const { kind, id } = readWho(who);
    if (kind === 'key') return keys.findLimited(id);
    if (kind === 'agent') return findAgent(id);
    if (kind === 'model') return undefined;
    const { client, user } = readUserId(id);
    const limits = await keys.findUserLimits(client);
    return limits && toLimitedUser(client, user, limits);
  };
}
