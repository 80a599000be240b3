import { createBoxProxy } from './box/proxy.ts';
import { boxRoutes } from './box/routes.ts';
import { operatorDashboard } from './dashboard/routes.ts';
import { PlaneError } from './errors.ts';
import type { Ground, Rooms } from './ground.ts';
import { operatorRoutes } from './operator/routes.ts';
import { createOperatorSessions } from './operator/sessions.ts';
import { createTokenCheck } from './operator/token.ts';
import { readVersion } from './package-version.ts';
import { createAgentProbe } from './self-host/agent.ts';
import { selfHostRoutes } from './self-host/routes.ts';
import type { StandaloneSettings } from './config.ts';

/** One box, and its operator. */
export async function createStandalone(ground: Ground, settings: StandaloneSettings): Promise<Rooms> {
  const own = { ...ground, ...settings };
  const sessions = createOperatorSessions(own);
  const proxy = createBoxProxy(own);
  return {
    routes: [
      ...operatorRoutes({ ...own, sessions, check: createTokenCheck(own) }),
      ...selfHostRoutes({ version: readVersion(), ask: createAgentProbe(own) }),
    ],
    raw: [...boxRoutes({ ...own, sessions, proxy }), ...operatorDashboard({ ...own, sessions })],
    authenticate: async () => undefined,
    async requireOperator(call) {
      // Such a header spares a request the check of its origin, so it is never answered as the cookie's.
      if (call.request.headers.has('authorization') || !sessions.find(call))
        throw new PlaneError('unauthorized', 'You are not signed in. Sign in with the token of the operator.');
    },
    close: async () => proxy.close(),
  };
}
