import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IMAGES, OUR_IMAGES } from '../../../compiler/src/deploy/images.ts';
import { REPOSITORY } from '../_docs.ts';
import type { Ended } from './_setup.ts';

/** What `.ci/containers.sh` brings up, and why it did not. */
export interface Containers {
  value: string | undefined;
  missing: string;
}

export const containers: Containers = {
  value: process.env['SVC_TEST_CONTAINERS'] || undefined,
  missing: `a container engine (${process.env['SVC_TEST_NO_CONTAINERS'] || 'run .ci/containers.sh'})`,
};

export interface Engine {
  /** With `docker` on it. */
  PATH: string;
  /** Runs the docker client to its end, whatever it ends with. */
  docker(args: string[], options?: Calling): Promise<Ended>;
  /** Its output. Throws what it said when it does not end with 0. */
  ask(args: string[], options?: Calling): Promise<string>;
}

export interface Calling {
  cwd?: string;
  env?: Record<string, string>;
}

/** The engine in a folder of `.ci/containers.sh`. */
export function useEngine(folder: string): Engine {
  const PATH = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  const docker = (args: string[], { cwd = tmpdir(), env = {} }: Calling = {}) =>
    run('docker', args, { cwd, env: { PATH, HOME: process.env['HOME'] ?? '/', ...env } });
  return {
    PATH,
    docker,
    async ask(args, options) {
      const { code, stdout, stderr } = await docker(args, options);
      if (code !== 0) throw new Error(`docker ${args.join(' ')} ended with ${code}.\n${stderr}\n${stdout}`);
      return stdout.trim();
    },
  };
}

/**
 * Makes every image a deploy folder names: ours from this checkout, on an operating system that has neither a shell nor a
 * package manager, and stand-ins for those of others under their very names.
 */
export async function makeImages(engine: Engine, folder: string): Promise<void> {
  const { base } = readNames();
  const script = join(REPOSITORY, 'scripts/make-base-image.mjs');
  const args = ['--engine', 'docker', '--control-plane', '--node-image', 'svc-test-node', '--os-image', 'svc-test-os'];
  const made = await run(process.execPath, [script, ...args], { cwd: REPOSITORY, env: { PATH: engine.PATH } });
  if (made.code !== 0) throw new Error(made.stdout + made.stderr);
  await engine.ask(['tag', 'svc-test-db', IMAGES.db]);
  await engine.ask(['tag', 'svc-test-kv', IMAGES.kv]);
  await build(engine, {
    tag: IMAGES.objstore,
    files: {
      'objstore.mjs': standIn('objstore.mjs'),
      'dev-s3.mjs': join(REPOSITORY, 'packages/dev-s3/dist/index.mjs'),
      wget: join(folder, 'root/usr/bin/busybox'),
    },
    // The image it stands in for runs as root too.
    lines: [
      `FROM ${base}`,
      'USER 0:0',
      'COPY wget /usr/bin/wget',
      'COPY *.mjs /opt/svc/',
      'ENTRYPOINT ["node", "/opt/svc/objstore.mjs"]',
    ],
  });
  const model = ['model-server.mjs', 'model-script.mjs'].map((name) => [name, join(REPOSITORY, 'playground', name)]);
  await build(engine, {
    tag: OUTSIDE_IMAGE,
    files: {
      'outside.mjs': standIn('outside.mjs'),
      'relay.mjs': standIn('relay.mjs'),
      ...(Object.fromEntries(model) as Record<string, string>),
    },
    lines: [`FROM ${base}`, 'COPY *.mjs /opt/svc/', 'ENTRYPOINT ["node", "/opt/svc/outside.mjs"]'],
  });
}

/** Removes what `makeImages` made, and more of that kind. */
export async function removeImages(engine: Engine, more: string[]): Promise<void> {
  const { base, controlPlane } = readNames();
  await engine.docker(['image', 'rm', '--force', ...more, OUTSIDE_IMAGE, ...Object.values(IMAGES), controlPlane, base]);
  await engine.docker(['image', 'prune', '--force']);
}

/** What a box finds outside of its composition: the scripted model on 9101, and the keys of a control plane on 9102. */
export const OUTSIDE_IMAGE = 'svc-test-outside';

// --- internal ---

function readNames(): { base: string; controlPlane: string } {
  const { version } = JSON.parse(fs.readFileSync(join(REPOSITORY, 'packages/runtime/package.json'), 'utf8')) as {
    version: string;
  };
  return { base: `${OUR_IMAGES.base}:${version}`, controlPlane: `${OUR_IMAGES.controlPlane}:${version}` };
}

function standIn(name: string): string {
  return fileURLToPath(new URL(`./stand-ins/${name}`, import.meta.url));
}

interface Building {
  tag: string;
  files: Record<string, string>;
  lines: string[];
}

async function build(engine: Engine, { tag, files, lines }: Building): Promise<void> {
  const context = fs.mkdtempSync(join(tmpdir(), 'svc-image-'));
  try {
    for (const [name, source] of Object.entries(files)) fs.cpSync(source, join(context, name));
    fs.writeFileSync(join(context, 'Dockerfile'), lines.join('\n'));
    await engine.ask(['build', '-t', tag, context]);
  } finally {
    fs.rmSync(context, { recursive: true, force: true });
  }
}

function run(command: string, args: string[], options: Required<Calling>): Promise<Ended> {
  const began = performance.now();
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (kept[name] += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...kept, ms: performance.now() - began }));
  });
}
