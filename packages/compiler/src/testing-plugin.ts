import type { Plugin } from 'vite';
import { packageNameOf } from './host-modules.ts';
import { svcPlugin } from './vite-plugin.ts';
import { resolveOptions } from './workspace-server.ts';

/**
 * For `vitest.config.ts`: compiles what tests import of the workspace as `svc dev` does, with the runtime the workspace has
 * installed. Give it the workspace's root where tests are started elsewhere.
 */
export function svcTesting({ root = process.cwd() }: { root?: string } = {}): Plugin {
  return {
    ...svcPlugin({ root }),
    name: 'svc-testing',
    config: () => ({ resolve: resolveOptions(root) }),
    resolveId: {
      filter: { id: /^(?:workflow(?:\/api|\/errors)?|@workflow\/(?:serde|errors))$/ },
      handler(source, importer) {
        const name = packageNameOf(source);
        return name ? this.resolve(name, importer, { skipSelf: true }) : null;
      },
    },
  };
}
