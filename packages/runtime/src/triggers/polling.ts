import { createGuardedFetch } from '../connections/guarded-fetch.ts';
import type { Connections } from '../connections/connections.ts';
import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { createFetchFor } from '../provider/given-address.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { requirePollAddress } from './poll-address.ts';
import { createAsk } from './poll-request.ts';
import { createPollRows } from './poll-rows.ts';
import type { Poll } from './poll-settings.ts';
import { createPoller } from './poller.ts';
import type { Poller, PollerOptions } from './poller.ts';

export interface Polling extends Poller {
  /** Throws `connection_not_found`, and `trigger_invalid` for an address or a connection that a poll cannot be made with. */
  requireReachable(poll: Poll | null): Promise<void>;
}

export interface PollingOptions extends Omit<PollerOptions, 'polls' | 'ask'> {
  db: Drizzle;
  connections: Pick<Connections, 'get' | 'fetch'>;
  /** What polls may call. */
  egress: EgressPolicy;
}

/** The triggers that ask for themselves. */
export function createPolling({ db, connections, egress, ...options }: PollingOptions): Polling {
  const { limits } = options;
  const poller = createPoller({
    ...options,
    polls: createPollRows(db, limits),
    ask: createAsk({
      fetchFor: createFetchFor(egress, createGuardedFetch),
      fetchAs: (connection, { name, signal }, path, init) =>
        connections.fetch(connection, { kind: 'trigger', name, user: null, signal }, path, init),
      limits,
    }),
  });
  return {
    ...poller,
    async requireReachable(poll) {
      if (poll) await requirePollAddress(poll, egress);
      if (poll?.connection === undefined) return;
      const { per } = await connections.get(poll.connection);
      if (per === 'box') return;
      const message = `Each user signs in for the connection "${poll.connection}", and a poll has no user. Name one of the box.`;
      throw new BoxError('trigger_invalid', message, { details: { param: 'poll' } });
    },
  };
}
