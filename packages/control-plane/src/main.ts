import { untilStopped } from '../../runtime/src/boot/until-stopped.ts';
import { BoxError } from '../../runtime/src/errors.ts';
import { readSettings } from './config.ts';
import type { FullSettings } from './config.ts';
import { PlaneError } from './errors.ts';
import { createPlane } from './plane.ts';

/**
 * `svc-control-plane`: the process of a container; with one of `USAGE`, a command beside it. Ends with 1 and the reason on
 * stderr when it does not start, with 0 after SIGTERM or SIGINT; a second signal ends it at once.
 */
export async function runPlane(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    return argv.length === 0 ? await serve(env) : await runCommand(argv, env);
  } catch (error) {
    process.stderr.write(`${formatFailure(error)}\n`);
    return 1;
  }
}
/** What a person can act on is a sentence; anything else is a bug and comes with its stack. */
export function formatFailure(error: unknown): string {
  const isPort = ['port_busy', 'port_unusable'].includes(String((error as { code?: unknown }).code));
  if (error instanceof PlaneError || error instanceof BoxError || isPort) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

// --- internal ---

async function serve(env: NodeJS.ProcessEnv): Promise<number> {
  const stopped = untilStopped();
  const settings = readSettings(env);
  const plane = await createPlane({ settings });
  const { url } = await plane.listen().catch(async (error: unknown) => {
    await plane.close();
    throw error;
  });
  process.stderr.write(`The control plane (${settings.mode}) answers on ${url} as ${plane.publicUrl()}\n`);
  await stopped;
  await plane.close();
  return 0;
}

const USAGE =
  'Usage: svc-control-plane [backup <file> | restore <file> | reset-password <e-mail address> | rotate-keys [--revoke]]';

/** In the place of a file: stdout, or stdin. */
const STREAM = '-';

/** Answers what is said of it on stderr. */
type Command = (full: FullSettings, given: string) => Promise<string>;

const COMMANDS: Record<string, Command> = {
  async backup(full, file) {
    const rows =
      file === STREAM
        ? await (await import('./backup-stream.ts')).backUpToStream(full, process.stdout)
        : await (await import('./backup-file.ts')).backUpToFile(full, file);
    return `Backed up ${rows} rows.`;
  },
  async restore(full, file) {
    const rows =
      file === STREAM
        ? await (await import('./backup-stream.ts')).restoreFromStream(full, process.stdin)
        : await (await import('./backup-file.ts')).restoreFromFile(full, file);
    return `Restored ${rows} rows.`;
  },
  async 'reset-password'(full, address) {
    const { resetPassword } = await import('./recovery.ts');
    const { email, password } = await resetPassword(full, address);
    process.stdout.write(`${password}\n`);
    return `The new password of ${email}, which is signed out everywhere, and has no tokens and no link with a provider. It is shown once.`;
  },
  async 'rotate-keys'(full, flag) {
    const { rotateKeys } = await import('./recovery.ts');
    const { kid } = await rotateKeys(full, { revoke: flag === '--revoke' });
    return `The key "${kid}" signs within a minute.`;
  },
};

async function runCommand(
  [name = '', given = '', ...more]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  const isWhole = name === 'rotate-keys' ? ['', '--revoke'].includes(given) : given !== '';
  if (!command || !isWhole || more.length > 0) throw new PlaneError('invalid_request', USAGE);
  const { full } = readSettings(env);
  if (!full) throw new PlaneError('invalid_request', `The standalone mode keeps nothing: there is no ${name} of it.`);
  process.stderr.write(`${await command(full, given)}\n`);
  return 0;
}
