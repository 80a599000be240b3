import { answerJson } from '../../../runtime/src/http/answer.ts';
import { PlaneError } from '../errors.ts';
import { requestIdOf } from '../http/app.ts';
import { createBoxClient } from '../deployments/box-client.ts';
import type { Account, Call, RawRoute } from '../http/route.ts';
import type { Signer } from '../identity/signer.ts';
import { listInstallations } from '../installations/installations.ts';
import type { Installation } from '../installations/installations.ts';
import type { OperatorSessions } from '../operator/sessions.ts';
import type { Db } from '../store/db.ts';
import { createDashboard, DASHBOARD_PATH } from './dashboard.ts';
import type { Bootstrap } from './dashboard.ts';
import { createStorageOrigins } from './storage-origins.ts';
import type { StorageOriginsOptions, StorageOwner } from './storage-origins.ts';

export interface OperatorDashboard extends StorageOriginsOptions {
  sessions: OperatorSessions;
  runtimeUrl: string;
  /** The operator's, which opens the box. */
  token: string;
}

/** Of the one box behind the proxy, for its operator. */
export function operatorDashboard({ sessions, runtimeUrl, token, ...options }: OperatorDashboard): RawRoute[] {
  const storages = createStorageOrigins(options);
  const url = new URL(runtimeUrl).origin;
  // Its address is of the environment, and most often one of a network of this machine.
  const box = { id: 'box', url, ask: () => askServices(url, { allowPrivate: true, token }) };
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
    async origins(call) {
      return { boxes: [], storages: sessions.find(call) ? await storages.list([box]) : [] };
    },
  });
}

export interface PeopleDashboard extends StorageOriginsOptions {
  db: Db;
  full: { allowPrivate: boolean };
  signer: Signer;
  authenticate(call: Call): Promise<Account | undefined>;
}

/** Of the boxes of an organisation, which the page calls itself, with identity tokens. */
export function peopleDashboard({ db, full, signer, authenticate, ...options }: PeopleDashboard): RawRoute[] {
  const storages = createStorageOrigins(options);
  /** Undefined: no one is signed in, or who is has no part in any organisation. */
  const findAll = async (call: Call): Promise<{ account: Account; all: Installation[] } | undefined> => {
    const account = await authenticate(call);
    if (!account) return undefined;
    const { organizationId } = account;
    return { account, all: organizationId === undefined ? [] : await listInstallations(db, organizationId) };
  };
  // Any role may read it: the token that is shown for it opens nothing that the person may not see.
  const toOwner = ({ userId, name }: Account, { id, organizationId, deployment }: Installation): StorageOwner[] => {
    if (!deployment) return [];
    const { url } = deployment;
    const identity = { userId, name, organizationId, installationId: id } as const;
    const ask = async (): Promise<unknown> => {
      const { token } = await signer.sign({ ...identity, role: 'viewer', use: 'operate', source: 'dashboard' });
      return askServices(url, { ...full, token });
    };
    return [{ id, url, ask }];
  };
  return mountDashboard({
    mode: 'full',
    async bootstrap(call) {
      const found = await findAll(call);
      if (!found) throw notSignedIn();
      return toBootstrap(found, call.event.url.searchParams.get('installation'));
    },
    async origins(call) {
      const found = await findAll(call).catch(() => undefined);
      if (!found) return { boxes: [], storages: [] };
      const { account, all } = found;
      const boxes = [...new Set(all.flatMap(({ deployment }) => originOf(deployment) ?? []))];
      // A page that says which box it shows is about no other.
      const asked = all.filter(({ id }) => id === call.event.url.searchParams.get('installation'));
      const shown = asked.length > 0 ? asked : all;
      return { boxes, storages: await storages.list(shown.flatMap((one) => toOwner(account, one))) };
    },
  });
}

// --- internal ---

interface Mounted {
  mode: 'standalone' | 'full';
  bootstrap(call: Call): Promise<Bootstrap>;
  /** Besides its own: of the boxes that the page calls, and of their storages, where files are uploaded and pictures lie. */
  origins(call: Call): Promise<Origins>;
}

interface Origins {
  boxes: string[];
  storages: string[];
}

/** As people read it, and as a path that leads there. */
function mountDashboard({ mode, bootstrap, origins }: Mounted): RawRoute[] {
  const calls = new WeakMap<Request, Call>();
  const callOf = (request: Request): Call => calls.get(request) as Call;
  const found = new WeakMap<Request, Promise<Origins>>();
  const originsOf = (request: Request): Promise<Origins> => {
    const known = found.get(request) ?? origins(callOf(request));
    found.set(request, known);
    return known;
  };
  const answer = createDashboard({
    bootstrap: (request) => bootstrap(callOf(request)),
    async connect(request) {
      const { boxes, storages } = await originsOf(request);
      return [...boxes, ...storages];
    },
    pictures: async (request) => (await originsOf(request)).storages,
  });
  return [DASHBOARD_PATH.slice(0, -1), `${DASHBOARD_PATH}**`].map((path) => ({
    method: 'GET' as const,
    path,
    mode,
    async handle(event, call) {
      calls.set(event.req, call);
      const answered = await answer(event.req);
      // The window of a sign-in at a service is one that it opens, and knows when it is closed.
      answered?.headers.set('cross-origin-opener-policy', 'same-origin-allow-popups');
      if (answered) return answered;
      const message = `There is no such file of the dashboard: ${event.url.pathname}.`;
      return answerJson(404, { code: 'not_found', message, requestId: requestIdOf(event) });
    },
  }));
}

function toBootstrap({ account, all }: { account: Account; all: Installation[] }, asked: string | null): Bootstrap {
  const caller = { id: account.userId, name: account.name, role: account.role ?? ('viewer' as const) };
  const installations = all.map(({ id, name, deployment }) => ({ id, name, isReachable: deployment !== null }));
  const shown = all.find(({ id }) => id === asked) ?? all.find(({ deployment }) => deployment !== null) ?? all.at(0);
  const { organizationId } = account;
  const organization = organizationId === undefined ? {} : { organization: organizationId };
  const base = { place: 'full' as const, caller, ...organization, installations };
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

/** Throws `box_unreachable`, `address_private`, and an Error where the answer is no success. */
async function askServices(
  url: string,
  { token, allowPrivate }: { token: string; allowPrivate: boolean },
): Promise<unknown> {
  const client = createBoxClient(url, { allowPrivate });
  const init = { method: 'GET', headers: { authorization: `Bearer ${token}` } };
  return client
    .ask('/api/services', init)
    .then(({ status, body }) => {
      // A proxy in front of a box that restarts says nothing of its storage.
      if (status !== 200) throw new Error(`The box answered ${status}.`);
      return body;
    })
    .finally(() => client.close());
}

function notSignedIn(): PlaneError {
  return new PlaneError('unauthorized', 'You are not signed in. Sign in, and you come back here.');
}
