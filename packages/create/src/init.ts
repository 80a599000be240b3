import { resolve } from 'node:path';
import type { Choices } from './choices.ts';
import { createWorkspace } from './create.ts';
import type { Created } from './create.ts';
import { detectManager, installPackages } from './manager.ts';
import { reportCreated } from './report.ts';
import type { InitReport } from './report.ts';

export interface InitOptions extends Choices {
  /** Relative to `cwd`. */
  dir: string;
  name?: string | undefined;
  install: boolean;
  force: boolean;
  cwd: string;
  env: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
  /** One line of talk, before what takes long. */
  say(line: string): void;
  /** Called with the files in place, before the packages. */
  onCreated?(created: Created): Promise<void>;
}

/** What `svc init` and `npm create svc` do: the workspace, then its packages. */
export async function init(options: InitOptions): Promise<InitReport> {
  const { cwd, env, install, signal, say } = options;
  const manager = detectManager(env);
  const { name, force, with: template, provider, model } = options;
  const dir = resolve(cwd, options.dir);
  const created = createWorkspace({ dir, name, with: template, provider, model, force, manager });
  await options.onCreated?.(created);
  if (install) {
    say(`Installing its packages with ${manager} …`);
    await installPackages({ dir: created.dir, manager, env, signal });
  }
  return reportCreated(created, { manager, installed: install, cwd });
}
