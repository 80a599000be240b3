import { untilStopped } from '../../runtime/src/boot/until-stopped.ts';
import { BoxError } from '../../runtime/src/errors.ts';
import { readSettings } from './config.ts';
import { PlaneError } from './errors.ts';
import { createPlane } from './plane.ts';

/**
 * `svc-control-plane [backup|restore <file>]`: the process of a container, or a command beside it. Ends with 1 and the reason on stderr when it does not start, with 0
 * after SIGTERM or SIGINT; a second signal ends it at once.
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

async function runCommand([command, file, ...more]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const isKnown = command === 'backup' || command === 'restore';
  if (!isKnown || file === undefined || more.length > 0)
    throw new PlaneError('invalid_request', 'Usage: svc-control-plane [backup <file> | restore <file>]');
  const { full } = readSettings(env);
  if (!full) throw new PlaneError('invalid_request', 'The standalone mode keeps nothing: there is nothing to back up.');
  const { backUpToFile, restoreFromFile } = await import('./backup-file.ts');
  const rows = command === 'backup' ? await backUpToFile(full, file) : await restoreFromFile(full, file);
  process.stderr.write(`${command === 'backup' ? 'Backed up' : 'Restored'} ${rows} rows.\n`);
  return 0;
}
