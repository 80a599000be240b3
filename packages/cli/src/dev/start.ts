import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Box, Closer, Listener, Problem } from '@svc/runtime/host';
import { CliError, EXIT } from '../errors.ts';
import { formatBanner, formatGateHelp, formatOpened } from './banner.ts';
import { useEnvFile } from './env-file.ts';
import { createStopTalk } from './stopped.ts';
import { openHost } from './host.ts';
import { readCorsOrigins, readLogLevel, readTelemetrySettings } from './environment.ts';
import { readPorts } from './ports.ts';
import type { DevPayload } from './payload.ts';
import { checkFolder, readProject } from './project.ts';
import { SCHEMA_FILE } from './schema/compare.ts';
import { createMigrator } from './schema/migrator.ts';
import { openDevStores } from './stores.ts';
import type { DevStores } from './stores.ts';

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
  const runtime = await import('@svc/runtime/host');
  const closer = runtime.createCloser();
  try {
    closer.add(useEnvFile({ root: options.root, env, verbose: options.verbose, say }));
    const ports = readPorts(env, options.port);
    const project = readProject(options.root);
    const corsOrigins = readCorsOrigins(env);
    const telemetry = readTelemetrySettings(env);
    const mask = runtime.createMask(env);
    const lock = await runtime.acquireLock(join(options.root, '.svc/dev.lock'));
    closer.add(async () => lock.release());
    const hosting = openHost({ root: options.root, say });
    hosting.catch(() => {}); // heard of where it is awaited, below
    closer.add(async () => (await hosting.catch(() => undefined))?.close());
    const log = runtime.createLog({
      level: readLogLevel(env, options.verbose),
      write: (line) => void process.stderr.write(`${line}\n`),
      mask,
    });
    const stores = await openDevStores({ root: options.root, env, ports, slug: project.slug, log });
    closer.add(() => stores.close());
    const box = await runtime.createBox({
      host: 'dev',
      slug: project.slug,
      log,
      records: log,
      telemetry,
      mask,
      journal: stores.journal,
      exclusive: stores.exclusive,
      db: stores.db,
      kv: stores.kv,
      secretKey: stores.secretKey,
      secretValues: () => stores.secretValues(),
      provider: stores.provider,
      storage: stores.storage,
      environmentModel: () => runtime.readVariable(env, 'SVC_DEFAULT_MODEL'),
      defaultModel: () => host.config().model,
      isDatabaseOpen: stores.isOpen,
      retention: () => host.config().retention ?? {},
      loadProgram: async () => host.program(),
      probes: stores.probes,
      onStopped: createStopTalk(say),
      services: () => stores.services(listener.url),
      isAllowedHost: runtime.createHostCheck({ listen: options.listen }),
      mcpTools: () => host.config().mcp?.tools === true,
      corsOrigins: () => [...corsOrigins, ...(host.config().studio?.corsOrigins ?? [])],
    });
    closer.add(() => box.close());
    // The types are written before the first answer: an editor that waits for the port finds them.
    const host = await hosting;
    const listener = await runtime.listen(box.app, { port: ports.api, host: options.listen ? '0.0.0.0' : '127.0.0.1' });
    closer.add(() => listener.close());
    // Before the listener: what comes while the box gives back its runs is told so.
    closer.add(() => box.close());
    await stores.startServers();
    // Why src/schema.ts cannot be used.
    let unusable: Problem[] = [];
    const listProblems = (): Problem[] => [...unusable, ...box.problems()];
    const reportAll = (): void => void host.report(listProblems());
    const migrator = createMigrator({
      root: options.root,
      client: stores.client,
      ready: stores.ready,
      isEmbedded: stores.exclusive,
      isAutomatic: options.autoMigrate ?? project.autoMigrate,
      load: (file) => host.program().load(file),
      say,
      report(found) {
        unusable = found;
        reportAll();
      },
    });
    closer.add(() => migrator.close());
    host.onChange(async (program) => {
      // First, so that the code that comes with it finds its tables.
      unusable = await migrator.refresh();
      // A gate that is about to open has begun to load the files as they were.
      await box.gate.check();
      await box.reload(program);
      return { problems: listProblems(), left: migrator.isBehind() ? [SCHEMA_FILE] : [] };
    });
    // Chat answers before the database is open, except where its code may want tables of the project.
    if (migrator.isNeeded()) await stores.ready;
    unusable = await migrator.refresh();
    await box.gate.check();
    closer.add(writeDevFile(options.root, listener.url));
    const installation = await stores.ready;
    // First of all, before anything it may need is closed.
    closer.add(async () => host.stop());
    return answer({ options, say, box, listener, stores, installation, reportAll, closer });
  } catch (error) {
    await closer.close();
    throw toCliError(error, { env, port: options.port });
  }
}

// --- internal ---

interface Answering {
  options: DevOptions;
  say(line: string): void;
  box: Box;
  listener: Listener;
  stores: DevStores;
  installation: string;
  /** Says what does not load. */
  reportAll(): void;
  closer: Closer;
}

function answer({ options, say, box, listener, stores, installation, reportAll, closer }: Answering): DevServer {
  const gate = box.gate.state();
  const payload: DevPayload = {
    emulator_url: listener.url,
    agent_url: listener.url,
    public_url: null,
    deeplink: null,
    local_dev_installation_id: installation,
    gate: { ...gate },
    deep_agents: box.agentNames(),
    services: stores.endpoints,
  };
  if (options.listen)
    say('Everyone on this network can call this box: --listen binds every address and dev checks no credential.');
  reportAll();
  if (!gate.open) {
    for (const line of formatGateHelp(listener.url)) say(line);
    void box.gate.opened.then(() => {
      say(formatOpened({ agents: box.agentNames(), workflows: box.workflowNames() }));
      reportAll();
    });
  }
  let finish = (_code: number): void => {};
  const closed = new Promise<number>((resolve) => (finish = resolve));
  return {
    payload,
    banner: formatBanner({ payload, workflows: box.workflowNames(), adapter: stores.adapter }),
    closed,
    async close() {
      await closer.close();
      finish(EXIT.ok);
    },
  };
}

/** Tells other commands where this box answers. */
function writeDevFile(root: string, url: string): () => Promise<void> {
  const file = join(root, '.svc/dev.json');
  mkdirSync(join(root, '.svc'), { recursive: true });
  writeFileSync(file, JSON.stringify({ pid: process.pid, url, startedAt: new Date().toISOString() }));
  return async () => rmSync(file, { force: true });
}

interface Boot {
  env: NodeJS.ProcessEnv;
  /** What --port says. */
  port: number | undefined;
}

/** Where the port of the API is taken, the others of the same box most often are too: one variable moves them all. */
function suggestMove(taken: unknown, { env, port }: Boot): string {
  if (taken === port) return 'name another one with --port.';
  if (env.SVC_DEV_PORT_OFFSET?.trim()) return 'move every port of this box: change SVC_DEV_PORT_OFFSET.';
  return 'move every port of this box: SVC_DEV_PORT_OFFSET=100 svc dev';
}

/** What to do about a boot that failed; the message of the runtime says what happened. */
const SUGGESTIONS: Record<string, (details: Record<string, unknown>, boot: Boot) => string> = {
  port_busy: ({ port }, boot) => `Stop the other process, or ${suggestMove(port, boot)}`,
  already_running: ({ pid }) =>
    pid ? `Press Ctrl-C in its terminal, or end it: kill ${String(pid)}` : 'Wait for it to end, then try again.',
  secret_key_invalid: () => 'Correct SVC_SECRET_KEY, or unset it to use the key in .svc/secret.key.',
  store_unavailable: () =>
    'Correct what the message names, then try again. A server that DATABASE_URL names has to run.',
  secret_key_wrong: () => 'Set SVC_SECRET_KEY to the key of the first boot, or unset it if that was .svc/secret.key.',
};

/** Errors of the runtime carry a code; the ones a person can act on keep it, a port or a flag is `generic` by contract. */
function toCliError(error: unknown, boot: Boot): unknown {
  const { code, message = '', details = {} } = error as Partial<CliError>;
  if (error instanceof CliError || typeof code !== 'string' || !/^[a-z_]+$/.test(code)) return error;
  const suggestion = SUGGESTIONS[code]?.(details, boot);
  return new CliError(code.startsWith('port_') ? 'generic' : code, message, {
    details,
    exitCode: EXIT.generic,
    ...(suggestion ? { suggestion } : {}),
  });
}
