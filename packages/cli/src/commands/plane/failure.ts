import { CliError } from '../../errors.ts';

/** What the control plane says in sentences of its own. */
export function toPlaneFailure(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  if (typeof code !== 'string' || !/^[a-z_]+$/.test(code)) return error;
  const suggestion = SUGGESTIONS[code];
  return new CliError(code.startsWith('port_') ? 'generic' : code, message, suggestion ? { suggestion } : {});
}

export function rethrowPlaneFailure(error: unknown): never {
  throw toPlaneFailure(error);
}

// --- internal ---

const SUGGESTIONS: Record<string, string | undefined> = {
  port_busy: 'Stop the other process, or name another port: svc plane --port 3001',
  already_running: 'Open its address in a browser, or name another folder: svc plane --data-dir ./plane',
  conflict: 'Nothing was written.',
  invalid_request: 'Name a file that `svc plane backup` has written.',
  not_found: 'Check the path; nothing was written.',
  secret_key_wrong: 'Put the secret.key that belongs to the backup into the folder, then try again.',
  database_newer: 'Update this command, then try again.',
  database_older: 'Start it once with `svc plane`, then try again.',
  limit_reached: 'Nothing was changed. With a key that has leaked: svc plane rotate-keys --revoke',
};
