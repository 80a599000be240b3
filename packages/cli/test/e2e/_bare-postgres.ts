import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, findPort } from './_setup.ts';

/** The programs of a PostgreSQL on this machine that has no pgvector. Undefined: there is none. */
export function findBarePostgres(): string | undefined {
  const versions = existsSync(LIB) ? readdirSync(LIB) : [];
  const bare = versions.find(
    (version) =>
      existsSync(join(LIB, version, 'bin/initdb')) &&
      existsSync(join(SHARE, version, 'extension')) &&
      !existsSync(join(SHARE, version, 'extension/vector.control')),
  );
  return bare === undefined ? undefined : join(LIB, bare, 'bin');
}

/** A new server in a folder that goes with it. */
export async function startBarePostgres(bin: string): Promise<{ url: string; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-bare-'));
  // PostgreSQL does not run as root.
  const user = process.getuid?.() === 0 ? { uid: USER, gid: USER } : {};
  if (user.uid !== undefined) chownSync(dir, USER, USER);
  const data = join(dir, 'data');
  const options = { cwd: dir, ...user };
  await promisify(execFile)(join(bin, 'initdb'), ['-D', data, '-U', 'svc', '-A', 'trust', '--no-sync'], options);
  const port = await findPort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${dir}`, 'fsync=off'];
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], options);
  let said = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise<void>((done) => server.once('close', () => done()));
  await eventually(() => said.includes('ready to accept connections'), { within: 60_000 });
  return {
    url: `postgres://svc@127.0.0.1:${port}/postgres`,
    async stop() {
      server.kill('SIGQUIT');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

// --- internal ---

const LIB = '/usr/lib/postgresql';
const SHARE = '/usr/share/postgresql';
/** Anybody but root. */
const USER = 65_534;
