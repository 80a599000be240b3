import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import {
  createHasher,
  createScanner,
  syncWorkspace,
  toProblem,
  toServerConfig,
  WORKSPACE_ENVIRONMENT as ENVIRONMENT,
} from '@svc/compiler';
import type { LoadedModule, Problem, Program, WorkspaceConfig } from '@svc/runtime/host';
import { createRunnableDevEnvironment, createServer } from 'vite';
import type { Plugin, RunnableDevEnvironment, ViteDevServer } from 'vite';
import { formatProblem } from '../format.ts';
import { shareRuntime } from '../share-runtime.ts';
import { isFirst } from './banner.ts';
import { createRunner } from './runner.ts';
import { createWatch, forgetFailed, forgetModules } from './watch.ts';
import type { Edit } from './watch.ts';

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

const CONFIG_FILE = 'svc.config.ts';

/** Scans, writes the types and starts the module runner. Modules load when the box asks for them. */
export async function openHost({ root, say }: HostOptions): Promise<Host> {
  await shareRuntime();
  const scanner = createScanner({ root, cacheFile: join(root, '.svc/cache/scan.json') });
  let apply: ((program: Program) => Promise<Problem[]>) | undefined;
  const watch = createWatch({ environment: ENVIRONMENT, say });
  const [server, first] = await Promise.all([startVite(root, watch.plugin), syncWorkspace({ root, scanner })]);
  const environment = server.environments[ENVIRONMENT] as RunnableDevEnvironment;
  const modules: Modules = { environment, root, hashOf: createHasher(environment, root) };
  let { manifest, problems } = first;
  let config = await loadConfig(modules, {});
  let shown = '';

  const program = (): Program => ({ manifest, load: (file) => loadModule(modules, file) });

  const update = async (edits: Edit[]): Promise<void> => {
    const started = performance.now();
    forgetModules(
      environment,
      edits.flatMap((edit) => edit.modules),
    );
    ({ manifest, problems } = await syncWorkspace({ root, scanner }));
    config = await loadConfig(modules, config.value);
    const failed = (await apply?.(program())) ?? [];
    const found = [...problems, ...config.problems, ...failed].filter(isFirst);
    const text = found.map(formatProblem).join('\n');
    if (text !== '' && text !== shown) say(text);
    else if (text === '') say(formatReloaded(edits, { root, ms: performance.now() - started }));
    shown = text;
  };
  watch.start((edits) => update(edits).catch((error: unknown) => say(`Reload failed: ${String(error)}`)));

  return {
    program,
    config: () => config.value,
    problems: () => [...problems, ...config.problems],
    onChange(next) {
      apply = next;
    },
    async close() {
      await watch.close();
      await server.close();
    },
  };
}

// --- internal ---

function startVite(root: string, watch: Plugin): Promise<ViteDevServer> {
  return createServer({
    ...toServerConfig({ root, plugins: [watch], cacheDir: join(root, '.svc/cache/modules') }),
    environments: {
      [ENVIRONMENT]: {
        dev: {
          createEnvironment: (name, config) => createRunnableDevEnvironment(name, config, { runner: createRunner }),
        },
      },
    },
  });
}

interface Modules {
  environment: RunnableDevEnvironment;
  root: string;
  hashOf(file: string): Promise<string>;
}

async function loadModule({ environment, root, hashOf }: Modules, file: string): Promise<LoadedModule> {
  const path = join(root, file).split(sep).join('/');
  try {
    const exports = (await environment.runner.import(path)) as Record<string, unknown>;
    return { exports, hash: await hashOf(path) };
  } catch (error) {
    await forgetFailed(environment, path);
    throw Object.assign(new Error((error as Error).message), { problem: toProblem(error, { root, file }) });
  }
}

interface LoadedConfig {
  value: WorkspaceConfig;
  problems: Problem[];
}

/** A config that does not load leaves the last good one in force. */
async function loadConfig(modules: Modules, last: WorkspaceConfig): Promise<LoadedConfig> {
  if (!existsSync(join(modules.root, CONFIG_FILE))) return { value: {}, problems: [] };
  try {
    const { exports } = await loadModule(modules, CONFIG_FILE);
    return { value: (exports.default as WorkspaceConfig | undefined) ?? {}, problems: [] };
  } catch (error) {
    return { value: last, problems: [(error as { problem: Problem }).problem] };
  }
}

function formatReloaded(edits: Edit[], { root, ms }: { root: string; ms: number }): string {
  const files = [...new Set(edits.map(({ file }) => relative(root, file)))];
  return `reloaded ${files.join(', ')} in ${Math.round(ms)} ms`;
}
