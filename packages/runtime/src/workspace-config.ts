export interface WorkspaceConfig {
  /** The model of every agent that names none, as `<vendor>/<model>`. */
  model?: string;
}

/** Types `svc.config.ts`, the workspace's settings in code. */
export function defineConfig(config: WorkspaceConfig): WorkspaceConfig {
  return config;
}
