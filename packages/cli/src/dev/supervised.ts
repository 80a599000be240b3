import { createScanner, syncWorkspace } from '@svc/compiler';
import { createBox, createCloser, createForker, createLog, createMask, superviseProcess } from '@svc/runtime/host';
import type { BoxOptions, Closer, Supervised } from '@svc/runtime/host';
import { packageFile } from '../package-file.ts';
import { shareRuntime } from '../workspace/share-runtime.ts';
import { readSettings, toBoxOptions } from './box-options.ts';
import { readLogLevel } from './environment.ts';
import { loadConfig } from './host.ts';
import { openModules } from './modules.ts';
import { readPorts } from './ports.ts';
import { readProject } from './project.ts';
import { openDevStores } from './stores.ts';

// `svc dev` once more, for runs that may have killed its process: the same code over the stores the first one has open,
// without a port, a watch or migrations.

/** Begins such processes for the workspace. */
export function forkSupervised({ root, env, port, stdout }: DevPlace): NonNullable<BoxOptions['isolate']> {
  const given = port === undefined ? env : { ...env, [PORT]: String(port) };
  return createForker({
    module: packageFile('supervised.mjs'),
    args: [root],
    env: given,
    ...(stdout === undefined ? {} : { stdout }),
  });
}

export interface DevPlace {
  root: string;
  /** With what `.env` holds. */
  env: NodeJS.ProcessEnv;
  /** As given to `svc dev`: the ports of the stores follow from it. */
  port: number | undefined;
  /** Where they print, as a file descriptor. Default: where this process does. */
  stdout?: number;
}

/** The whole life of such a process. Answers its exit code. */
export async function runSupervised(root: string, env: NodeJS.ProcessEnv = process.env): Promise<number> {
  process.setSourceMapsEnabled(true);
  const supervised = superviseProcess();
  const closer = createCloser();
  try {
    await open(root, env, { supervised, closer });
    await supervised.closed;
    return 0;
  } catch (error) {
    process.stderr.write(`A separate process for runs that may have crashed theirs does not start: ${String(error)}\n`);
    return 1;
  } finally {
    await closer.close().catch(() => {});
  }
}

// --- internal ---

/** The port `svc dev` was given, for the process it begins. */
const PORT = 'SVC_SUPERVISED_PORT';

async function open(
  root: string,
  env: NodeJS.ProcessEnv,
  { supervised, closer }: { supervised: Supervised; closer: Closer },
): Promise<void> {
  await shareRuntime();
  const port = env[PORT] === undefined ? undefined : Number(env[PORT]);
  const ports = readPorts(env, port);
  const { slug } = readProject(root);
  const mask = createMask(env);
  const level = readLogLevel(env, false);
  const log = createLog({ level, write: (line) => void process.stderr.write(`${line}\n`), mask });
  const stores = await openDevStores({ root, env, ports, slug, log, isAttached: true });
  closer.add(() => stores.close());
  const modules = await openModules({ root });
  closer.add(() => modules.close());
  const { manifest } = await syncWorkspace({ root, scanner: createScanner({ root }) });
  const config = await loadConfig(root, modules, {});
  const host = { program: () => ({ manifest, load: modules.load }), config: () => config.value };
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const parts = { env, slug, listen: false, log, mask, settings: readSettings(env), stores, say };
  const options = toBoxOptions({
    ...parts,
    host: () => host,
    url: () => `http://127.0.0.1:${ports.api}`,
  });
  await stores.ready;
  const box = await createBox({ ...options, supervisor: supervised.supervisor });
  closer.add(() => box.close());
  await box.gate.check();
}
