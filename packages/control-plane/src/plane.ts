import type { RequestListener } from 'node:http';
import type { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { createLog } from '../../runtime/src/log.ts';
import type { Log } from '../../runtime/src/log.ts';
import { listen } from '../../runtime/src/http/listen.ts';
import type { Listener } from '../../runtime/src/http/listen.ts';
import type { FullSettings, Settings } from './config.ts';
import { createFull } from './full.ts';
import type { Ground, Rooms } from './ground.ts';
import { createApp } from './http/app.ts';
import type { RawRoute, Route } from './http/route.ts';
import { createUpgrades } from './http/upgrades.ts';
import { LIVE } from './live.ts';
import { openApiRoute } from './openapi.ts';
import { readPages } from './pages/files.ts';
import { createPages } from './pages/serve.ts';
import type { PasswordCost } from './passwords/hash.ts';
import { openSealer } from './sealer.ts';
import type { Db } from './store/db.ts';
import type { SqliteOptions } from './store/sqlite.ts';
import { createStandalone } from './standalone.ts';

export interface PlaneOptions {
  settings: Settings;
  /** Default: JSON lines on stderr. */
  log?: Log;
  /** Milliseconds since 1970. Default: the wall clock. */
  now?(): number;
  /** Default: `full`. */
  passwordCost?: PasswordCost;
  /** Seconds that a device waits between two polls; whole ones where the store is PostgreSQL. Default: 5. */
  pollSeconds?: number;
}

/** A control plane that is not listening yet. */
export interface Plane {
  app: H3;
  /** Of all of them, for the document and the reference. */
  routes: readonly Route[];
  /** Where it says it is reached, once that is known. */
  publicUrl(): string;
  /** Starts to listen, as the settings say. `port_busy` when the port is taken. */
  listen(): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

/** Opens the store, makes every room, mounts every route. Throws what keeps it from starting. */
export async function createPlane(options: PlaneOptions): Promise<Plane> {
  const { settings, now = Date.now, passwordCost = 'full', pollSeconds = 5 } = options;
  const log =
    options.log ?? createLog({ level: settings.logLevel, write: (line) => void process.stderr.write(`${line}\n`) });
  let port = settings.port;
  const publicUrl = () => settings.publicUrl ?? `http://localhost:${port}`;
  const isNamed = settings.mode === 'full' || settings.publicUrl !== undefined;
  const ground: Ground = { settings, log, now, publicUrl, isNamed, passwordCost, pollSeconds };
  const { rooms, closeStore } = await openRooms(ground);
  const routes: Route[] = [LIVE, ...rooms.routes];
  const raw: RawRoute[] = [openApiRoute(() => routes, publicUrl), ...rooms.raw];
  const { mode, proxies } = settings;
  const pages = createPages({ files: readPages(mode), hasRoute: (path) => routes.some((one) => one.path === path) });
  const app = createApp({ ...ground, mode, proxies, routes, raw, pages, ...pickDoor(rooms) });
  let listener: Listener | undefined;
  let closed: Promise<void> | undefined;
  return {
    app,
    routes,
    publicUrl,
    async listen() {
      const { divert, upgrade } = rooms;
      const handle = toNodeHandler(app) as RequestListener;
      const answer: RequestListener = (request, response) => divert?.(request, response) || handle(request, response);
      const onUpgrade = upgrade && createUpgrades({ take: upgrade, answer });
      const others = { ...(divert ? { divert } : {}), ...(onUpgrade ? { onUpgrade } : {}) };
      listener = await listen(app, { port, host: settings.host, proxies, ...others });
      port = listener.port;
      return { url: listener.url, port };
    },
    close() {
      closed ??= Promise.all([listener?.close(), rooms.close()]).then(closeStore);
      return closed;
    },
  };
}

/** The store the settings name. `beside`: what is done next to a control plane that runs on it. */
export async function openStore(
  { databaseUrl, dataDir }: Pick<FullSettings, 'databaseUrl' | 'dataDir'>,
  { beside }: SqliteOptions = {},
): Promise<Db> {
  if (databaseUrl !== undefined) return (await import('./store/postgres.ts')).openPostgres(databaseUrl);
  return (await import('./store/sqlite.ts')).openSqlite(dataDir ?? '.', { beside });
}

// --- internal ---

interface Opened {
  rooms: Rooms;
  /** Once nothing asks it any more. */
  closeStore(): Promise<void>;
}

async function openRooms(ground: Ground): Promise<Opened> {
  const { full, standalone } = ground.settings;
  if (standalone) return { rooms: await createStandalone(ground, standalone), closeStore: async () => {} };
  if (!full) throw new Error('The settings belong to no mode.');
  const db = await openStore(full);
  try {
    const sealer = await openSealer(db, full.secretKey);
    return { rooms: await createFull({ ...ground, full, db, sealer }), closeStore: () => db.close() };
  } catch (error) {
    await db.close();
    throw error;
  }
}

function pickDoor({ authenticate, requireOperator }: Rooms): Pick<Rooms, 'authenticate' | 'requireOperator'> {
  return { authenticate, requireOperator };
}
