// @ts-check
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** @typedef {'postgres' | 'redis'} ServerName */

/** Whether this machine can run servers of its own. Undefined: it cannot. */
export function findServers() {
  const root = `${process.env.CI_SERVICES_DIR ?? '/var/tmp/svc-test-services'}/root`;
  return process.getuid?.() === 0 && existsSync(root) ? root : undefined;
}

/**
 * A server for one torture alone, beside those of the tests, which are never touched.
 * @param {ServerName} name
 */
export async function startServer(name) {
  const port = await findPort();
  const instance = `-torture-${process.pid}-${port}`;
  const env = { ...process.env, CI_INSTANCE: instance, CI_PG_PORT: String(port), CI_KV_PORT: String(port) };
  const script = (/** @type {string} */ command) => promisify(execFile)(SCRIPT, [command, name], { env });
  await script('up');
  return {
    url: name === 'postgres' ? `postgres://svc:svc@127.0.0.1:${port}/svc` : `redis://127.0.0.1:${port}/0`,
    port,
    start: () => script('up'),
    /** Without a word to its clients; what it has not written is lost. */
    crash: () => script('crash'),
    remove: () => script('remove'),
  };
}

// --- internal ---

const SCRIPT = fileURLToPath(new URL('../.ci/services.sh', import.meta.url));

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
