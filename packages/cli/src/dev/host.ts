import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { createScanner, svcPlugin, syncWorkspace } from '@svc/compiler';
import type { Manifest, Problem, Program, WorkspaceConfig } from '@svc/runtime/host';
import { createRunnableDevEnvironment, createServer } from 'vite';
import type { Plugin, RunnableDevEnvironment, ViteDevServer } from 'vite';
import { formatProblem } from './banner.ts';
import { createHasher } from './closure.ts';
import { toProblem } from './load-problem.ts';

/** The workspace's code, loaded and kept in step with the files. */
export interface Host {
  program(): Program;
  config(): WorkspaceConfig;
  /** What the last scan found wrong. */
  problems(): Problem[];
  /** Called after each edit with the program to swap in; answers what does not load now. */
  onChange(apply: (program: Program) => Promise<Problem[]>): void;
  close(): Promise<void>;
}

export interface HostOptions {
  root: string;
  say(line: string): void;
}

const ENVIRONMENT = 'svc';
const CONFIG_FILE = 'svc.config.ts';

/** Scans, writes the types and starts the module runner. Modules load when the box asks for them. */
export async function openHost({ root, say }: HostOptions): Promise<Host> {
  await shareRuntime();
  const scanner = createScanner({ root, cacheFile: join(root, '.svc/cache/scan.json') });
  let apply: ((program: Program) => Promise<Problem[]>) | undefined;
  let changes: Promise<void> = Promise.resolve();
  const onEdit = (file: string) => {
    changes = changes.then(() => update(file)).catch((error: unknown) => say(`Reload failed: ${String(error)}`));
  };
  const [server, first] = await Promise.all([startVite(root, onEdit), syncWorkspace({ root, scanner })]);
  const environment = server.environments[ENVIRONMENT] as RunnableDevEnvironment;
  const hashOf = createHasher(environment, root);
  let { manifest, problems } = first;
  let config = await loadConfig(environment, root);
  let shown = '';

  const program = (): Program => createProgram({ manifest, environment, root, hashOf });

  const update = async (file: string): Promise<void> => {
    const started = performance.now();
    ({ manifest, problems } = await syncWorkspace({ root, scanner }));
    if (file === join(root, CONFIG_FILE)) config = await loadConfig(environment, root).catch(() => config);
    const failed = (await apply?.(program())) ?? [];
    const found = [
      ...problems,
      ...failed.filter((problem) => !problems.some((known) => known.message === problem.message)),
    ];
    const text = found.map(formatProblem).join('\n');
    if (text !== '' && text !== shown) say(text);
    else if (text === '') say(`reloaded ${relative(root, file)} in ${Math.round(performance.now() - started)} ms`);
    shown = text;
  };

  return {
    program,
    config: () => config,
    problems: () => problems,
    onChange(next) {
      apply = next;
    },
    async close() {
      await changes;
      await server.close();
    },
  };
}

// --- internal ---

/** One runtime per process: workspace modules get this process's own instance, never a second copy. */
async function shareRuntime(): Promise<void> {
  const [index, internal] = await Promise.all([import('@svc/runtime'), import('@svc/runtime/internal')]);
  (globalThis as Record<symbol, unknown>)[Symbol.for('svc.runtime')] = { index, internal };
}

function startVite(root: string, onEdit: (file: string) => void): Promise<ViteDevServer> {
  return createServer({
    root,
    configFile: false,
    envFile: false,
    appType: 'custom',
    logLevel: 'silent',
    clearScreen: false,
    cacheDir: join(root, '.svc/cache/vite'),
    server: { middlewareMode: true, ws: false, watch: { ignored: ['**/.svc/**', '**/dist/**'] } },
    optimizeDeps: { noDiscovery: true },
    environments: {
      [ENVIRONMENT]: {
        dev: {
          createEnvironment: (name, config) =>
            createRunnableDevEnvironment(name, config, { runnerOptions: { hmr: false } }),
        },
      },
    },
    plugins: [
      svcPlugin({ root, cacheDir: join(root, '.svc/cache/modules'), runtimeGlobal: true }),
      reloadPlugin(onEdit),
    ],
  });
}

/** Answers Vite's own edit event, after its graph is invalidated; a watcher of our own would race it. */
function reloadPlugin(onEdit: (file: string) => void): Plugin {
  return {
    name: 'svc:reload',
    hotUpdate({ file, modules }) {
      if (this.environment.name !== ENVIRONMENT) return [];
      const environment = this.environment as RunnableDevEnvironment;
      invalidate(
        environment,
        modules.map(({ id }) => id).filter((id) => id !== null),
      );
      if (/\.(?:[mc]?[jt]sx?|json|md)$/.test(file)) onEdit(file);
      return [];
    },
  };
}

/** Forgets the evaluated modules and whatever evaluated module imports them, so that they run again. */
function invalidate(environment: RunnableDevEnvironment, ids: string[]): void {
  const { evaluatedModules } = environment.runner;
  const pending = [...ids];
  const seen = new Set<string>();
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const module = evaluatedModules.getModuleById(id);
    if (!module || seen.has(id)) continue;
    seen.add(id);
    pending.push(...module.importers);
    evaluatedModules.invalidateModule(module);
  }
}

interface ProgramOptions {
  manifest: Manifest;
  environment: RunnableDevEnvironment;
  root: string;
  hashOf(file: string): string;
}

function createProgram({ manifest, environment, root, hashOf }: ProgramOptions): Program {
  return {
    manifest,
    async load(file) {
      const path = join(root, file).split(sep).join('/');
      try {
        const exports = (await environment.runner.import(path)) as Record<string, unknown>;
        return { exports, hash: hashOf(path) };
      } catch (error) {
        throw Object.assign(new Error((error as Error).message), { problem: toProblem(error, { root, file }) });
      }
    },
  };
}

async function loadConfig(environment: RunnableDevEnvironment, root: string): Promise<WorkspaceConfig> {
  const file = join(root, CONFIG_FILE);
  if (!existsSync(file)) return {};
  const module = (await environment.runner.import(file)) as { default?: WorkspaceConfig };
  return module.default ?? {};
}
