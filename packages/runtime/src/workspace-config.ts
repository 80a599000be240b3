import { isOriginEntry } from './http/cors.ts';
import { checkMembers } from './definition-checks.ts';
import { checkRetention } from './retention/retention.ts';
import type { RetentionOptions } from './retention/retention.ts';

export interface WorkspaceConfig {
  /** The model of every agent that names none, as `<vendor>/<model>`. */
  model?: string;
  /** How long sessions and runs that are over are kept, and log records. Default: for ever; log records 14 days. */
  retention?: RetentionOptions;
  studio?: {
    /**
     * Origins whose pages may call the box, besides the built-in ones: `https://app.example.com`, with `*` for one label
     * of the host, or for the port.
     */
    corsOrigins?: string[];
  };
  mcp?: {
    /** Offers each agent and each workflow as a tool of its own at `/mcp`. Default: false. */
    tools?: boolean;
  };
}

const MEMBERS: (keyof WorkspaceConfig)[] = ['model', 'retention', 'studio', 'mcp'];

/**
 * Types `svc.config.ts`, the workspace's settings in code. Throws on a setting that there is not, on an origin that is
 * none, and on a time that is none.
 */
export function defineConfig(config: WorkspaceConfig): WorkspaceConfig {
  checkMembers('svc.config.ts', config, MEMBERS);
  checkMembers('"retention" of svc.config.ts', config.retention ?? {}, ['sessionDays', 'runDays', 'logDays']);
  checkMembers('"studio" of svc.config.ts', config.studio ?? {}, ['corsOrigins']);
  checkMembers('"mcp" of svc.config.ts', config.mcp ?? {}, ['tools']);
  for (const origin of config.studio?.corsOrigins ?? [])
    if (!isOriginEntry(origin))
      throw new TypeError(
        `"studio.corsOrigins" has the entry "${String(origin)}", which is no origin. Write scheme and host, as in https://app.example.com, without a path.`,
      );
  checkRetention(config.retention);
  return config;
}

/** The settings a loaded `svc.config.ts` exports. Throws a sentence when it exports none, or some that make no sense. */
export function toWorkspaceConfig(exports: Record<string, unknown>): WorkspaceConfig {
  const config = exports['default'];
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return defineConfig(config);
  throw new TypeError(
    'The default export of "svc.config.ts" is not an object of settings. Write: export default defineConfig({ ... }).',
  );
}
