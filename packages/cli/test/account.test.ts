import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runDeviceFlow } from '../src/account/device-flow.ts';
import { runCli } from './_run.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { makeHome } from './_home.ts';
import {
  age,
  credentialsOf as fileOf,
  findCode,
  logIn,
  readCredentials,
  startAccount,
  startSignedIn,
} from './_plane.ts';
import { closedAddress, failure, makeProject, readDocument, readError, startBox } from './_setup.ts';

type Env = Record<string, string>;

const IDENTITY = { user: 'ada@example.com', userId: expect.any(String), organization: 'acme' };
const CODE = /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/;
/** After which an access token is over at the control plane; a command line has not heard of it. */
const OVER_MS = 6 * 60_000;
const SOME_ID = '4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10';

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-account-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('without a control plane', () => {
  it.each([
    ['login', 'control_plane_missing', /svc login --endpoint/],
    ['whoami', 'not_signed_in', /SVC_CONTROL_PLANE_URL/],
    ['link', 'not_signed_in', /SVC_CONTROL_PLANE_URL/],
  ])('%s is %s, exit 2, with and without --json', async (verb, code, suggestion) => {
    const options = { env: makeHome(), cwd: makeFolder() };
    const json = await runCli([verb, '--json'], options);
    expect(readError(json)).toMatchObject({ code, suggestion: expect.stringMatching(suggestion) });
    expect(json.stderr.trimEnd().split('\n')).toHaveLength(1);
    const human = await runCli([verb], options);
    expect([json.exitCode, human.exitCode, human.stdout]).toEqual([2, 2, '']);
  });

  it('logout has nothing to do, and no folder is made for sessions', async () => {
    const env = makeHome();
    const result = await runCli(['logout', '--json'], { env, cwd: makeFolder() });
    expect(readDocument(result)).toEqual({ schema_version: 1, endpoint: null, signedOut: false });
    expect(readdirSync(env.HOME ?? '')).toEqual([]);
  });

  it('a workspace is made without a word about one', async () => {
    const result = await runCli(['init', 'shop', '--no-install', '--json'], { env: makeHome(), cwd: makeFolder() });
    expect(readDocument(result)).toMatchObject({ installationId: null });
  });
});

describe('a file of sessions that is broken, where no control plane is configured,', () => {
  function makeBrokenHome(): Env {
    const env = makeHome();
    mkdirSync(dirname(fileOf(env)), { recursive: true });
    writeFileSync(fileOf(env), '{');
    return env;
  }

  it('keeps no workspace from being made: a warning', async () => {
    const [env, cwd] = [makeBrokenHome(), makeFolder()];
    const result = await runCli(['init', 'shop', '--no-install'], { env, cwd });
    expect(result.exitCode).toBe(0);
    expect(result.stderr).toBe(
      `"${fileOf(env)}", which keeps your sessions, cannot be used: it is not JSON. Going on without a control plane.\n`,
    );
    const json = await runCli(['init', 'stall', '--no-install', '--json'], { env, cwd });
    expect([json.exitCode, json.stderr, readDocument(json).installationId]).toEqual([0, '', null]);
  });

  it('keeps no box from being started, nor does a link of the workspace that is broken', async () => {
    const cwd = await makeProject();
    writeFileSync(join(cwd, 'svc.json'), '{');
    const options = { env: makeBrokenHome(), cwd };
    expect(readError(await runCli(['dev', '--json'], options)).code).toBe('manifest_invalid');
    mkdirSync(join(cwd, '.svc'), { recursive: true });
    writeFileSync(join(cwd, '.svc/project.json'), '{');
    const result = await runCli(['dev'], options);
    expect(result.stderr).toMatch(
      /project\.json" does not say which .* Going on without a control plane\.\n.*svc\.json/s,
    );
  });

  it('stands in the way of a sign-in before someone approves it', async () => {
    const { plane } = await startAccount();
    const env = { ...makeBrokenHome(), SVC_CONTROL_PLANE_URL: plane.url };
    const result = await runCli(['login', '--json'], { env });
    expect([result.exitCode, readError(result).code, plane.seen]).toEqual([2, 'credentials_invalid', []]);
  });
});

describe('with a control plane no one is signed in to', () => {
  it.each([[['whoami']], [['link', SOME_ID]], [['init', 'shop']], [['runs', 'list', '--agent', SOME_ID]], [['dev']]])(
    '%j is not_signed_in, exit 2, before anything is done',
    async (argv) => {
      const { plane, env } = await startAccount();
      const cwd = await makeProject();
      const result = await runCli([...argv, '--json'], { env, cwd });
      expect(result.exitCode).toBe(2);
      const { code, message, suggestion } = readError(result);
      expect(code).toBe('not_signed_in');
      expect(message).toContain(plane.url);
      expect(suggestion).toContain('svc login');
      expect([plane.seen, readdirSync(cwd)]).toEqual([[], ['workflows']]);
    },
  );

  it('an address that is none is named', async () => {
    const env = { ...makeHome(), SVC_CONTROL_PLANE_URL: 'plane' };
    expect(readError(await runCli(['whoami', '--json'], { env })).message).toContain(
      'SVC_CONTROL_PLANE_URL is "plane"',
    );
    const result = await runCli(['login', '--endpoint', 'ftp://x', '--json'], { env });
    expect(readError(result).message).toBe('--endpoint does not take "ftp://x".');
  });
});

describe('svc login', () => {
  it('shows the code, waits for the approval, and keeps the session for its owner alone', async () => {
    const { plane, env, decide } = await startAccount();
    let code = '';
    plane.before = async (line) => {
      if (line !== 'POST /oauth/token') return;
      const polls = plane.seen.filter((one) => one === line).length;
      plane.isDown = polls === 2;
      if (polls === 4) await decide(code);
    };
    const onStderr = (text: string) => void (code = findCode(text) ?? code);
    const result = await runCli(['login'], { env, onStderr });
    expect(result).toMatchObject({ exitCode: 0, stdout: `Signed in to ${plane.url} as ada@example.com\n` });
    expect(plane.seen.filter((line) => line === 'POST /oauth/token')).toHaveLength(4);
    expect(result.stderr).toContain(`Open ${plane.url}/device and enter the code ${code}\n`);
    expect(statSync(fileOf(env)).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(fileOf(env))).mode & 0o777).toBe(0o700);
    expect(readdirSync(dirname(fileOf(env)))).toEqual(['credentials.json']);
    const kept = readCredentials(env);
    expect(kept).toMatchObject({
      current: plane.url,
      endpoints: { [plane.url]: { accessToken: expect.any(String), refreshToken: expect.any(String) } },
    });
    const { accessToken = '', refreshToken = '' } = kept.endpoints[plane.url] ?? {};
    for (const token of [accessToken, refreshToken]) expect(result.stdout + result.stderr).not.toContain(token);
  });

  it('--json has the code as one line on stderr and one document on stdout', async () => {
    const { plane, ada, env } = await startAccount();
    const result = await logIn(plane, ada, env);
    const shown = JSON.parse(result.stderr) as { userCode: string };
    expect(shown).toEqual({
      type: 'device_code',
      userCode: expect.stringMatching(CODE),
      verificationUri: `${plane.url}/device`,
      verificationUriComplete: `${plane.url}/device?user_code=${shown.userCode}`,
      expiresInSeconds: 900,
    });
    const identity = { ...IDENTITY, userId: ada.userId, endpoint: plane.url };
    expect(readDocument(result)).toEqual({ schema_version: 1, ...identity });
  });

  it.each([
    ['is denied', 'login_denied'],
    ['is approved by no one in time', 'login_expired'],
  ])('that %s is %s, exit 2, and nothing is kept', async (how, code) => {
    const { plane, ada, env, clock } = await startAccount();
    plane.before = (line) => {
      if (line === 'POST /oauth/token' && code === 'login_expired') clock.move(901_000);
    };
    const result =
      how === 'is denied' ? await logIn(plane, ada, env, 'deny') : await runCli(['login', '--json'], { env });
    expect([result.exitCode, JSON.parse(result.stdout).error.code]).toEqual([2, code]);
    expect(existsSync(fileOf(env))).toBe(false);
  });

  it('waits five seconds longer after each slow_down, and twice as long after no answer', async () => {
    const { plane, clock, decide } = await startAccount({ pollSeconds: 5 });
    const waits: number[] = [];
    let code = '';
    // Each poll comes when the last has been answered: the second and the third too soon, the fourth to no control plane.
    const between = [5_000, 1_000, 1_000, 20_000, 30_000];
    const reach = { env: {}, signal: new AbortController().signal, trace: () => {}, say: () => {} };
    await runDeviceFlow(plane.url, reach, {
      show: ({ userCode }) => void (code = userCode),
      async wait(ms) {
        clock.move(between[waits.length] ?? 0);
        waits.push(ms);
        plane.isDown = waits.length === 4;
        if (waits.length === 5) await decide(code);
      },
    });
    expect(waits).toEqual([5000, 5000, 10_000, 15_000, 30_000]);
  });

  it('ends at once with Ctrl-C, exit 130', async () => {
    const { plane, env } = await startAccount({ pollSeconds: 600 });
    const controller = new AbortController();
    const running = runCli(['login'], { env, signal: controller.signal });
    await vi.waitFor(() => expect(plane.seen).toEqual(['POST /oauth/device_authorization']), 10_000);
    controller.abort();
    expect((await running).exitCode).toBe(130);
  });

  it('opens a browser where a person sits at one, and nowhere else', async () => {
    const { plane, decide, env: home } = await startAccount();
    const folder = makeFolder();
    const opened = join(folder, 'opened');
    writeFileSync(join(folder, 'browser'), `#!/bin/sh\necho "$1" >> "${opened}"\n`);
    chmodSync(join(folder, 'browser'), 0o755);
    const env = { ...home, BROWSER: join(folder, 'browser'), PATH: process.env.PATH ?? '' };
    const seat = { tty: true, stdin: [] };
    const logInWith = async (argv: string[], options: CaptureOptions) => {
      let code: string | undefined;
      let decided: Promise<void> | undefined;
      const undecided = new AbortController();
      const onStderr = (text: string) => {
        if (code !== undefined || !(code = findCode(text))) return;
        decided = decide(code);
        decided.catch(() => undecided.abort());
      };
      const { exitCode } = await runCli(argv, { ...options, onStderr, signal: undecided.signal });
      await decided;
      expect(exitCode).toBe(0);
      return code;
    };
    for (const [name, argv] of [
      ['CI', ['login']],
      ['SSH_CLIENT', ['login']],
      ['SSH_TTY', ['login']],
      ['X', ['login', '--no-browser']],
      ['X', ['login', '--json']],
    ] as const)
      await logInWith([...argv], { env: { ...env, [name]: '1' }, ...seat });
    await logInWith(['login'], { env });
    const code = await logInWith(['login'], { env, ...seat });
    const address = `${plane.url}/device?user_code=${code}\n`;
    await vi.waitFor(() => expect(readFileSync(opened, 'utf8')).toBe(address));
  });

  it('with --endpoint configures the control plane for what comes after', async () => {
    const { plane, decide } = await startAccount();
    const env = makeHome();
    let decided: Promise<void> | undefined;
    const onStderr = (text: string) => void (decided ??= decide(findCode(text) ?? ''));
    const login = await runCli(['login', '--endpoint', `${plane.url}/`, '--json'], { env, onStderr });
    await decided;
    expect(login.exitCode).toBe(0);
    expect(readDocument(await runCli(['whoami', '--json'], { env }))).toMatchObject({ endpoint: plane.url });
  });

  it('says when nothing answers: exit 1', async () => {
    const env = { ...makeHome(), SVC_CONTROL_PLANE_URL: await closedAddress() };
    const result = await runCli(['login', '--json'], { env });
    expect([result.exitCode, readError(result).code]).toEqual([1, 'control_plane_unavailable']);
  });

  it('to a program that is no control plane says so', async () => {
    const box = await startBox({ 'POST /oauth/device_authorization': failure(404, 'not_found', 'No such route.') });
    const result = await runCli(['login', '--json'], { env: { ...makeHome(), SVC_CONTROL_PLANE_URL: box.url } });
    expect(readError(result)).toMatchObject({ code: 'not_found', message: 'No such route.' });
  });
});

describe('a session', () => {
  it('is shown by whoami', async () => {
    const { plane, ada, env } = await startSignedIn();
    expect(readDocument(await runCli(['whoami', '--json'], { env }))).toEqual({
      schema_version: 1,
      ...IDENTITY,
      userId: ada.userId,
      endpoint: plane.url,
    });
    const { stdout } = await runCli(['whoami'], { env });
    expect(stdout).toBe(
      `User          ada@example.com\nUser id       ${ada.userId}\nOrganization  acme\nEndpoint      ${plane.url}\n`,
    );
  });

  it('is refreshed before it is too old, once for commands that run at the same time', async () => {
    const { plane, env } = await startSignedIn();
    age(env);
    const results = await Promise.all(Array.from({ length: 5 }, () => runCli(['whoami', '--json'], { env })));
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
    expect(plane.seen.filter((line) => line === 'POST /oauth/token')).toHaveLength(1);
  });

  it('whose token is refused early is refreshed and asked again', async () => {
    const { plane, env, clock } = await startSignedIn();
    clock.move(OVER_MS);
    expect((await runCli(['whoami'], { env })).exitCode).toBe(0);
    expect(plane.seen).toEqual(['GET /api/v1/me', 'POST /oauth/token', 'GET /api/v1/me']);
  });

  it('that was ended is session_expired, exit 2, and is forgotten', async () => {
    const { env, revokeAll } = await startSignedIn();
    await revokeAll();
    const result = await runCli(['whoami', '--json'], { env });
    expect([result.exitCode, readError(result).code]).toEqual([2, 'session_expired']);
    expect(readCredentials(env).endpoints).toEqual({});
    expect(readError(await runCli(['whoami', '--json'], { env })).code).toBe('not_signed_in');
  });

  it('is kept while the control plane is away', async () => {
    const { plane, env, clock } = await startSignedIn();
    clock.move(OVER_MS);
    plane.isDown = true;
    expect((await runCli(['whoami'], { env })).exitCode).toBe(1);
    plane.isDown = false;
    expect((await runCli(['whoami'], { env })).exitCode).toBe(0);
  });

  it('is ended by logout, there and here', async () => {
    const { plane, env } = await startSignedIn();
    const result = await runCli(['logout', '--json'], { env });
    expect(readDocument(result)).toEqual({ schema_version: 1, endpoint: plane.url, signedOut: true });
    expect(plane.seen).toEqual(['POST /oauth/revoke']);
    expect(readFileSync(fileOf(env), 'utf8')).toBe('{\n  "endpoints": {}\n}\n');
    expect((await runCli(['whoami'], { env })).exitCode).toBe(2);
  });

  it('lies below XDG_CONFIG_HOME where that is set', async () => {
    const { plane, ada, env: home } = await startAccount();
    const config = makeFolder();
    const env = { ...home, XDG_CONFIG_HOME: config };
    expect((await logIn(plane, ada, env)).exitCode).toBe(0);
    expect(readdirSync(join(config, 'svc'))).toEqual(['credentials.json']);
  });

  describe('whose file is locked', () => {
    const lockOf = (env: Env) => `${fileOf(env)}.lock`;
    const endedPid = () => spawnSync(process.execPath, ['-e', '']).pid;

    it('by a process that ended is free at once, for commands that run at the same time too', async () => {
      const { plane, env } = await startSignedIn();
      age(env);
      writeFileSync(lockOf(env), `${endedPid()} ${hostname()}`);
      const begun = performance.now();
      const results = await Promise.all(Array.from({ length: 5 }, () => runCli(['whoami'], { env })));
      // A lock no one answers for is good for a minute.
      expect(performance.now() - begun).toBeLessThan(20_000);
      for (const { exitCode, stderr } of results) expect([exitCode, stderr]).toEqual([0, '']);
      expect(plane.seen.filter((line) => line === 'POST /oauth/token')).toHaveLength(1);
      expect(readdirSync(dirname(fileOf(env)))).toEqual(['credentials.json']);
    });

    it.each([
      ['a process that runs', () => `${process.pid} ${hostname()}`],
      ['a process of another machine', () => `${endedPid()} elsewhere.example`],
    ])('by %s is waited for: with a word, and until Ctrl-C, which changes nothing', async (_, makeLock) => {
      const { plane, env } = await startSignedIn();
      const before = readFileSync(fileOf(env), 'utf8');
      writeFileSync(lockOf(env), makeLock());
      const controller = new AbortController();
      const onStderr = () => controller.abort();
      const result = await runCli(['logout'], { env, signal: controller.signal, onStderr });
      expect(result).toMatchObject({
        exitCode: 130,
        stdout: '',
        stderr: expect.stringContaining(`Another svc has "${fileOf(env)}" open; waiting for it.\n`),
      });
      expect([plane.seen, readFileSync(fileOf(env), 'utf8')]).toEqual([[], before]);
      rmSync(lockOf(env));
      expect((await runCli(['logout'], { env })).exitCode).toBe(0);
    });
  });

  it('whose end the control plane does not hear of before Ctrl-C is over here, exit 130', async () => {
    const { plane, env } = await startSignedIn();
    plane.isSilent = true;
    const controller = new AbortController();
    const running = runCli(['logout', '--json'], { env, signal: controller.signal });
    await vi.waitFor(() => expect(plane.seen).toEqual(['POST /oauth/revoke']), 15_000);
    controller.abort();
    const result = await running;
    expect([result.exitCode, readCredentials(env).endpoints]).toEqual([130, {}]);
    expect(readError(result).message).toContain('you are signed out here');
  });

  it.each([
    ['{', 'it is not JSON'],
    ['[]', 'it does not hold what `svc login` writes'],
    ['{"endpoints":{"https://x":{}}}', 'it does not hold what `svc login` writes'],
  ])('file that holds %s is one clear error, exit 2', async (text, reason) => {
    const { env } = await startSignedIn();
    writeFileSync(fileOf(env), text);
    const result = await runCli(['whoami', '--json'], { env });
    expect(result.exitCode).toBe(2);
    expect(readError(result)).toMatchObject({
      code: 'credentials_invalid',
      message: `"${fileOf(env)}", which keeps your sessions, cannot be used: ${reason}.`,
    });
    expect(readFileSync(fileOf(env), 'utf8')).toBe(text);
  });
});

describe('svc init', () => {
  it('that cannot reach the control plane leaves a whole workspace and says how to go on', async () => {
    const { plane, env } = await startSignedIn();
    const cwd = makeFolder();
    plane.isDown = true;
    const result = await runCli(['init', 'shop', '--no-install', '--json'], { env, cwd });
    expect(result.exitCode).toBe(1);
    expect(readError(result).message).toMatch(/^The workspace is complete in .*shop", but is not linked: /);
    expect(existsSync(join(cwd, 'shop/svc.json'))).toBe(true);
  });
});

describe('svc dev in a workspace that is not linked', () => {
  /** A workspace that links, and then ends because its svc.json is broken: a box is not what is tested. */
  async function makeBroken(): Promise<string> {
    const cwd = await makeProject();
    writeFileSync(join(cwd, 'svc.json'), '{');
    return cwd;
  }

  it('runs without the control plane while that is away', async () => {
    const { plane, env, clock } = await startSignedIn();
    plane.isDown = true;
    clock.move(OVER_MS);
    const result = await runCli(['dev'], { env, cwd: await makeBroken(), tty: true, stdin: [] });
    expect(result.stderr).toMatch(/answered 503: The upstream is away\. The box runs without it\.\n.*svc\.json/s);
  });
});
