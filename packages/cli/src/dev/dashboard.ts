import type { Dashboard } from '@svc/control-plane/dashboard';
import type { Box, BoxOptions } from '@svc/runtime/host';

/** Where the dashboard is, below the address of the box. */
export const DASHBOARD_PATH = '/studio/';

export interface DashboardParts {
  slug: string;
  /** Where the page may send the files that people upload, and has the pictures of messages from. */
  storage: BoxOptions['storage'];
}

/** Serves the dashboard of a box that asks for no credential. It is read when someone first looks at it. */
export function mountDashboard({ app }: Pick<Box, 'app'>, { slug, storage }: DashboardParts): void {
  let opened: Promise<Dashboard> | undefined;
  const open = async (): Promise<Dashboard> => {
    const { createDashboard } = await import('@svc/control-plane/dashboard');
    const caller = { id: 'dev', name: 'dev', role: 'owner' as const };
    const origins = () => (storage ? listOrigins(storage) : []);
    return createDashboard({
      bootstrap: () => ({ place: 'dev', box: '', name: slug, caller }),
      connect: origins,
      pictures: origins,
    });
  };
  const answer = async ({ req }: { req: Request }): Promise<Response> => {
    const found = await (await (opened ??= open()))(req);
    return found ?? new Response('There is no such file of the dashboard.\n', { status: 404, headers: TEXT });
  };
  for (const method of ['GET', 'HEAD'] as const) app.on(method, `${DASHBOARD_PATH}**`, answer);
}

// --- internal ---

/** A signed address has the bucket in its host or in its path, as the backend wants it. */
async function listOrigins(storage: NonNullable<BoxOptions['storage']>): Promise<string[]> {
  return [new URL(await storage.url('any')).origin];
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
