import { runOutside } from '@svc/runtime/host';
import { createServerModuleRunnerTransport } from 'vite';
import type { RunnableDevEnvironment } from 'vite';
import {
  createDefaultImportMeta,
  createNodeImportMeta,
  ESModulesEvaluator,
  ModuleRunner,
  ssrDynamicImportKey,
} from 'vite/module-runner';
import type { ModuleEvaluator, ModuleRunnerImportMeta } from 'vite/module-runner';

/** The module runner of a Vite environment: Vite's own, but for `import()` in a workflow body and what `import.meta` costs. */
export function createRunner(environment: RunnableDevEnvironment): ModuleRunner {
  return new ModuleRunner(
    {
      transport: createServerModuleRunnerTransport({ channel: environment.hot }),
      hmr: false,
      createImportMeta,
      sourcemapInterceptor: 'node',
    },
    createEvaluator(),
  );
}

// --- internal ---

/** Vite loads a module with timers and messages, which a workflow body is refused: its `import()` is the host's doing. */
function createEvaluator(): ModuleEvaluator {
  const evaluator = new ESModulesEvaluator();
  return {
    startOffset: evaluator.startOffset,
    runInlinedModule: (context, code) =>
      evaluator.runInlinedModule(
        {
          ...context,
          [ssrDynamicImportKey]: (...given) => runOutside(() => context[ssrDynamicImportKey](...given)),
        },
        code,
      ),
    runExternalModule: (file) => evaluator.runExternalModule(file),
  };
}

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
