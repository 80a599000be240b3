import { spawn } from 'node:child_process';
import { CreateError } from './errors.ts';

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The one this command was started with, else npm. */
export function detectManager(env: Record<string, string | undefined>): PackageManager {
  const [, name = ''] = /^(\w+)\//.exec(env.npm_config_user_agent ?? '') ?? [];
  return MANAGERS.find((manager) => manager === name) ?? 'npm';
}

/** How a dependency on a folder is written so that the folder is linked and not copied. */
export function linkTo(manager: PackageManager, folder: string): string {
  return `${manager === 'pnpm' || manager === 'yarn' ? 'link' : 'file'}:${folder}`;
}

/** The command of a script of package.json, and the one of a bin that is installed. */
export function commandsOf(manager: PackageManager): { install: string; run: string; exec: string } {
  return {
    install: `${manager} install`,
    run: manager === 'npm' || manager === 'bun' ? `${manager} run` : manager,
    exec: { npm: 'npx', pnpm: 'pnpm', yarn: 'yarn', bun: 'bunx' }[manager],
  };
}

export interface InstallOptions {
  dir: string;
  manager: PackageManager;
  env: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
}

/** Runs the install of the package manager to its end. Throws with the last lines it printed. */
export async function installPackages({ dir, manager, env, signal }: InstallOptions): Promise<void> {
  const child = spawn(manager, ['install'], {
    cwd: dir,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal ? { signal } : {}),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-KEPT)));
  const outcome = await new Promise<string>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? `there is no command "${manager}"` : error.message),
    );
    child.on('close', (code, killed) => resolve(code === 0 ? '' : `it ended with ${killed ?? `code ${code}`}`));
  });
  if (outcome === '') return;
  const output = said.trim().split('\n').slice(-LINES);
  const last = output.at(-1) ? ` It said last: ${output.at(-1)}` : '';
  throw new CreateError(
    'install_failed',
    `The workspace is complete in "${dir}", but "${manager} install" failed: ${outcome}.${last}`,
    {
      suggestion: `Run \`${manager} install\` in that folder, or leave it to later with --no-install.`,
      details: { dir, manager, output },
    },
  );
}

// --- internal ---

const MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const;
const KEPT = 8_000;
const LINES = 20;
