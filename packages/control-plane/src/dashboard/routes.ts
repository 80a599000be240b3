import { answerJson } from '../../../runtime/src/http/answer.ts';
import { PlaneError } from '../errors.ts';
import { requestIdOf } from '../http/app.ts';
import type { Account, Call, RawRoute } from '../http/route.ts';
import { listInstallations } from '../installations/installations.ts';
import type { Installation } from '../installations/installations.ts';
import type { OperatorSessions } from '../operator/sessions.ts';
import type { Db } from '../store/db.ts';
import { createDashboard, DASHBOARD_PATH } from './dashboard.ts';
import type { Bootstrap } from './dashboard.ts';

/** Of the one box behind the proxy, for its operator. */
export function operatorDashboard({ sessions }: { sessions: OperatorSessions }): RawRoute[] {
  return mountDashboard({
    mode: 'standalone',
    async bootstrap(call) {
      if (!sessions.find(call)) throw notSignedIn();
      return {
        place: 'standalone',
        box: '/box',
        name: 'svc',
        caller: { id: 'operator', name: 'operator', role: 'owner' },
      };
    },
    connect: async () => [],
  });
}

export interface PeopleDashboard {
  db: Db;
  authenticate(call: Call): Promise<Account | undefined>;
}

/** Of the boxes of an organisation, which the page calls itself, with identity tokens. */
export function peopleDashboard({ db, authenticate }: PeopleDashboard): RawRoute[] {
  /** Undefined: nobody is signed in, or who is has no part in any organisation. */
  const findAll = async (call: Call): Promise<{ account: Account; all: Installation[] } | undefined> => {
    const account = await authenticate(call);
    if (!account) return undefined;
    const { organizationId } = account;
    return { account, all: organizationId === undefined ? [] : await listInstallations(db, organizationId) };
  };
  return mountDashboard({
    mode: 'full',
    async bootstrap(call) {
      const found = await findAll(call);
      if (!found) throw notSignedIn();
      return toBootstrap(found, call.event.url.searchParams.get('installation'));
    },
    async connect(call) {
      const found = await findAll(call).catch(() => undefined);
      return [...new Set((found?.all ?? []).flatMap(({ deployment }) => originOf(deployment) ?? []))];
    },
  });
}

// --- internal ---

interface Mounted {
  mode: 'standalone' | 'full';
  bootstrap(call: Call): Promise<Bootstrap>;
  connect(call: Call): Promise<string[]>;
}

/** As people read it, and as a path that leads there. */
function mountDashboard({ mode, bootstrap, connect }: Mounted): RawRoute[] {
  const calls = new WeakMap<Request, Call>();
  const callOf = (request: Request): Call => calls.get(request) as Call;
  const answer = createDashboard({
    bootstrap: (request) => bootstrap(callOf(request)),
    connect: (request) => connect(callOf(request)),
  });
  return [DASHBOARD_PATH.slice(0, -1), `${DASHBOARD_PATH}**`].map((path) => ({
    method: 'GET' as const,
    path,
    mode,
    async handle(event, call) {
      calls.set(event.req, call);
      const found = await answer(event.req);
      // The window of a sign-in at a service is one that it opens, and knows when it is closed.
      found?.headers.set('cross-origin-opener-policy', 'same-origin-allow-popups');
      if (found) return found;
      const message = `There is no such file of the dashboard: ${event.url.pathname}.`;
      return answerJson(404, { code: 'not_found', message, requestId: requestIdOf(event) });
    },
  }));
}

function toBootstrap({ account, all }: { account: Account; all: Installation[] }, asked: string | null): Bootstrap {
  const caller = { id: account.userId, name: account.name, role: account.role ?? ('viewer' as const) };
  const installations = all.map(({ id, name, deployment }) => ({ id, name, isReachable: deployment !== null }));
  const shown = all.find(({ id }) => id === asked) ?? all.find(({ deployment }) => deployment !== null) ?? all.at(0);
  const base = { place: 'full' as const, caller, installations };
  if (!shown) return { ...base, box: '', name: 'svc', problem: NO_BOX };
  const { id: installation, name, deployment } = shown;
  if (!deployment) return { ...base, box: '', name, installation, problem: NOT_LINKED };
  return { ...base, box: deployment.url, name, installation };
}

const NO_BOX = {
  code: 'no_installation',
  message: 'Your organisation has no box yet. In a workspace, "svc init" makes one and "svc link" registers it.',
};
const NOT_LINKED = {
  code: 'no_deployment',
  message: 'This box is not registered yet. Deploy it, and run "svc link" in its workspace.',
};

function originOf(deployment: Installation['deployment']): string | undefined {
  return deployment && URL.canParse(deployment.url) ? new URL(deployment.url).origin : undefined;
}

function notSignedIn(): PlaneError {
  return new PlaneError('unauthorized', 'You are not signed in. Sign in, and you come back here.');
}
