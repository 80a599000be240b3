import { join, sep } from 'node:path';
import {
  compileModule,
  createHasher,
  createSources,
  toProblem,
  toServerConfig,
  WORKSPACE_ENVIRONMENT as ENVIRONMENT,
} from '@svc/compiler';
import type { LoadedModule } from '@svc/runtime/host';
import { createRunnableDevEnvironment, createServer } from 'vite';
import type { Plugin, RunnableDevEnvironment } from 'vite';
import { createRunner } from './runner.ts';
import { forgetFailed } from './watch.ts';

/** The modules of a workspace, in a runner of their own. */
export interface Modules {
  environment: RunnableDevEnvironment;
  /** What fails carries the `problem`, and is tried again by the next load. */
  load(file: string): Promise<LoadedModule>;
  close(): Promise<void>;
}

export interface ModulesOptions {
  root: string;
  plugins?: Plugin[];
}

export async function openModules({ root, plugins = [] }: ModulesOptions): Promise<Modules> {
  const sources = createSources(root);
  const server = await createServer({
    ...toServerConfig({ root, plugins: [...plugins, sources.plugin], cacheDir: join(root, '.svc/cache/modules') }),
    environments: {
      [ENVIRONMENT]: {
        dev: {
          createEnvironment: (name, config) => createRunnableDevEnvironment(name, config, { runner: createRunner }),
        },
      },
    },
  });
  const environment = server.environments[ENVIRONMENT] as RunnableDevEnvironment;
  const hashOf = createHasher(environment, root);
  return {
    environment,
    async load(file) {
      const path = join(root, file).split(sep).join('/');
      try {
        const exports = (await environment.runner.import(path)) as Record<string, unknown>;
        const [hash, texts] = [await hashOf(path), await sources.list(environment, path)];
        return { exports, hash, compiled: () => compileModule(root, file, texts) };
      } catch (error) {
        await forgetFailed(environment, path);
        throw Object.assign(new Error((error as Error).message), { problem: toProblem(error, { root, file }) });
      }
    },
    close: () => server.close(),
  };
}
