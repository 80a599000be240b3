import { createServerModuleRunnerTransport } from 'vite';
import type { RunnableDevEnvironment } from 'vite';
import { createDefaultImportMeta, createNodeImportMeta, ModuleRunner } from 'vite/module-runner';
import type { ModuleRunnerImportMeta } from 'vite/module-runner';

/** The module runner of a Vite environment: Vite's own, but for what `import.meta` costs. */
export function createRunner(environment: RunnableDevEnvironment): ModuleRunner {
  return new ModuleRunner({
    transport: createServerModuleRunnerTransport({ channel: environment.hot }),
    hmr: false,
    createImportMeta,
    sourcemapInterceptor: 'node',
  });
}

// --- internal ---

/**
 * `import.meta.resolve` is made ready when it is first called: for it, Vite registers a loader hook, and with one
 * Node 20 starts a thread (a fifth of a second, 20 MB) and asks that thread about every `import()` from then on.
 */
function createImportMeta(path: string): ModuleRunnerImportMeta & { main: boolean } {
  return {
    ...createDefaultImportMeta(path),
    main: false,
    resolve: (id, parent) => createNodeImportMeta(path).resolve(id, parent),
  };
}
