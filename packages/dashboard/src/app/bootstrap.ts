import type { Role } from '../../../runtime/src/auth/permissions.ts';

/** Where this dashboard is served, and for whom: the one thing that differs between its places. */
export interface Bootstrap {
  /** `dev`: by the box itself. `standalone` and `full`: by a control plane, of one box and of many. */
  place: 'dev' | 'standalone' | 'full';
  /** What the paths of the box come after: nothing, `/box`, or its address. */
  box: string;
  /** The name of the workspace, or of the box. */
  name: string;
  /** `id`: of the account, which no other has. */
  caller: { id: string; name: string; role: Role };
  /** In the full mode: the id of the organisation, whose members are at the control plane. */
  organization?: string;
  /** In the full mode: the box that is shown, and the others one may show. */
  installation?: string;
  installations?: { id: string; name: string; isReachable: boolean }[];
  /** What is in the way of a box: nothing was deployed, or no one may see one. */
  problem?: { code: string; message: string };
}

/** Asks the server that has sent this page. */
export async function readBootstrap(): Promise<Bootstrap> {
  const asked = new URLSearchParams(location.search).get('installation') ?? localStorage.getItem(KEY);
  const query = asked === null ? '' : `?installation=${encodeURIComponent(asked)}`;
  const answer = await fetch(`${import.meta.env.BASE_URL}bootstrap.json${query}`, {
    headers: { accept: 'application/json' },
  });
  if (answer.ok) {
    const bootstrap = (await answer.json()) as Bootstrap;
    if (bootstrap.installation !== undefined) localStorage.setItem(KEY, bootstrap.installation);
    return bootstrap;
  }
  const { code = 'unknown', message } = (await answer.json().catch(() => ({}))) as { code?: string; message?: string };
  throw new BootstrapError(answer.status, code, message ?? `The server of this page answered ${answer.status}.`);
}

/** Shows another box, from its first screen on. */
export function showInstallation(id: string): void {
  location.assign(`${import.meta.env.BASE_URL}?installation=${encodeURIComponent(id)}`);
}

/** Ends the session at the control plane. */
export async function signOut({ place }: Bootstrap): Promise<void> {
  // What was written and not saved is of the person who leaves.
  sessionStorage.clear();
  const path = place === 'full' ? '/api/v1/auth/logout' : '/api/v1/self-host/logout';
  await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  location.assign('/login');
}

export class BootstrapError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// --- internal ---

/** The box that was shown last. */
const KEY = 'svc.installation';
