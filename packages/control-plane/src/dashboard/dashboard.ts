import { existsSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FastResponse } from 'srvx';
import { listFiles, readForms, TYPES } from '../pages/files.ts';
import type { PageFile } from '../pages/files.ts';
import { answerFile } from '../pages/serve.ts';

/** Below which it is served, wherever that is. */
export const DASHBOARD_PATH = '/studio/';

export interface DashboardOptions {
  /** Default: the one that is built into this package. */
  folder?: string;
  /** What the page asks for first: where it is served, and for whom. */
  bootstrap(request: Request): Bootstrap | Response | Promise<Bootstrap | Response>;
  /** Origins besides its own that the page may call. Default: none. */
  connect?(request: Request): readonly string[] | Promise<readonly string[]>;
  /** Origins besides its own that the page may show pictures of: those of messages lie in the object storage. Default: none. */
  pictures?(request: Request): readonly string[] | Promise<readonly string[]>;
}

/** As `packages/dashboard/src/app/bootstrap.ts` reads it. */
export interface Bootstrap {
  place: 'dev' | 'standalone' | 'full';
  box: string;
  name: string;
  caller: { id: string; name: string; role: 'owner' | 'admin' | 'member' | 'approver' | 'viewer' };
  organization?: string;
  installation?: string;
  installations?: { id: string; name: string; isReachable: boolean }[];
  problem?: { code: string; message: string };
}

/** Answers a request below `/studio`. Undefined: it is for none, or no dashboard was built. */
export type Dashboard = (request: Request) => Promise<Response | undefined>;

export function createDashboard(options: DashboardOptions): Dashboard {
  let read: Map<string, PageFile> | undefined;
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    if (pathname === DASHBOARD_PATH.slice(0, -1)) return toRedirect(DASHBOARD_PATH);
    if (!pathname.startsWith(DASHBOARD_PATH)) return undefined;
    // At the first request for it: a box that no one looks at holds none of it.
    const files = (read ??= readFiles(options.folder ?? findFolder()));
    const name = pathname.slice(DASHBOARD_PATH.length);
    if (name === 'bootstrap.json') return toAnswer(await options.bootstrap(request));
    const file = files.get(name);
    if (file && name !== 'index.html') return answerFile(file, request.headers);
    const index = files.get('index.html');
    if (!index || name.startsWith('assets/')) return undefined;
    // Whatever else is below is an address of a screen.
    const [connect = [], pictures = []] = await Promise.all([options.connect?.(request), options.pictures?.(request)]);
    return answerFile(index, request.headers, { connect, pictures });
  };
}

/** The folder that is built, or, in a checkout, that of its package. Undefined: there is none. */
export function findFolder(): string | undefined {
  const places = ['./dashboard', '../../../dashboard/dist/dashboard'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  return places.find((place) => existsSync(join(place, 'index.html')));
}

// --- internal ---

/** By the path under which each is asked for: a request names one of these, and never a path of the disk. */
function readFiles(folder: string | undefined): Map<string, PageFile> {
  if (folder === undefined) return new Map();
  return new Map(
    listFiles(folder).map((file) => {
      const name = relative(folder, file).split(sep).join('/');
      const isHashed = /^assets\/.*-[\w-]{8}\.\w+$/.test(name);
      return [name, { type: TYPES[extname(file)] ?? 'application/octet-stream', isHashed, forms: readForms(file) }];
    }),
  );
}

function toRedirect(location: string): Response {
  return new FastResponse(null, { status: 308, headers: { location, 'cache-control': 'no-cache' } });
}

function toAnswer(answer: Bootstrap | Response): Response {
  if (answer instanceof Response) return answer;
  return new FastResponse(JSON.stringify(answer), {
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  });
}
