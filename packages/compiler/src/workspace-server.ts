import { join } from 'node:path';
import type { InlineConfig, Plugin } from 'vite';
import { readAliases } from './aliases.ts';
import { svcPlugin } from './vite-plugin.ts';

/** The environment of Vite that holds the workspace's modules. */
export const WORKSPACE_ENVIRONMENT = 'svc';

export interface WorkspaceServerOptions {
  root: string;
  plugins?: Plugin[];
  /** Where transformed modules are kept between processes. Left out: nowhere. */
  cacheDir?: string | undefined;
}

/** Aliases of `tsconfig.json` lead where TypeScript says. */
export function resolveOptions(root: string): { tsconfigPaths?: true } {
  return readAliases(root).key === '' ? {} : { tsconfigPaths: true };
}

/**
 * How Vite reads a workspace, under `svc dev` and wherever a build has to know what dev would make of a module: the hash
 * of a workflow is that of its modules as they come out of here.
 */
export function toServerConfig({ root, plugins = [], cacheDir }: WorkspaceServerOptions): InlineConfig {
  return {
    root,
    configFile: false,
    envFile: false,
    appType: 'custom',
    logLevel: 'silent',
    clearScreen: false,
    cacheDir: join(root, '.svc/cache/vite'),
    server: { middlewareMode: true, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
    resolve: resolveOptions(root),
    environments: { [WORKSPACE_ENVIRONMENT]: {} },
    plugins: [svcPlugin({ root, cacheDir, runtimeGlobal: true }), ...plugins],
  };
}
