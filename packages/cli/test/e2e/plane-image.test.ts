import { execFile } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvText } from '@svc/compiler';
import { contractPayload } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browser } from '../../../runtime/test/_browser.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { readBlocks } from '../_docs.ts';
import { findPort } from '../_setup.ts';
import { containers, makeImages, OUTSIDE_IMAGE, removeImages, useEngine } from './_containers.ts';
import type { Engine } from './_containers.ts';
import { eventually, useRig } from './_setup.ts';
import type { Workspace } from './_setup.ts';
import { addRelay, openNearEnd, openStack, portsOf } from './_stack.ts';
import { PASSWORD, send } from './_team.ts';
import { endSessions, linkBox, makeMachines, OWNER, packageFirst, useTeam } from './_walk.ts';

const SLOW_MS = 600_000;

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

        const { homes, ...machines } = await makeMachines(rig);
        const { workspace, ada } = machines;
        const { id, page } = await packageFirst({ ...machines, chromium, url, path: engine.PATH });

        // The box comes up, with the control plane on the volume it had.
        await docker('down');
        const key = readEnvText(readFileSync(join(folder, '.env'), 'utf8')).get('PLANE_SECRET_KEY') ?? '';
        appendFileSync(workspace.path('dist/deploy/.env'), `\nPLANE_SECRET_KEY=${key}\n`);
        const { stack, boxUrl } = move(workspace, { port, url, id, volume: `${project}_plane-data` });
        try {
          await stack.up();
          await untilLive();
          await linkBox({ ada, id, boxUrl, secret: readSecret(workspace) });
          const rotateKeys = async (...flags: string[]) => {
            await stack.ask('exec', '-T', 'plane', 'svc-control-plane', 'rotate-keys', ...flags);
            // It would take the keys up within a minute.
            await stack.ask('restart', 'plane');
            await untilLive();
          };
          const team = { ada, homes, page, id, url, boxUrl, rotateKeys };
          await useTeam(team);
          await endSessions(team);
        } finally {
          await stack.remove();
          await docker('down', '--volumes', '--timeout', '5');
        }
      },
      SLOW_MS,
    );

    it(
      'and the same with `svc plane` on a laptop, from which the stack is another machine',
      async () => {
        const { homes, ...machines } = await makeMachines(rig);
        const { workspace, ada } = machines;
        const [planePort, tunnelPort] = [await findPort(), await findPort()];
        const url = `http://localhost:${planePort}`;
        const serve = async (hasOwner: boolean) => {
          const command = ada.start(['plane', '--port', String(planePort), '--json']);
          await eventually(() => command.stdout().endsWith('\n'), { within: 60_000 });
          expect(JSON.parse(command.stdout())).toMatchObject({ url, has_owner: hasOwner });
          return command;
        };
        let plane = await serve(false);
        const { id, page } = await packageFirst({ ...machines, chromium, url, path: engine.PATH });

        const folder = workspace.path('dist/deploy');
        const values = {
          ...portsOf(workspace),
          MODEL_PROVIDER_BASE_URL: 'http://outside:9101/v1',
          SVC_CONTROL_PLANE_URL: url,
          SVC_INSTALLATION_ID: id,
        };
        const lines = Object.entries(values).map((one) => `${one.join('=')}\n`);
        appendFileSync(join(folder, '.env'), `\n${lines.join('')}`);
        addRelay(folder, { planePort, tunnelPort });
        const stack = openStack(engine, folder);
        let close = (): void => {};
        try {
          await stack.up();
          close = openNearEnd({ planePort, tunnelPort });
          const boxUrl = `http://127.0.0.1:${workspace.ports.api}`;
          await linkBox({ ada, id, boxUrl, secret: readSecret(workspace) });
          const rotateKeys = async (...flags: string[]) => {
            expect(await ada.svc('plane', 'rotate-keys', ...flags)).toMatchObject({ code: 0 });
            // It would take the keys up within a minute. Killed, it is missed by no one who has a token.
            plane.kill('SIGKILL');
            await plane.ended;
            plane = await serve(true);
          };
          const team = { ada, homes, page, id, url, boxUrl, rotateKeys };
          await useTeam(team);
          await endSessions(team);
          plane.kill('SIGTERM');
          expect(await plane.ended).toMatchObject({ code: 0 });
        } finally {
          close();
          await stack.remove();
        }
      },
      SLOW_MS,
    );
  });
});

// --- internal ---

function readSecret(workspace: Workspace): string {
  return readEnvText(readFileSync(workspace.path('dist/deploy/.env'), 'utf8')).get('HMAC_SECRET') ?? '';
}

function textOf(name: string): string {
  const found = blocks.find((block) => block.name === name);
  if (!found) throw new Error(`The guide has no block "${name}".`);
  return found.text;
}
