import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock, createBox, createCloser, createLog, createMask, listen } from '@svc/runtime/host';
import type { Box, BoxOptions, Closer, Listener } from '@svc/runtime/host';
import type { LinkedWorkspace } from '../account/dev-link.ts';
import { EXIT } from '../errors.ts';
import { formatBanner, formatGateHelp, formatMissing, formatOpened } from './banner.ts';
import { toBootFailure } from './boot-failure.ts';
import { readSettings, toBoxOptions } from './box-options.ts';
import { mountDashboard } from './dashboard.ts';
import { findModelProblem } from './default-model.ts';
import { useEnvFile } from './env-file.ts';
import { readLogLevel } from './environment.ts';
import { openHost } from './host.ts';
import { mountOwnWorkspace } from './own-workspace.ts';
import { readPorts } from './ports.ts';
import type { DevPayload } from './payload.ts';
import { findProvider, findProviderProblem } from './provider-line.ts';
import type { ProviderInForce } from './provider-line.ts';
import { checkFolder, readProject } from './project.ts';
import { followFiles } from './reload.ts';
import type { ReportAll } from './reload.ts';
import { openDevStores } from './stores.ts';
import { forkSupervised } from './supervised.ts';
import type { DevStores } from './stores.ts';
import type { OpenTunnel, Tunnel, TunnelOptions } from './tunnel/tunnel.ts';

export interface DevOptions {
  /** The workspace folder. */
  root: string;
  /** Default 4242, shifted by SVC_DEV_PORT_OFFSET. */
  port?: number;
  /** Bind 0.0.0.0 instead of 127.0.0.1. */
  listen: boolean;
  json: boolean;
  verbose: boolean;
  /** Whether migrations of the project's own tables are written and applied. Default: `dev.autoMigrate` of svc.json. */
  autoMigrate?: boolean;
  /** The agent it is at a control plane, which gives it a public address. Default: none. */
  linked?: LinkedWorkspace;
  /** Default: the environment of the process, which is given what `.env` holds besides. */
  env?: NodeJS.ProcessEnv;
  /** One line of talk for the person at the terminal. Default: stderr. */
  say?(line: string): void;
}

export interface DevServer {
  payload: DevPayload;
  banner: string[];
  /** The exit code. */
  closed: Promise<number>;
  close(): Promise<void>;
}

/**
 * Boots the local runtime: embedded stores in `.svc/`, generated types, hot reload, every route. Resolves once it
 * serves and the database is ready; chat answers earlier.
 */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const { say = (line: string) => void process.stderr.write(`${line}\n`) } = options;
  const env = options.env ? { ...options.env } : process.env;
  checkFolder(options.root, 'svc dev');
  const closer = createCloser();
  try {
    return await boot({ options, env, say, closer });
  } catch (error) {
    await closer.close();
    throw toBootFailure(error, { env, port: options.port });
  }
}

// --- internal ---

interface Boot {
  options: DevOptions;
  env: NodeJS.ProcessEnv;
  say(line: string): void;
  closer: Closer;
}

async function boot({ options, env, say, closer }: Boot): Promise<DevServer> {
  const { root, verbose } = options;
  closer.add(useEnvFile({ root, env, verbose, say }));
  const ports = readPorts(env, options.port);
  const { slug, autoMigrate } = readProject(root);
  const settings = readSettings(env);
  const mask = createMask(env);
  const lock = await acquireLock(join(root, '.svc/dev.lock'));
  closer.add(async () => lock.release());
  const hosting = openHost({ root, say });
  hosting.catch(() => {}); // its failure is reported where it is awaited, below
  closer.add(async () => (await hosting.catch(() => undefined))?.close());
  const log = createLog({
    level: readLogLevel(env, verbose),
    write: (line) => void process.stderr.write(`${line}\n`),
    mask,
  });
  const stores = await openDevStores({ root, env, ports, slug, log });
  closer.add(() => stores.close());
  const tunnel = options.linked && (await prepareTunnel({ linked: options.linked, env, log, say }, () => boxOptions));
  const parts = { env, slug, listen: options.listen, log, mask, settings, stores, say };
  const boxOptions: BoxOptions = toBoxOptions({ ...parts, host: () => host, url: () => listener.url });
  const box = await createBox({
    ...boxOptions,
    ...(tunnel ? { tunnel: tunnel.access } : {}),
    isolate: forkSupervised({ root, env, port: options.port, stdout: options.json ? 2 : 1 }),
  });
  closer.add(() => box.close());
  const id = randomUUID();
  mountOwnWorkspace(box, { root, id });
  mountDashboard(box, { slug, storage: boxOptions.storage });
  // The types are written before the first answer: an editor that waits for the port finds them.
  const host = await hosting;
  const listener = await listen(box.app, { port: ports.api, host: options.listen ? '0.0.0.0' : '127.0.0.1' });
  closer.add(() => listener.close());
  // Closed before the listener: requests that come while the box gives back its runs get an answer that says so.
  closer.add(() => box.close());
  await stores.startServers();
  const isAutomatic = options.autoMigrate ?? autoMigrate;
  const reportAll = await followFiles({ root, isAutomatic, stores, box, host, closer, say });
  closer.add(writeDevFile(root, { id, url: listener.url }));
  const installation = await stores.ready;
  await stores.seedProvider();
  // Nothing comes through it before all of it is there, nor once any of it is closed.
  const opened = await tunnel?.open(box.app);
  closer.add(async () => tunnel?.close());
  // Closed first of all, before anything it may need.
  closer.add(async () => host.stop());
  const missing = await box.missingSecrets(host.config().secrets ?? []);
  const provider = await findProvider(box, root);
  return answer({ options, say, missing, provider, box, listener, stores, installation, opened, reportAll, closer });
}

interface Answering {
  options: DevOptions;
  say(line: string): void;
  /** The secrets of svc.config.ts that are not set. */
  missing: string[];
  provider: ProviderInForce | undefined;
  box: Box;
  listener: Listener;
  stores: DevStores;
  installation: string;
  opened: OpenTunnel | undefined;
  reportAll: ReportAll;
  closer: Closer;
}

function answer({
  options,
  say,
  missing,
  provider,
  box,
  listener,
  stores,
  installation,
  opened,
  reportAll,
  closer,
}: Answering): DevServer {
  const gate = box.gate.state();
  const payload: DevPayload = {
    emulator_url: listener.url,
    agent_url: listener.url,
    public_url: opened?.publicUrl ?? null,
    deeplink: opened?.deeplink ?? null,
    local_dev_installation_id: installation,
    gate: { ...gate },
    deep_agents: box.agentNames(),
    services: stores.endpoints,
  };
  if (options.listen)
    say('Everyone on this network can call this box: --listen binds every address and dev checks no credential.');
  reportAll();
  for (const line of formatMissing(missing)) say(line);
  // The provider is asked, which may take seconds: nothing waits for it.
  const checkModel = async (): Promise<void> => {
    const dead = await findProviderProblem(box, options.root);
    const problem = dead ?? (isClosed ? undefined : await findModelProblem(box));
    if (problem !== undefined && !isClosed) say(problem);
  };
  let isClosed = false;
  // What fails is a box that is closing.
  if (gate.open) void checkModel().catch(() => {});
  else {
    for (const line of formatGateHelp(listener.url)) say(line);
    void box.gate.opened.then(() => {
      say(formatOpened({ agents: box.agentNames(), workflows: box.workflowNames() }));
      reportAll();
      return checkModel().catch(() => {});
    });
  }
  let finish = (_code: number): void => {};
  const closed = new Promise<number>((resolve) => (finish = resolve));
  return {
    payload,
    banner: formatBanner({ payload, provider, workflows: box.workflowNames(), adapter: stores.adapter }),
    closed,
    async close() {
      isClosed = true;
      await closer.close();
      finish(EXIT.ok);
    },
  };
}

/** Loaded where there is a control plane alone. */
async function prepareTunnel(
  given: Omit<TunnelOptions, 'corsOrigins'>,
  box: () => Pick<BoxOptions, 'corsOrigins'>,
): Promise<Tunnel> {
  const { createTunnel } = await import('./tunnel/tunnel.ts');
  return createTunnel({ ...given, corsOrigins: () => box().corsOrigins?.() ?? [] });
}

/** For other commands: where this box answers, and by which `id` it is known. */
function writeDevFile(root: string, { id, url }: { id: string; url: string }): () => Promise<void> {
  const file = join(root, '.svc/dev.json');
  mkdirSync(join(root, '.svc'), { recursive: true });
  writeFileSync(file, JSON.stringify({ pid: process.pid, id, url, startedAt: new Date().toISOString() }));
  return async () => rmSync(file, { force: true });
}
