import { execFile } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readEnvText } from '@svc/compiler';
import { contractPayload } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browser, openPage } from '../../../runtime/test/_browser.ts';
import type { Page } from '../../../runtime/test/_browser.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { readBlocks } from '../_docs.ts';
import { findPort } from '../_setup.ts';
import { containers, makeImages, OUTSIDE_IMAGE, removeImages, useEngine } from './_containers.ts';
import type { Engine } from './_containers.ts';
import { empty, linkPackages } from './_scaffold.ts';
import { eventually, useRig } from './_setup.ts';
import type { Workspace } from './_setup.ts';
import { openStack, portsOf } from './_stack.ts';
import type { Stack } from './_stack.ts';
import {
  addMember,
  approveByPage,
  can,
  drive,
  kidOf,
  makeMachine,
  mintAs,
  PASSWORD,
  readMe,
  send,
  signUpByPage,
} from './_team.ts';
import type { Machine, Person } from './_team.ts';

const SLOW_MS = 600_000;
const OWNER = { email: 'ada@example.com', name: 'Ada', organization: 'Acme' };

const rig = useRig();
const { value: root, missing } = containers;
const blocks = readBlocks('docs/guide/self-host.md');

/** The full mode in the image, as docs/guide/self-host.md has it, but for the port. */
describe.skipIf(root === undefined)(`the image of the control plane${root ? '' : ` [needs ${missing}]`}`, () => {
  let engine: Engine;
  const folders: string[] = [];

  beforeAll(async () => {
    engine = useEngine(root ?? '');
    await makeImages(engine, root ?? '');
  }, SLOW_MS);
  afterAll(async () => {
    await removeImages(engine, ['svc-agent:latest']);
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }, SLOW_MS);

  /** A folder with the composition of the guide in it. */
  async function makeFolder() {
    const folder = mkdtempSync(join(tmpdir(), 'svc-plane-'));
    folders.push(folder);
    const port = await findPort();
    const { version } = contractPayload().build;
    const yaml = textOf('plane')
      .replace('127.0.0.1:3000:3000', `127.0.0.1:${port}:3000`)
      .replace(/(?<=image: svc-control-plane:)\S+/, version);
    expect(yaml).toContain(`svc-control-plane:${version}\n`);
    writeFileSync(join(folder, 'compose.yaml'), yaml);
    const run = async (name: string) => {
      const env = { ...process.env, PATH: engine.PATH };
      return promisify(execFile)('sh', ['-euc', textOf(name)], { cwd: folder, env });
    };
    const docker = (...args: string[]) => engine.ask(['compose', ...args], { cwd: folder });
    const url = `http://localhost:${port}`;
    const untilLive = () =>
      eventually(async () => (await fetch(`http://127.0.0.1:${port}/live`)).status === 200, { within: 60_000 });
    return { folder, port, url, run, docker, untilLive };
  }

  const signUp = async (url: string) => send(url, 'POST /api/v1/auth/signup', { ...OWNER, password: PASSWORD });
  const logInByPassword = (url: string) =>
    send(url, 'POST /api/v1/auth/login', { email: OWNER.email, password: PASSWORD });

  it(
    'keeps what it knows on its volume, over restarts and other containers, and is backed up and restored',
    async () => {
      const place = await makeFolder();
      const { folder, url, run, docker, untilLive } = place;
      writeFileSync(join(folder, '.env'), `SVC_PLANE_URL=${url}\n`, { mode: 0o600 });
      const missingKey = await engine.docker(['compose', 'up', '-d'], { cwd: folder });
      expect([missingKey.code, missingKey.stderr]).toEqual([
        expect.any(Number),
        expect.stringContaining('Set PLANE_SECRET_KEY in .env, for example to the output of openssl rand -base64 32'),
      ]);
      await run('plane-up');
      await untilLive();
      expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
      const looks = `const { uid, mode } = fs.statSync('/data/plane.db');
        let root = 'written'; try { fs.writeFileSync('/x', ''); } catch (error) { root = error.code; }
        JSON.stringify([process.getuid(), uid, mode & 0o777, root])`;
      expect(JSON.parse(await docker('exec', '-T', 'control-plane', 'node', '-p', looks))).toEqual([
        65532,
        65532,
        0o600,
        'EROFS',
      ]);

      expect((await signUp(url)).status).toBe(201);
      await docker('restart', 'control-plane');
      await untilLive();
      expect((await logInByPassword(url)).status).toBe(200);
      expect((await signUp(url)).status).toBe(403);
      // As an upgrade does it: the container is another one.
      await docker('down');
      await docker('up', '-d');
      await untilLive();
      expect((await logInByPassword(url)).status).toBe(200);

      // A second container on the volume is refused, and the first goes on.
      const second = await engine.docker(['compose', 'run', '--rm', '-T', 'control-plane'], { cwd: folder });
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining('Another process is already using "/data"'),
      ]);
      expect((await logInByPassword(url)).status).toBe(200);

      expect((await run('plane-backup')).stderr).toContain('Backed up');
      const { size, mode } = statSync(join(folder, 'plane.backup'));
      expect([size > 100, mode & 0o777]).toEqual([true, 0o600]);
      await docker('down', '--volumes');
      expect((await run('plane-restore')).stderr).toContain('Restored');
      await untilLive();
      expect((await logInByPassword(url)).status).toBe(200);
      const again = await promisify(execFile)('sh', ['-c', textOf('plane-restore').split('\n')[0] ?? ''], {
        cwd: folder,
        env: { ...process.env, PATH: engine.PATH },
      }).catch((error: unknown) => error as { stderr: string });
      expect(again.stderr).toMatch(/Another process is already using|has people in it/);
      await docker('down', '--volumes', '--timeout', '5');
    },
    SLOW_MS,
  );

  /** The control plane on its volume, in the network of the box: a plain one is taken of the box's own machine alone. */
  function move(
    workspace: Workspace,
    { port, url, volume, id }: { port: number; url: string; volume: string; id: string },
  ) {
    const folder = workspace.path('dist/deploy');
    const { AGENT_PORT, ...ports } = portsOf(workspace);
    const values = {
      ...ports,
      AGENT_PORT: ports.CONTROL_PLANE_PORT,
      MODEL_PROVIDER_BASE_URL: 'http://outside:9101/v1',
      SVC_CONTROL_PLANE_URL: url,
      SVC_INSTALLATION_ID: id,
    };
    appendFileSync(
      join(folder, '.env'),
      `\n${Object.entries(values)
        .map((one) => `${one.join('=')}\n`)
        .join('')}`,
    );
    const plane = {
      image: `svc-control-plane:${contractPayload().build.version}`,
      read_only: true,
      cap_drop: ['ALL'],
      network_mode: 'service:agent',
      environment: {
        PORT: `${port}`,
        SVC_PLANE_URL: url,
        PLANE_DATA_DIR: '/data',
        PLANE_ALLOW_PRIVATE: '1',
        PLANE_SECRET_KEY: '${PLANE_SECRET_KEY}',
      },
      volumes: ['plane:/data'],
    };
    const services = {
      // The same address from the control plane and from this machine.
      agent: {
        environment: { PORT: AGENT_PORT },
        ports: [`127.0.0.1:${AGENT_PORT}:${AGENT_PORT}`, `127.0.0.1:${port}:${port}`],
      },
      outside: {
        image: OUTSIDE_IMAGE,
        environment: { KEY_SET: '{}' },
        healthcheck: { disable: true },
        networks: ['edge'],
      },
      plane,
    };
    const override = { services, volumes: { plane: { external: true, name: volume } } };
    writeFileSync(join(folder, 'docker-compose.override.yml'), JSON.stringify(override));
    return { stack: openStack(engine, folder), boxUrl: `http://127.0.0.1:${AGENT_PORT}` };
  }

  describeWhen(browser, 'with a browser', (chromium) => {
    it(
      'takes a team from an empty folder to a box in a stack of its own, where each may do what the role says',
      async () => {
        const place = await makeFolder();
        const { folder, url, port, run, docker, untilLive } = place;
        const project = `svc-show-${port}`;
        writeFileSync(join(folder, '.env'), `COMPOSE_PROJECT_NAME=${project}\nSVC_PLANE_URL=${url}\n`, { mode: 0o600 });
        await run('plane-up');
        await untilLive();

        // Two machines: the first signs up in a browser, lets its terminal in there, and makes a workspace of an empty folder.
        const [workspace, homes] = [await rig.workspace(), await rig.workspace()];
        empty(workspace);
        const [ada, bo] = [makeMachine(workspace, 'ada', homes), makeMachine(homes, 'bo')];
        const page = await openPage(chromium);
        await signUpByPage(page, url, OWNER);
        await approveByPage(page, ada, url);
        expect(JSON.parse((await ada.svc('whoami', '--json')).stdout)).toMatchObject({
          user: OWNER.email,
          organization: 'acme',
        });
        expect(await bo.svc('whoami', '--json')).toMatchObject({ code: 2 });
        const made = await ada.svc('init', '.', '--with', 'workflow', '--no-install', '--json');
        const { installationId: id } = JSON.parse(made.stdout) as { installationId: string };
        linkPackages(workspace);
        expect(await ada.start(['package'], { PATH: engine.PATH }).ended).toMatchObject({ code: 0 });

        // The box comes up, with the control plane on the volume it had.
        await docker('down');
        const key = readEnvText(readFileSync(join(folder, '.env'), 'utf8')).get('PLANE_SECRET_KEY') ?? '';
        appendFileSync(workspace.path('dist/deploy/.env'), `\nPLANE_SECRET_KEY=${key}\n`);
        const { stack, boxUrl } = move(workspace, { port, url, id, volume: `${project}_plane-data` });
        try {
          await stack.up();
          await untilLive();
          const secret = readEnvText(readFileSync(workspace.path('dist/deploy/.env'), 'utf8')).get('HMAC_SECRET') ?? '';
          const link = (value: string) =>
            ada.start(['link', id, '--url', boxUrl, '--image-tag', 'svc-agent:latest', '--json'], {
              HMAC_SECRET: value,
            }).ended;
          expect(await link('w'.repeat(64))).toMatchObject({
            code: 1,
            stdout: expect.stringContaining('invalid_signature'),
          });
          expect(await link(secret)).toMatchObject({ code: 0 });
          await useTeam({ ada, homes, id, url, boxUrl, stack });
          await endSessions({ ada, id, url, page });
        } finally {
          await stack.remove();
          await docker('down', '--volumes', '--timeout', '5');
        }
      },
      SLOW_MS,
    );
  });
});

// --- internal ---

interface Team {
  ada: Machine;
  homes: Workspace;
  id: string;
  url: string;
  boxUrl: string;
  stack: Stack;
}

const WELCOME = ['workflows', 'start', 'welcome', '--input', '{"name":"Ada"}'];

/** Five roles at the box, one of which is changed, and keys that rotate, and are revoked, while it verifies. */
async function useTeam({ ada, homes, id, url, boxUrl, stack }: Team): Promise<void> {
  const owner = await logInAs(url, OWNER.email);
  const ask = async (token: string, path = '/api/runs', body?: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(boxUrl + path, { headers, ...(body === undefined ? {} : { method: 'POST', body }) });
    await answer.body?.cancel();
    return answer.status;
  };
  const start = (token: string) => ask(token, '/api/workflows/welcome/start', '{"name":"Bo"}');
  const list = (machine: Machine) => can(machine, id, 'runs', 'list');
  expect([await list(ada), await can(ada, id, ...WELCOME), await can(ada, id, 'secrets', 'list')]).toEqual([
    'yes',
    'yes',
    'yes',
  ]);
  const members: Record<string, Awaited<ReturnType<typeof addMember>>> = {};
  for (const role of ['admin', 'member', 'approver', 'viewer']) {
    const one = await addMember({ workspace: homes, url, owner }, role);
    members[role] = one;
    const mayStart = role === 'admin' || role === 'member';
    expect([role, await list(one.machine), await can(one.machine, id, ...WELCOME)]).toEqual([
      role,
      'yes',
      mayStart ? 'yes' : 'forbidden',
    ]);
  }

  // The next token has the other role; one that was given is good for its five minutes, as teams.test.ts sees it end.
  const { member } = members;
  if (!member) throw new Error('There is no member.');
  const given = await mintAs(url, id, member.person);
  const { organization } = await readMe(url, owner);
  const place = `/api/v1/orgs/${organization.id}/members/${member.userId}`;
  expect((await send(url, `PATCH ${place}`, { role: 'viewer' }, owner.cookie)).status).toBe(200);
  expect(await can(member.machine, id, ...WELCOME)).toBe('forbidden');
  expect([await start(given), await start(await mintAs(url, id, member.person))]).toEqual([202, 403]);

  const svcPlane = async (...args: string[]) => {
    await stack.ask('exec', '-T', 'plane', 'svc-control-plane', ...args);
    // It would take the keys up within a minute.
    await stack.ask('restart', 'plane');
    await eventually(async () => (await fetch(`${url}/live`)).status === 200, { within: 60_000 });
  };
  const before = await mintAs(url, id, owner);
  const verifying = verifyAllTheTime(() => ask(before));
  await svcPlane('rotate-keys');
  const after = await mintAs(url, id, owner);
  expect(kidOf(after)).not.toBe(kidOf(before));
  expect(await ask(after)).toBe(200);
  const seen = await verifying.stop();
  expect([seen.size, seen.has(200)]).toEqual([1, true]);

  await svcPlane('rotate-keys', '--revoke');
  const fresh = await mintAs(url, id, owner);
  // A box asks for keys it does not know twice a minute at most.
  await eventually(async () => (await ask(fresh)) === 200, { within: 60_000, every: 300 });
  expect([await ask(before), await ask(after)]).toEqual([401, 401]);
  expect(await list(ada)).toBe('yes');
}

/** A token of a person, a browser and a command line, each ended, and what it could do with it. */
async function endSessions({ ada, id, url, page }: Pick<Team, 'ada' | 'id' | 'url'> & { page: Page }): Promise<void> {
  const owner = await logInAs(url, OWNER.email);
  const made = await send(url, 'POST /api/v1/tokens', { name: 'ci', role: 'viewer', days: 1 }, owner.cookie);
  const { id: tokenId, token } = (await made.json()) as { id: string; token: string };
  const useToken = async () =>
    (await fetch(`${url}/api/v1/installations/${id}`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await useToken()).toBe(200);
  expect((await send(url, `DELETE /api/v1/tokens/${tokenId}`, undefined, owner.cookie)).ok).toBe(true);
  expect(await useToken()).toBe(401);

  const { items } = JSON.parse((await ada.svc('account', 'sessions', '--json')).stdout) as { items: SessionItem[] };
  const [chromium] = items.filter(({ name }) => name?.startsWith('Chrome'));
  await page.goto(`${url}/account`);
  await drive(page).untilShown('#page');
  expect(await ada.svc('account', 'sign-out', chromium?.id ?? '')).toMatchObject({ code: 0 });
  await page.goto(`${url}/account`);
  await drive(page).untilShown('#login');
  expect((await readMe(url, owner)).user.email).toBe(OWNER.email);

  expect(await ada.svc('logout')).toMatchObject({ code: 0 });
  expect(await ada.svc('whoami', '--json')).toMatchObject({ code: 2 });
  expect(await ada.svc('runs', 'list', '--agent', id, '--json')).toMatchObject({ code: 2 });
}

interface SessionItem {
  id: string;
  name: string | null;
}

async function logInAs(url: string, email: string): Promise<Person> {
  const answer = await send(url, 'POST /api/v1/auth/login', { email, password: PASSWORD });
  return { email, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Asks one time after the other until it is stopped; then which answers there were. */
function verifyAllTheTime(ask: () => Promise<number>): { stop(): Promise<Set<number>> } {
  const seen = new Set<number>();
  const over = new AbortController();
  const loop = async () => {
    while (!over.signal.aborted) {
      seen.add(await ask());
      await wait(20);
    }
  };
  const running = loop();
  return {
    async stop() {
      over.abort();
      await running;
      return seen;
    },
  };
}

function textOf(name: string): string {
  const found = blocks.find((block) => block.name === name);
  if (!found) throw new Error(`The guide has no block "${name}".`);
  return found.text;
}
