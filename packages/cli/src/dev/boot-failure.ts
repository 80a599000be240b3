import { CliError, EXIT } from '../errors.ts';

export interface BootPlace {
  env: NodeJS.ProcessEnv;
  /** What --port says. */
  port: number | undefined;
}

/** Errors of the runtime carry a code; the ones a person can act on keep it, a port or a flag is `generic` by contract. */
export function toBootFailure(error: unknown, place: BootPlace): unknown {
  const { code, message = '', details = {} } = error as Partial<CliError>;
  if (error instanceof CliError || typeof code !== 'string' || !/^[a-z_]+$/.test(code)) return error;
  const suggestion = SUGGESTIONS[code]?.(details, place);
  return new CliError(code.startsWith('port_') ? 'generic' : code, message, {
    details,
    exitCode: EXIT.generic,
    ...(suggestion ? { suggestion } : {}),
  });
}

// --- internal ---

/** Where the port of the API is taken, the others of the same box most often are too: one variable moves them all. */
function suggestMove(taken: unknown, { env, port }: BootPlace): string {
  if (taken === port) return 'name another one with --port.';
  if (env.SVC_DEV_PORT_OFFSET?.trim()) return 'move every port of this box: change SVC_DEV_PORT_OFFSET.';
  return 'move every port of this box: SVC_DEV_PORT_OFFSET=100 svc dev';
}

/** What to do about a boot that failed; the message of the runtime says what happened. */
const SUGGESTIONS: Record<string, (details: Record<string, unknown>, place: BootPlace) => string> = {
  port_busy: ({ port }, place) => `Stop the other process, or ${suggestMove(port, place)}`,
  already_running: ({ pid }) =>
    pid ? `Press Ctrl-C in its terminal, or end it: kill ${String(pid)}` : 'Wait for it to end, then try again.',
  secret_key_invalid: () => 'Correct SVC_SECRET_KEY, or unset it to use the key in .svc/secret.key.',
  store_unavailable: () =>
    'Correct what the message names, then try again. A server that DATABASE_URL names has to run.',
  secret_key_wrong: () => 'Set SVC_SECRET_KEY to the key of the first boot, or unset it if that was .svc/secret.key.',
};
