import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvText } from '@svc/compiler';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../../../../playground/model-server.mjs';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { REPOSITORY } from '../_docs.ts';
import { HAS_TERMINAL, runOnTerminal } from '../../../create/test/_terminal.ts';
import { containers, makeImages, removeImages, useEngine } from './_containers.ts';
import type { Engine } from './_containers.ts';
import { PACKAGES } from '../../../../scripts/_release.mjs';
import { startEmptyRegistry, startRegistry } from './_registry.ts';
import type { Registry } from './_registry.ts';
import { eventually, useRig } from './_setup.ts';
import type { Ended, Workspace } from './_setup.ts';
import { addOutside, NO_COMMAND, openStack, portsOf } from './_stack.ts';

/** An install of everything, from a registry. */
const SLOW_MS = 600_000;
const run = promisify(execFile);
const rig = useRig();
const folder = mkdtempSync(join(tmpdir(), 'svc-published-'));
let registry: Registry;
let npm: string;
/** What the release script printed, and what npm asked a registry for in its dry run. */
let released: { lines: string[]; asked: string[] };

beforeAll(async () => {
  const script = join(REPOSITORY, 'scripts/release.mjs');
  const empty = await startEmptyRegistry();
  const env = { ...process.env, NPM_CONFIG_REGISTRY: empty.url, npm_config_registry: empty.url };
  const how = { env, maxBuffer: 1 << 26 };
  const { stdout } = await run(process.execPath, [script, '--out', join(folder, 'tarballs')], how).finally(empty.close);
  released = { lines: stdout.split('\n'), asked: empty.asked };
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry']);
  registry = await startRegistry(join(folder, 'tarballs'), upstream.trim());
  npm = join((await run('npm', ['root', '--global'])).stdout.trim(), 'npm');
}, SLOW_MS);
afterAll(async () => {
  await registry?.close();
  rmSync(folder, { recursive: true, force: true });
});

it('the release script goes as far as the dry run of npm, in the order the packages need each other, and sends nothing', () => {
  const names = PACKAGES.map(
    (name) =>
      (JSON.parse(readFileSync(join(REPOSITORY, 'packages', name, 'package.json'), 'utf8')) as { name: string }).name,
  );
  const would = released.lines.flatMap((line) => /^would publish (\S+) /.exec(line)?.[1] ?? []);
  expect(would).toEqual(names);
  for (const name of names) expect(released.asked).toContain(`GET /${name}`);
  expect(released.asked.filter((one) => !one.startsWith('GET '))).toEqual([]);
});

describe('from the registry, in an empty folder and an empty home', () => {
  it.each(NODE_VERSIONS)(
    'three commands lead to the first answer of an agent, on Node %s',
    async (version) => {
      const newcomer = await arrive(version);
      const began = performance.now();
      // It lists one model: that is the default.
      const model = await startModelServer();
      onTestFinished(() => model.close());
      const flags = ['--template', 'agent', '--provider', model.url];
      await newcomer.run('npm', ['create', 'svc', 'shop', '--', ...flags]);
      const created = performance.now();
      const served = newcomer.start('npx', ['svc', 'dev', '--json']);
      onTestFinished(() => served.stop());
      await eventually(() => served.stdout().includes('"gate":{"open":true'), { within: 120_000 });
      const serving = performance.now();
      const { stdout } = await newcomer.run('npx', ['svc', 'chat', 'assistant', 'say:Here I am.'], 'shop');
      expect(stdout).toBe('Here I am.\n');
      const answered = performance.now();
      expect(readFileSync(newcomer.path('shop/svc.config.ts'), 'utf8')).toContain("model: 'playground/scripted'");
      expect(JSON.parse(readFileSync(newcomer.path('shop/package.json'), 'utf8'))).toMatchObject({
        dependencies: { '@svc/runtime': expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      });
      const seconds = [created - began, serving - created, answered - serving, answered - began].map(
        (ms) => `${(ms / 1_000).toFixed(1)} s`,
      );
      const [create, dev, chat, all] = seconds;
      console.log(
        `first answer on Node ${version}: 3 commands, ${all} (npm create svc ${create}, svc dev ${dev}, svc chat ${chat})`,
      );
    },
    SLOW_MS,
  );

  it.skipIf(!HAS_TERMINAL)(
    'npm create svc asks on a terminal, and what it prints last is the way to the agent',
    async () => {
      const newcomer = await arrive(NODE_VERSIONS[1] ?? '');
      const typed = {
        'Begin with': '\r',
        'Model provider': `${rig.model().url}\r`,
        'not shown': '\r',
        'Its model': '\r',
      };
      const { code, shown } = await runOnTerminal(['npm', 'create', 'svc', 'shop'], {
        cwd: newcomer.path('.'),
        env: newcomer.env,
        typed,
      });
      expect({ code, shown }).toMatchObject({
        code: 0,
        shown: expect.stringMatching(/While it serves.*\s+npx svc chat assistant\s/),
      });
      expect(existsSync(newcomer.path('shop/node_modules/@svc/cli/dist/main.mjs'))).toBe(true);
    },
    SLOW_MS,
  );
});

const { value: root, missing } = containers;

describe.skipIf(root === undefined)(`a deploy folder without a checkout${root ? '' : ` [needs ${missing}]`}`, () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = useEngine(root ?? '');
    await makeImages(engine, root ?? '');
    await makeNodeImage(engine, root ?? '');
  }, SLOW_MS);
  afterAll(() => removeImages(engine, ['svc-agent:latest', NPM_IMAGE]), SLOW_MS);

  it(
    'builds its images from the published packages, comes up, answers a chat with a key made in the container, and lets the operator in',
    async () => {
      const workspace = await rig.workspace();
      const packaged = await workspace.svc('package', '--target', 'self-host', '--json');
      const { outDir, baseImage, controlPlaneImage } = JSON.parse(packaged.stdout) as Record<string, string>;
      if (!outDir || !baseImage || !controlPlaneImage) throw new Error(packaged.stdout);
      await engine.docker(['image', 'rm', '--force', controlPlaneImage, baseImage]);
      const commands = /^## Start\n\n```sh\n([^]*?)\n```/m.exec(readFileSync(join(outDir, 'README.md'), 'utf8'))?.[1];
      expect(commands?.split('\n')).toEqual([
        `docker build -t ${baseImage} --target base -f base.Dockerfile .`,
        `docker build -t ${controlPlaneImage} --target control-plane -f base.Dockerfile .`,
        'docker compose up -d',
      ]);
      const images = ['NODE_IMAGE=' + NPM_IMAGE, 'OS_IMAGE=svc-test-os', `NPM_CONFIG_REGISTRY=${registry.url}`];
      const args = images.flatMap((value) => ['--build-arg', value]);
      for (const command of (commands ?? '').split('\n').slice(0, 2)) {
        const [, ...build] = command.split(' ');
        await engine.ask([...build.slice(0, -1), '--network', 'host', ...args, '.'], { cwd: outDir });
      }
      const label = await engine.ask([
        'image',
        'inspect',
        '--format',
        '{{ index .Config.Labels "svc.contract" }}',
        baseImage,
      ]);
      expect(label).toMatch(/^\d+$/);

      const stack = openStack(engine, outDir);
      onTestFinished(() => stack.remove());
      addOutside(outDir, { ...portsOf(workspace), SVC_PUBLIC_URL: `http://127.0.0.1:${workspace.ports.api}` }, {});
      await stack.up();
      const key = await stack.ask(
        'exec',
        'agent',
        'svc-box',
        'keys',
        'create',
        '--name',
        'first',
        '--agents',
        'all',
        '--workflows',
        'all',
      );
      const box = workspace.talkTo(NO_COMMAND, { port: workspace.ports.api, key: key.trim().split('\n').at(-1) ?? '' });
      expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');

      const url = `http://127.0.0.1:${workspace.ports.database}`;
      const isLive = async () => (await fetch(`${url}/live`)).ok;
      await eventually(() => isLive().catch(() => false), { within: 60_000, every: 300 });
      expect(await (await fetch(`${url}/login`)).text()).toContain('STUDIO_STANDALONE_TOKEN');
      const token = readEnvText(readFileSync(join(outDir, '.env'), 'utf8')).get('STUDIO_STANDALONE_TOKEN');
      const login = await fetch(`${url}/api/v1/self-host/login`, {
        method: 'POST',
        headers: { origin: url, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const runs = await fetch(`${url}/box/api/runs`, { headers: { cookie } });
      expect([runs.status, await runs.json()]).toMatchObject([200, { items: [{ status: 'completed' }] }]);
    },
    SLOW_MS,
  );
});

// --- internal ---

const NPM_IMAGE = 'svc-test-npm';

interface Newcomer {
  env: Record<string, string>;
  path(file: string): string;
  /** Runs a command to its end, which has to be 0. */
  run(command: string, args: string[], cwd?: string): Promise<Ended>;
  /** Starts one in `shop`. */
  start(command: string, args: string[]): { stdout(): string; stop(): Promise<void> };
}

/** Someone with this Node, its npm, and nothing else: no configuration, no cache. */
async function arrive(version: string): Promise<Newcomer> {
  const workspace = await rig.workspace();
  for (const entry of readdirSync(workspace.root)) workspace.remove(entry);
  const [home, bin] = ['home', 'bin'].map((name) => mkdtempSync(join(tmpdir(), `svc-${name}-`))) as [string, string];
  onTestFinished(() => {
    for (const one of [home, bin]) rmSync(one, { recursive: true, force: true });
  });
  symlinkSync(await nodeBinary(version), join(bin, 'node'));
  for (const name of ['npm', 'npx']) symlinkSync(join(npm, `bin/${name}-cli.js`), join(bin, name));
  const PATH = `${bin}:/usr/bin:/bin`;
  const env = { ...workspace.env, PATH, HOME: home, npm_config_registry: registry.url, npm_config_yes: 'true' };
  return { env, path: workspace.path, ...runnerOf(workspace, env) };
}

function runnerOf(workspace: Workspace, env: Record<string, string>): Pick<Newcomer, 'run' | 'start'> {
  const open = (command: string, args: string[], cwd: string) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const kept = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => (kept[name] += text));
    const ended = new Promise<number | null>((done) => child.on('close', done));
    return { kept, ended, end: () => void process.kill(-(child.pid ?? 0), 'SIGTERM') };
  };
  return {
    async run(command, args, cwd = '.') {
      const { kept, ended } = open(command, args, workspace.path(cwd));
      const code = await ended;
      if (code !== 0)
        throw new Error(`${command} ${args.join(' ')} ended with ${code}.\n${kept.stderr}\n${kept.stdout}`);
      return { code, signal: null, ms: 0, ...kept };
    },
    start(command, args) {
      const { kept, ended, end } = open(command, args, workspace.path('shop'));
      return {
        stdout: () => kept.stdout,
        async stop() {
          try {
            end();
          } catch {
            // It has ended by itself.
          }
          await ended;
        },
      };
    },
  };
}

/** The Node of the engine with npm and a shell, as the images that are pulled elsewhere have them. */
async function makeNodeImage(engine: Engine, tools: string): Promise<void> {
  const context = mkdtempSync(join(tmpdir(), 'svc-npm-image-'));
  try {
    mkdirSync(join(context, 'bin'));
    for (const name of ['sh', 'rm', 'ln', 'cp', 'chmod', 'env'])
      cpSync(join(tools, 'root/usr/bin/busybox'), join(context, 'bin', name));
    cpSync(npm, join(context, 'npm'), { recursive: true, dereference: true });
    mkdirSync(join(context, 'root'));
    writeFileSync(join(context, 'root/npm'), '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n', {
      mode: 0o755,
    });
    const lines = [
      'FROM svc-test-node',
      'COPY bin/ /usr/bin/',
      'COPY bin/ /bin/',
      'COPY npm/ /usr/local/lib/npm/',
      'COPY root/npm /usr/local/bin/npm',
      'ENV PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp',
    ];
    writeFileSync(join(context, 'Dockerfile'), lines.join('\n'));
    await engine.ask(['build', '-t', NPM_IMAGE, context]);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}
