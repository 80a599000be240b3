import { resolve } from 'node:path';
import { BoxError } from '../errors.ts';
import { boot, bootSupervised } from './boot.ts';
import { untilStopped } from './until-stopped.ts';
import { createForker, SUPERVISED, superviseProcess } from './isolation.ts';
import { takeOwnSecrets } from './own-secrets.ts';

/**
 * `svc-box [bundle]`: the process of a container. Ends with 1 and the reason on stderr when the box does not start, with
 * 0 after SIGTERM or SIGINT; a second signal ends it at once. `env` is left without the secrets of the box. `svc-box keys …`
 * is a command beside it.
 */
export async function runBox(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  process.setSourceMapsEnabled(true);
  if (argv[0] === 'keys') return runKeys(argv.slice(1), env);
  const bundleDir = resolve(argv[0] ?? '.');
  // Before a module of the workspace is loaded.
  const whole = takeOwnSecrets(env);
  if (argv.includes(SUPERVISED)) return runSupervised(bundleDir, whole);
  const stopped = untilStopped();
  const [, module] = process.argv;
  try {
    const isolate = module === undefined ? {} : { isolate: createForker({ module, args: [bundleDir], env: whole }) };
    const running = await Promise.race([boot({ env: whole, bundleDir, ...isolate }), stopped]);
    // Stopped while it started: what it has done so far is undone or done again by the next boot.
    if (!running) return 0;
    await stopped;
    await running.close();
    return 0;
  } catch (error) {
    process.stderr.write(`${formatFailure(error)}\n`);
    return 1;
  }
}

// --- internal ---

async function runKeys(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { runKeysCommand } = await import('./keys-command.ts');
    const { stdout, stderr } = await runKeysCommand(argv, env);
    if (stderr !== '') process.stderr.write(`${stderr}\n`);
    if (stdout !== '') process.stdout.write(`${stdout}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${formatFailure(error)}\n`);
    return (error as { code?: unknown }).code === 'invalid_request' ? 2 : 1;
  }
}

/** The process that another of the same box has begun for runs that may have killed theirs. */
async function runSupervised(bundleDir: string, env: NodeJS.ProcessEnv): Promise<number> {
  const { supervisor, closed } = superviseProcess();
  try {
    const running = await bootSupervised({ env, bundleDir, supervisor });
    await closed;
    await running.close();
    return 0;
  } catch (error) {
    process.stderr.write(`${formatFailure(error)}\n`);
    return 1;
  }
}

/** What a person can act on is a sentence; anything else is a bug and comes with its stack. */
function formatFailure(error: unknown): string {
  const isPort = ['port_busy', 'port_unusable'].includes(String((error as { code?: unknown }).code));
  if (error instanceof BoxError || isPort) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
