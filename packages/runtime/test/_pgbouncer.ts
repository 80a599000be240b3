import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile, chmod } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { administer, createDatabase } from '../src/engine/stores/_clients.ts';
import { realServers } from './require.ts';
import type { Requirement } from './require.ts';

/** The program, and the server it is to stand before. */
export const pgBouncer: Requirement<{ program: string; server: string }> = {
  value:
    process.env['PGBOUNCER_PATH'] && realServers.database.value
      ? { program: process.env['PGBOUNCER_PATH'], server: realServers.database.value }
      : undefined,
  missing: 'PGBOUNCER_PATH and SVC_TEST_DATABASE_URL (run CI_PROXIES=1 .ci/services.sh)',
};

/**
 * PgBouncer in transaction mode before a database of its own, with fewer sessions than its clients have connections: each
 * transaction is in another session than the one before.
 */
export async function startPgBouncer({ program, server }: { program: string; server: string }) {
  const database = await createDatabase(server);
  const name = new URL(database.url).pathname.slice(1);
  await administer(server, `alter database ${name} set search_path = public`);
  const { hostname, port: serverPort, username, password } = new URL(server);
  const folder = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await findPort();
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(
    config,
    `[databases]
${name} = host=${hostname} port=${serverPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
unix_socket_dir =
`,
  );
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(program, [...asUser, config], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = `${said}${String(chunk)}`.slice(-2_000)));
  const url = `postgres://${username}@127.0.0.1:${port}/${name}`;
  const stop = async () => {
    child.kill('SIGKILL');
    await database.drop();
    await rm(folder, { recursive: true });
  };
  try {
    await vi.waitFor(() => administer(url, 'select 1'), { timeout: 20_000, interval: 50 });
  } catch (error) {
    await stop();
    throw new Error(`PgBouncer does not serve: ${said}`, { cause: error });
  }
  return { url, stop };
}

// --- internal ---

async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
