import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keepAttached } from '../../cli/src/dev/tunnel/keep.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import type { Requirement } from '../../runtime/test/require.ts';
import { fakeLookup } from './_lookup.ts';
import { findPort, makeFolder, startPlane, startStandalone } from './_setup.ts';

// The examples of docs/guide/self-host.md, as they stand there but for addresses and certificates.

const GUIDE = readFileSync(join(import.meta.dirname, '../../../docs/guide/self-host.md'), 'utf8');
const TOKEN = 'a-token-that-is-long-enough';
const NAME = 'studio.example.com';

const proxies: Requirement<{ nginx: string; caddy: string }> = {
  value:
    process.env.NGINX_PATH && process.env.CADDY_PATH
      ? { nginx: process.env.NGINX_PATH, caddy: process.env.CADDY_PATH }
      : undefined,
  missing: 'nginx and Caddy (set NGINX_PATH and CADDY_PATH)',
};

function exampleOf(name: string): string {
  const [, text] = new RegExp(`^\`\`\`\\w+ ${name}\n([^]*?)^\`\`\`$`, 'm').exec(GUIDE) ?? [];
  if (text === undefined) throw new Error(`The guide has no example "${name}".`);
  return text;
}

/** A box that answers word by word, when it is let go on, and counts what it is sent. */
async function startBox(): Promise<{ url: string; goOn(): void; seen: IncomingMessage['headers'][] }> {
  let goOn = (): void => {};
  const seen: IncomingMessage['headers'][] = [];
  const server = createServer(async (incoming, response) => {
    seen.push(incoming.headers);
    let size = 0;
    for await (const chunk of incoming) size += (chunk as Buffer).length;
    if (incoming.method === 'POST') return response.end(JSON.stringify({ size }));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
    goOn = () => response.end('data: second\n\n');
    return undefined;
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, goOn: () => goOn(), seen };
}

interface Asked {
  /** Default: that of the control plane. */
  name?: string;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A request to the proxy by a name. The certificate is that of the test. */
function ask(port: number, { name = NAME, method = 'GET', path, headers = {}, body }: Asked): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({
      port,
      host: '127.0.0.1',
      servername: name,
      method,
      path,
      headers: { host: name, ...headers },
      rejectUnauthorized: false,
      agent: false,
    });
    asked.once('response', resolve).once('error', reject).end(body);
  });
}

async function readText(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
}

function run(command: string, args: string[], env: Record<string, string> = {}): void {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  const ended = new Promise((done) => child.once('exit', done));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
}

const START = {
  nginx(program: string, { folder, port, plane, mode }: Place): void {
    const [pem, key] = [join(folder, 'pem'), join(folder, 'key')];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${NAME}`, '-keyout', key, '-out', pem],
      {
        stdio: 'ignore',
      },
    );
    const server = exampleOf(mode === 'full' ? 'server-full' : 'server')
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace(/\/etc\/ssl\/\S+\.pem/, pem)
      .replace(/\/etc\/ssl\/\S+\.key/, key)
      .replace('127.0.0.1:3000', `127.0.0.1:${plane}`);
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
    const config = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
      http { access_log off; ${temp.join(' ')} ${server} }`;
    writeFileSync(join(folder, 'nginx.conf'), config);
    run(program, ['-p', folder, '-c', join(folder, 'nginx.conf')]);
  },
  caddy(program: string, { folder, port, plane, mode }: Place): void {
    const [own = ''] = exampleOf(mode === 'full' ? 'caddy-full' : 'caddy').split('\n\n');
    const config = own
      .replace(/^\ttls .*\n/m, '')
      .replace(/^.* \{$/m, (line) => {
        const names = line.slice(0, -2).split(', ');
        return `${names.map((one) => `https://${one}:${port}`).join(', ')} {\n\tbind 127.0.0.1\n\ttls internal`;
      })
      .replace('127.0.0.1:3000', `127.0.0.1:${plane}`);
    const file = join(folder, 'Caddyfile');
    writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n${config}\n`);
    run(program, ['run', '--config', file, '--adapter', 'caddyfile'], { HOME: folder, XDG_DATA_HOME: folder });
  },
};

interface Place {
  folder: string;
  /** What it listens on. */
  port: number;
  /** That of the control plane. */
  plane: number;
  mode: 'standalone' | 'full';
}

async function until(works: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 30_000; ;) {
    if (await works().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error('The proxy does not answer.');
    await new Promise((done) => setTimeout(done, 50));
  }
}

describeWhen(proxies, 'behind', (programs) => {
  test.each(['nginx', 'caddy'] as const)(
    '%s, as the guide has it, it signs in, streams and takes uploads',
    async (name) => {
      const box = await startBox();
      const { url } = await startStandalone({
        STUDIO_STANDALONE_TOKEN: TOKEN,
        SVC_PLANE_URL: `https://${NAME}`,
        SVC_RUNTIME_INTERNAL_URL: box.url,
      });
      const [folder, port] = [makeFolder(), await findPort()];
      mkdirSync(join(folder, 'logs'));
      START[name](programs[name], { folder, port, plane: Number(new URL(url).port), mode: 'standalone' });
      await until(async () => (await ask(port, { path: '/live' })).statusCode === 200);

      const origin = `https://${NAME}`;
      const login = (headers: Record<string, string>) =>
        ask(port, {
          method: 'POST',
          path: '/api/v1/self-host/login',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ token: TOKEN }),
        });
      expect((await login({ origin: 'https://elsewhere.example' })).statusCode).toBe(403);
      const answer = await login({ origin });
      expect(answer.statusCode).toBe(200);
      const [given = ''] = answer.headers['set-cookie'] ?? [];
      expect(given).toMatch(/^__Host-svc_session=.*; Secure/);
      expect(answer.headers['strict-transport-security']).toBeDefined();
      const headers = { cookie: given.split(';')[0] ?? '', origin };

      const stream = await ask(port, { path: '/box/api/events', headers });
      const chunks = stream[Symbol.asyncIterator]();
      // The second word is not said before the first has come.
      expect(String((await chunks.next()).value)).toBe('data: first\n\n');
      box.goOn();
      expect(String((await chunks.next()).value)).toBe('data: second\n\n');

      const body = Buffer.alloc(20 * 1_048_576, 'a');
      const upload = await ask(port, {
        method: 'POST',
        path: '/box/api/storage/upload',
        headers: { ...headers, 'content-type': 'application/octet-stream', 'content-length': String(body.length) },
        body,
      });
      expect([upload.statusCode, JSON.parse(await readText(upload))]).toEqual([200, { size: body.length }]);
      expect(box.seen.map(({ authorization, cookie }) => [authorization, cookie])).toEqual([
        [`Bearer ${TOKEN}`, undefined],
        [`Bearer ${TOKEN}`, undefined],
      ]);
    },
  );

  test.each(['nginx', 'caddy'] as const)(
    '%s, as the guide has it for the full mode, boxes of developers attach and are asked under names of their own',
    async (name) => {
      const [folder, port] = [makeFolder(), await findPort()];
      mkdirSync(join(folder, 'logs'));
      const origin = `https://${NAME}:${port}`;
      const env = {
        SVC_PLANE_URL: origin,
        PLANE_TUNNEL_DOMAIN: 'tunnel.example.com',
        PLANE_TRUST_PROXY: '127.0.0.1',
      };
      const plane = await startPlane({ env });
      START[name](programs[name], { folder, port, plane: Number(new URL(plane.url).port), mode: 'full' });
      await until(async () => (await ask(port, { path: '/live' })).statusCode === 200);
      const post = async (path: string, body: object, cookie = '') => {
        const headers = { 'content-type': 'application/json', origin, cookie };
        const answer = await ask(port, { method: 'POST', path, headers, body: JSON.stringify(body) });
        const text = await readText(answer);
        expect([path, answer.statusCode, text]).toEqual([path, 201, expect.anything()]);
        return { answer, body: JSON.parse(text) as Record<string, string> };
      };
      const person = {
        email: 'ada@example.com',
        password: 'a password that is long',
        name: 'Ada',
        organization: 'Acme',
      };
      const { answer } = await post('/api/v1/auth/signup', person);
      const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      expect(cookie).toMatch(/^__Host-svc_session=/);
      const { id } = (await post('/api/v1/installations', { name: 'desk' }, cookie)).body;
      const {
        publicUrl = '',
        relayUrl = '',
        token = '',
      } = (await post(`/api/v1/installations/${id}/tunnel`, {}, cookie)).body;
      const { hostname } = new URL(publicUrl);
      expect([hostname.endsWith('.tunnel.example.com'), relayUrl]).toEqual([
        true,
        `wss://${NAME}:${port}/api/v1/tunnel`,
      ]);

      fakeLookup((one) => (one === NAME ? ['127.0.0.1'] : undefined));
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      onTestFinished(() => void vi.unstubAllEnvs());
      const box = await startBox();
      const boxPort = Number(new URL(box.url).port);
      const close = await keepAttached({ relayUrl, token, publicUrl, port: boxPort, say: () => {}, backOff: () => 20 });
      onTestFinished(close);

      const stream = await ask(port, { name: hostname, path: '/api/events' });
      const chunks = stream[Symbol.asyncIterator]();
      expect(String((await chunks.next()).value)).toBe('data: first\n\n');
      box.goOn();
      expect(String((await chunks.next()).value)).toBe('data: second\n\n');
      const body = Buffer.alloc(20 * 1_048_576, 'a');
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(body.length) };
      const upload = await ask(port, { name: hostname, method: 'POST', path: '/upload', headers, body });
      expect([upload.statusCode, JSON.parse(await readText(upload))]).toEqual([200, { size: body.length }]);
      expect(
        box.seen.map((seen) => [seen['x-forwarded-proto'], seen['x-forwarded-host'], seen['x-forwarded-for']]),
      ).toEqual(Array.from({ length: 2 }, () => ['https', hostname, '127.0.0.1']));
      // Nothing of the control plane is under that name, and no one is behind another one.
      const others = [`${'f'.repeat(24)}.tunnel.example.com`, hostname];
      await close();
      await until(async () => (await ask(port, { name: hostname, path: '/api/v1/me' })).statusCode === 502);
      for (const other of others)
        expect(JSON.parse(await readText(await ask(port, { name: other, path: '/login' })))).toMatchObject({
          code: 'tunnel_closed',
        });
    },
  );
});
