import { createRunnableDevEnvironment, createServer } from 'vite';
import type { ViteDevServer } from 'vite';
import { onTestFinished } from 'vitest';
import { svcPlugin } from '../src/vite-plugin.ts';
import type { SvcPluginOptions } from '../src/vite-plugin.ts';

type Callable = (this: unknown, ...args: unknown[]) => unknown;

export interface FakeRuntime {
  index: Record<string, unknown>;
  internal: Record<string, unknown>;
  /** Ids of the steps that were called, with their arguments. */
  calls: { id: string; args: unknown[]; options: Record<string, unknown> }[];
  marked: Map<unknown, string>;
}

/** A stand-in for the runtime: it runs every step at once and remembers it. Installed until the test ends. */
export function installRuntime(): FakeRuntime {
  const calls: FakeRuntime['calls'] = [];
  const marked = new Map<unknown, string>();
  const factories = new Map<string, (closure: object, self: Callable) => Callable>();
  function callStep(
    id: string,
    fn: Callable,
    impl: Callable | null,
    self: unknown,
    args: unknown[],
    capture = () => ({}),
  ): unknown {
    calls.push({ id, args, options: { ...fn } });
    return (impl ?? factories.get(id)?.(capture(), fn))?.apply(self, args);
  }
  function createClosure(id: string, capture?: () => object): Callable {
    return function step(this: unknown, ...args: unknown[]) {
      return callStep(id, step, null, this, args, capture);
    };
  }
  function createStep(id: string, impl: Callable): Callable {
    return function step(this: unknown, ...args: unknown[]) {
      return callStep(id, step, impl, this, args);
    };
  }
  const runtime: FakeRuntime = {
    index: { sleep: async (time: string) => time, defineDeepAgent: (value: unknown) => value },
    internal: {
      callStep,
      loadModule: <T>(load: (...given: unknown[]) => Promise<T>, ...given: unknown[]) => load(...given),
      bindCallback: <T>(fn: T) => fn,
      bindNamed: <T>(fn: T) => fn,
      bindStep: <T>(fn: T) => fn,
      createStep,
      createClosure,
      registerStep() {},
      registerClosure: (id: string, factory: (closure: object, self: Callable) => Callable) =>
        factories.set(id, factory),
      markMisplaced: () => {},
      markWorkflow: (fn: unknown, name: string) => marked.set(fn, name),
    },
    calls,
    marked,
  };
  const key = Symbol.for('svc.runtime');
  (globalThis as Record<symbol, unknown>)[key] = runtime;
  onTestFinished(() => {
    delete (globalThis as Record<symbol, unknown>)[key];
  });
  return runtime;
}

export interface DevHost {
  server: ViteDevServer;
  import<T>(file: string): Promise<T>;
  close(): Promise<void>;
}

/** Vite as the dev host runs it: one named environment, no port, the runtime from `globalThis`. */
export async function startHost(root: string, options: Partial<SvcPluginOptions> = {}): Promise<DevHost> {
  const server = await createServer({
    configFile: false,
    root,
    appType: 'custom',
    logLevel: 'silent',
    server: { middlewareMode: true, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
    environments: {
      box: {
        dev: {
          createEnvironment: (name, config) =>
            createRunnableDevEnvironment(name, config, {
              // Under a test runner the default, Node's own source maps, is switched off.
              runnerOptions: { hmr: false, sourcemapInterceptor: 'prepareStackTrace' },
            }),
        },
      },
    },
    plugins: [svcPlugin({ root, runtimeGlobal: true, ...options })],
  });
  const { runner } = server.environments['box'] as ReturnType<typeof createRunnableDevEnvironment>;
  const host = {
    server,
    import: <T>(file: string) => runner.import<T>(`/${file}`),
    close: () => server.close(),
  };
  onTestFinished(() => host.close());
  return host;
}
