import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { CommandError } from './errors.ts';
import { findLeftOut } from './native.ts';

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

/** Runs the install of the package manager to its end. Throws with the reason it printed. */
export async function installPackages(options: InstallOptions): Promise<void> {
  await runInstall(['install'], options);
  const left = options.manager === 'npm' ? findLeftOut(options.dir) : undefined;
  // Not a dependency of the workspace, which may be installed on another machine.
  if (left !== undefined) await runInstall(['install', '--no-save', left], options);
}

// --- internal ---

async function runInstall(args: string[], { dir, manager, env, signal }: InstallOptions): Promise<void> {
  const child = spawn(manager, args, {
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
  const lines = said.trim().split('\n');
  const reason = findReason(lines);
  throw new CommandError(
    'install_failed',
    `The workspace is complete in "${dir}", but "${manager} install" failed: ${outcome}.${reason ? ` It said: ${reason}` : ''}`,
    {
      suggestion: `Run \`${manager} install\` in that folder, or leave it to later with --no-install.`,
      details: { dir, manager, output: lines.slice(-LINES) },
    },
  );
}

const MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const;
const KEPT = 32_000;
const LINES = 20;
const SHOWN = 2;

/** How each package manager begins a line about a failure. */
const FAILURE = /^(?:(?:npm (?:error|ERR!)|error:?|➤ YN(?:0001|0009|0035|0082): [│└]?)(?:\s+|$)|(?=ERR_PNPM_))/;
/** Labels npm puts before a sentence: `404`, `network`, `ERESOLVE`. */
const LABEL = /^(?:\d{3}|network|nospc|notarget|notsup|engine|git|E[A-Z]{3,})(?:\s+|$)/;
/** Of these lines no reason can be read. */
const MUTE =
  /^(?:(?:code|errno|syscall|path|dest)\b|A complete log of this run|.*debug-\d+\.log$|Note that you can|tarball, folder|[{}]|$)/;

/** The first lines that say what went wrong, else the last one. */
function findReason(lines: readonly string[]): string {
  const failures = lines
    .map((line) => stripVTControlCharacters(line).trim())
    .filter((line) => FAILURE.test(line))
    .map((line) => line.replace(FAILURE, '').replace(LABEL, '').trim())
    .filter((line) => !MUTE.test(line));
  const stack = failures.findIndex((line) => line.startsWith('at '));
  const shown = failures.length > 0 ? failures.slice(0, stack > 0 ? Math.min(stack, SHOWN) : SHOWN) : lines.slice(-1);
  return shown.join('; ');
}
