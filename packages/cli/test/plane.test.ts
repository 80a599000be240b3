import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { makeHome } from './_home.ts';
import { runCli } from './_run.ts';
import { findPort, readDocument, readError } from './_setup.ts';

const PASSWORD = 'correct horse battery';

interface Running {
  stdout(): string;
  /** Presses Ctrl-C. Answers what the command came to. */
  stop(): ReturnType<typeof runCli>;
}

/** `svc plane`, once it says that it runs. */
async function start(args: string[], options: CaptureOptions): Promise<Running> {
  const ctrlC = new AbortController();
  let stdout = '';
  let ended: ReturnType<typeof runCli> | undefined;
  const stop = async () => {
    ctrlC.abort();
    return ended as ReturnType<typeof runCli>;
  };
  onTestFinished(async () => void (await stop()));
  await new Promise<void>((ready) => {
    ended = runCli(['plane', ...args], {
      ...options,
      signal: ctrlC.signal,
      onStdout(text) {
        stdout += text;
        ready();
      },
    });
    void ended.then(() => ready());
  });
  return { stdout: () => stdout, stop };
}

function logIn(url: string, password: string): Promise<Response> {
  return fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    // The next control plane on the port is another one.
    headers: { 'content-type': 'application/json', origin: url, connection: 'close' },
    body: JSON.stringify({ email: 'ada@example.com', password }),
  });
}

describe('svc plane', () => {
  it('asks on a terminal for its first owner, and never again', async () => {
    const env = makeHome();
    const port = String(await findPort());
    const typed = ['ada@example.com', 'Ada', 'Acme', PASSWORD, `${PASSWORD}!`];
    const first = await start(['--port', port], { env, tty: true, stdin: [...typed, ...typed.slice(0, 4), PASSWORD] });
    const url = `http://localhost:${port}`;
    expect(first.stdout()).toContain(`svc login --endpoint ${url}`);
    expect(await (await logIn(url, PASSWORD)).json()).toMatchObject({ organization: { name: 'Acme', role: 'owner' } });
    const { exitCode, stderr } = await first.stop();
    expect([exitCode, stderr]).toMatchObject([0, expect.stringContaining('The two are not the same.')]);
    expect(stderr + first.stdout()).not.toContain(PASSWORD);

    const second = await start(['--port', port, '--json'], { env });
    expect(JSON.parse(second.stdout())).toMatchObject({ url, has_owner: true });
    expect((await logIn(url, PASSWORD)).status).toBe(200);
  });

  it('asks for no owner where new people come by a provider, unless those may choose a password', async () => {
    const provider = {
      PLANE_OIDC_ISSUER: 'http://127.0.0.1:9',
      PLANE_OIDC_CLIENT_ID: 'svc',
      PLANE_OIDC_CLIENT_SECRET: 'secret',
    };
    const env = { ...makeHome(), ...provider };
    const port = String(await findPort());
    const typed = ['ada@example.com', 'Ada', 'Acme', PASSWORD, PASSWORD];
    const first = await start(['--port', port], { env, tty: true, stdin: typed });
    expect(first.stdout()).toContain(`The first to do so owns it: http://localhost:${port}/login`);
    await first.stop();
    const both = { ...env, PLANE_PASSWORD_SIGNUP: '1' };
    const second = await start(['--port', port], { env: both, tty: true, stdin: typed });
    expect(second.stdout()).not.toContain('Nobody has signed up yet.');
    await second.stop();
    const third = await start(['--port', port, '--json'], { env });
    expect(JSON.parse(third.stdout())).toMatchObject({ has_owner: true });
  });

  it('keeps its database and its key to its owner, and names the page where no one can be asked', async () => {
    const env = makeHome();
    const port = String(await findPort());
    const running = await start(['--port', port, '--yes'], { env, tty: true });
    expect(running.stdout()).toContain(`http://localhost:${port}/signup`);
    const folder = join(env.HOME ?? '', '.local/share/svc/plane');
    const modes = ['.', 'plane.db', 'secret.key'].map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes).toStrictEqual([0o700, 0o600, 0o600]);
    const second = await runCli(['plane', '--port', String(await findPort()), '--json'], { env });
    expect(readError(second)).toMatchObject({ code: 'already_running' });
  });

  it('says which port is taken, and what is no port', async () => {
    const port = String(await findPort());
    await start(['--port', port, '--yes'], { env: makeHome() });
    const taken = await runCli(['plane', '--port', port, '--json'], { env: makeHome() });
    expect([taken.exitCode, readError(taken)]).toMatchObject([1, { code: 'generic' }]);
    expect(readError(taken).suggestion).toContain('--port');
    const wrong = await runCli(['plane', '--port', '70000', '--json'], { env: makeHome() });
    expect(readError(wrong)).toMatchObject({ code: 'generic', message: expect.stringContaining('70000') });
  });

  it('is backed up while it runs, and restored in another place', async () => {
    const env = makeHome();
    const port = String(await findPort());
    const running = await start(['--port', port, '--json'], { env });
    const url = `http://localhost:${port}`;
    await fetch(`${url}/api/v1/auth/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ email: 'ada@example.com', name: 'Ada', password: PASSWORD }),
    });
    const file = join(env.HOME ?? '', 'plane.backup');
    const made = readDocument(await runCli(['plane', 'backup', file, '--json'], { env }));
    expect(made).toMatchObject({ file });
    await running.stop();

    const folder = join(env.HOME ?? '', '.local/share/svc/plane');
    // The disk with the database is lost, and the key was kept elsewhere.
    for (const name of ['plane.db', 'plane.db-wal', 'plane.db-shm']) rmSync(join(folder, name), { force: true });
    const restored = await runCli(['plane', 'restore', file, '--json'], { env });
    expect(readDocument(restored)).toMatchObject({ rows: made.rows });
    await start(['--port', port, '--json'], { env });
    expect((await logIn(url, PASSWORD)).status).toBe(200);
  });

  it.each([['backup', 'x.backup'], ['restore', 'x.backup'], ['reset-password', 'ada@example.com'], ['rotate-keys']])(
    'takes no folder of this machine for the database that PLANE_DATABASE_URL names: %s',
    async (...verb) => {
      const home = makeHome();
      const env = { ...home, PLANE_DATABASE_URL: 'postgres://127.0.0.1:1/plane' };
      const file = join(home.HOME ?? '', 'x.backup');
      writeFileSync(file, 'x');
      const given = verb.map((one) => (one === 'x.backup' ? file : one));
      const refused = await runCli(['plane', ...given, '--json'], { env });
      expect([refused.exitCode, readError(refused)]).toMatchObject([
        1,
        {
          code: 'generic',
          message: expect.stringContaining('PLANE_DATABASE_URL is set'),
          suggestion: expect.stringContaining('--data-dir'),
        },
      ]);
    },
  );

  it('gives a person that has forgotten its password another one, and rotates its keys, while it runs', async () => {
    const env = makeHome();
    const nobody = await runCli(['plane', 'reset-password', 'ada@example.com', '--json'], { env });
    expect([nobody.exitCode, readError(nobody)]).toMatchObject([4, { code: 'not_found' }]);
    const port = String(await findPort());
    await start(['--port', port, '--json'], { env });
    const url = `http://localhost:${port}`;
    await fetch(`${url}/api/v1/auth/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ email: 'ada@example.com', name: 'Ada', password: PASSWORD }),
    });
    const unknown = await runCli(['plane', 'reset-password', 'bo@example.com', '--json'], { env });
    expect(readError(unknown)).toMatchObject({
      code: 'not_found',
      message: 'There is no account of "bo@example.com".',
    });
    const reset = readDocument(await runCli(['plane', 'reset-password', 'Ada@example.com', '--json'], { env }));
    expect(reset).toMatchObject({ email: 'ada@example.com', password: expect.stringMatching(/^[\w-]{24}$/) });
    expect((await logIn(url, PASSWORD)).status).toBe(401);
    expect((await logIn(url, String(reset.password))).status).toBe(200);
    expect(readDocument(await runCli(['plane', 'rotate-keys', '--json'], { env }))).toMatchObject({ removed: [] });
  });

  it('does not begin on a database whose key is gone', async () => {
    const env = makeHome();
    const running = await start(['--port', String(await findPort()), '--json'], { env });
    await running.stop();
    rmSync(join(env.HOME ?? '', '.local/share/svc/plane/secret.key'));
    const again = await runCli(['plane', '--json'], { env });
    expect(readError(again)).toMatchObject({ code: 'secret_key_missing' });
  });
});
