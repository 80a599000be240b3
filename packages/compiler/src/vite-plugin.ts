import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import type { Plugin } from 'vite';
import { emitHostModule, hostModuleOf, resolveHostModule } from './host-modules.ts';
import { createCachedTransform } from './transform-cache.ts';

export interface SvcPluginOptions {
  /** The workspace. Modules outside of it, and in `node_modules`, are left alone. */
  root: string;
  /** Where transformed modules are kept between processes. Left out: nowhere. */
  cacheDir?: string | undefined;
  /**
   * True under `svc dev`: the runtime is the instance the host put on `globalThis[Symbol.for('svc.runtime')]`.
   * Otherwise it stays an import the bundle leaves to the place it runs in.
   */
  runtimeGlobal?: boolean | undefined;
}

/** Directives and the runtime's names, for the dev host and the build alike. */
export function svcPlugin({ root, cacheDir, runtimeGlobal = false }: SvcPluginOptions): Plugin {
  const base = realpathSync(root);
  const transform = createCachedTransform(cacheDir);
  return {
    name: 'svc',
    enforce: 'pre',
    resolveId: {
      filter: { id: /^(?:@svc\/runtime(?:\/internal)?|workflow(?:\/api|\/errors)?|@workflow\/(?:serde|errors))$/ },
      handler: (source) => resolveHostModule(source, runtimeGlobal),
    },
    load: {
      // oxlint-disable-next-line no-control-regex -- a virtual module's id begins with a zero byte by convention
      filter: { id: /^\0svc-runtime:/ },
      handler(id) {
        const name = hostModuleOf(id);
        return name && emitHostModule(name);
      },
    },
    transform: {
      // The parser decides; this only keeps the modules without a directive or a class of ours from crossing into JavaScript.
      filter: {
        id: { include: /\.[mc]?[jt]sx?(?:\?|$)/, exclude: /\/node_modules\// },
        code: /use (?:step|workflow)|WORKFLOW_SERIALIZE|workflow-serialize/,
      },
      async handler(code, id) {
        const [path = id] = id.split('?');
        const file = relative(base, path).split(sep).join('/');
        if (!isAbsolute(path) || file.startsWith('../')) return null;
        const result = await transform({ code, file, id: path });
        return result && { code: result.code, map: { ...result.map, sourcesContent: result.map.sourcesContent ?? [] } };
      },
    },
  };
}
