import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { contractPayload } from '@svc/runtime/host';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { readDocument, readError } from './_setup.ts';
import { loadArchive, makeArchive, packTar, readTar } from './_image.ts';
import type { TestImage } from './_image.ts';
import { parseComposition } from './_compose.ts';
import { useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();
const { version: CONTRACT, build } = contractPayload();
const BASE_NAME = `svc-runtime:${build.version}`;
const PLANE_NAME = `svc-control-plane:${build.version}`;

let workspace: Workspace;
let base: TestImage;
let plane: TestImage;
beforeEach(async () => {
  workspace = await rig.workspace();
  const [first, second] = await Promise.all(
    ['base', 'runtime'].map((name) => packTar([{ name: `opt/${name}`, content: Buffer.alloc(70_000, name) }])),
  );
  const layers = [first ?? Buffer.alloc(0), second ?? Buffer.alloc(0)];
  base = { tags: [BASE_NAME], layers, labels: { 'svc.contract': String(CONTRACT) } };
  plane = { tags: [`docker.io/library/${PLANE_NAME}`], layers: [layers[0] ?? Buffer.alloc(0)] };
});

function run(args: string[], env: Record<string, string> = {}) {
  return runCli(['package', ...args, '--json'], { cwd: workspace.root, env });
}

const fromBase = (...args: string[]) => run(['--base-archive', 'base.tar', ...args]);
const save = (...images: TestImage[]) => makeArchive(workspace.path('base.tar'), images);
const read = (name: string) => readFileSync(workspace.path(`dist/deploy/${name}`));

describe('--base-archive', () => {
  it('puts the workspace on the base as one layer, as the Dockerfile would', async () => {
    await save(base);
    const document = readDocument(await fromBase());
    expect(document).toMatchObject({ offline: true, baseImage: BASE_NAME, imageTag: 'svc-agent:latest' });
    expect(document['files']).toContain('agent-image.tar');
    const images = await loadArchive(workspace.path('dist/deploy/agent-image.tar'));
    expect(images).toHaveLength(1);
    const [{ tags, config, layers } = { tags: [], config: undefined, layers: [] }] = images;
    expect(tags).toEqual(['svc-agent:latest']);
    expect(layers.slice(0, 2)).toEqual(base.layers);
    expect(config).toMatchObject({
      architecture: 'amd64',
      config: { Entrypoint: ['node', '/opt/svc/boot.mjs'], WorkingDir: '/workspace' },
    });
    expect(config?.history.at(-1)).toEqual({
      created: '2026-01-02T03:04:05Z',
      created_by: 'COPY workspace/ /workspace/',
      comment: 'svc package',
    });
    const files = await readTar(layers[2] ?? Buffer.alloc(0));
    const packaged = (document['files'] as string[]).filter((name) => name.startsWith('workspace/'));
    expect([...files.keys()].sort()).toEqual(packaged);
    for (const [name, content] of files) expect(content.equals(read(name))).toBe(true);
  });

  it('writes the same archive each time, byte by byte', async () => {
    await save(base);
    await fromBase();
    const first = read('agent-image.tar');
    await fromBase();
    expect(read('agent-image.tar').equals(first)).toBe(true);
  });

  it('builds nothing where the folder is deployed, and still has all the other files', async () => {
    await save(base);
    await fromBase();
    const { services } = parseComposition(read('docker-compose.yml').toString());
    for (const service of Object.values(services)) expect(service).not.toHaveProperty('build');
    expect(read('Dockerfile').toString()).toBe(`FROM ${BASE_NAME}\nCOPY workspace/ /workspace/\n`);
    expect(read('README.md').toString()).toContain('docker load -i agent-image.tar');
  });

  it('takes the control plane of self-host along, and a layer both have once', async () => {
    await save(plane, base);
    const document = readDocument(await fromBase('--target', 'self-host'));
    expect(document['files']).toContain('svc-images.tar');
    const images = await loadArchive(workspace.path('dist/deploy/svc-images.tar'));
    expect(images.map(({ tags }) => tags)).toEqual([['svc-agent:latest'], [PLANE_NAME]]);
    expect(images[1]?.layers).toEqual(plane.layers);
    expect([...(await readTar(read('svc-images.tar'))).keys()]).toHaveLength(6);
  });

  it('takes the only image whatever it is called, and of several the one that is named', async () => {
    await save({ ...base, tags: ['localhost/mine:2'] });
    expect(readDocument(await fromBase())).toMatchObject({ baseImage: 'mine:2' });
    await save({ ...base, tags: ['localhost/mine:2'] }, plane);
    expect(readError(await fromBase())).toMatchObject({
      code: 'archive_invalid',
      message: expect.stringContaining(`holds no image "${BASE_NAME}". It holds: localhost/mine:2, docker.io/`),
    });
    expect(readDocument(await fromBase('--base', 'mine:2'))).toMatchObject({ baseImage: 'mine:2' });
  });

  it('reads an archive that is packed, and one whose layers are links to one another', async () => {
    const file = await save(base);
    await fromBase();
    const expected = read('agent-image.tar');
    const plain = readFileSync(file);
    writeFileSync(file, gzipSync(plain));
    await fromBase();
    expect(read('agent-image.tar').equals(expected)).toBe(true);

    const files = await readTar(gunzipSync(readFileSync(file)));
    const manifest = JSON.parse(String(files.get('manifest.json'))) as [{ Layers: string[] }];
    const real = manifest[0].Layers;
    manifest[0].Layers = real.map((_, at) => `${at}/layer.tar`);
    files.set('manifest.json', Buffer.from(JSON.stringify(manifest)));
    const entries = Array.from(files, ([name, content]) => ({ name: `./${name}`, content }));
    const links = real.map((name, at) => ({ name: `${at}/layer.tar`, linkname: `../${name}` }));
    writeFileSync(file, await packTar([...links, ...entries]));
    await fromBase();
    expect(read('agent-image.tar').equals(expected)).toBe(true);
  });
});

describe('--base-archive refuses with 1, before anything is compiled,', () => {
  beforeEach(() => workspace.write('deep-agents/echo/index.ts', 'export default {;\n'));

  async function refuse(...args: string[]): Promise<string> {
    const result = await fromBase(...args);
    expect(result.exitCode).toBe(1);
    expect(existsSync(workspace.path('dist'))).toBe(false);
    const { code, message } = readError(result);
    expect(code).toBe('archive_invalid');
    return message;
  }

  it('a file that is not there, and one that is no tar', async () => {
    expect(await refuse()).toContain('it cannot be read: there is no such file');
    workspace.write('base.tar', 'x'.repeat(2000));
    expect(await refuse()).toContain('it is no tar file');
  });

  it('a tar without images, and an OCI layout', async () => {
    writeFileSync(workspace.path('base.tar'), await packTar([{ name: 'x' }]));
    expect(await refuse()).toContain('it is no docker-archive');
    writeFileSync(workspace.path('base.tar'), await packTar([{ name: 'oci-layout', content: Buffer.from('{}') }]));
    expect(await refuse()).toContain('it is an OCI layout');
  });

  it('an archive that is cut off, and one that lacks a layer', async () => {
    const file = await save(base);
    const content = readFileSync(file);
    writeFileSync(file, content.subarray(0, 100_000));
    expect(await refuse()).toContain('it is no tar file');
    const files = await readTar(content);
    files.delete([...files.keys()][0] ?? '');
    writeFileSync(file, await packTar(Array.from(files, ([name, value]) => ({ name, content: value }))));
    expect(await refuse()).toMatch(/a layer in it, "\w+\.tar", is missing/);
  });

  it('an archive without the base that is named, or without the control plane', async () => {
    await save(base);
    expect(await refuse('--base', 'other:1')).toContain('holds no image "other:1"');
    expect(await refuse('--target', 'self-host')).toContain(`holds no image "${PLANE_NAME}"`);
  });

  it('a base that is older than the bundle', async () => {
    await save({ ...base, labels: { 'svc.contract': String(CONTRACT - 1) } });
    expect(await refuse()).toContain(`speaks protocol ${CONTRACT - 1}, and the bundle needs ${CONTRACT}`);
  });
});

describe('--offline', () => {
  /** A folder with programs, each a script. */
  function makePath(programs: Record<string, string>): Record<string, string> {
    const folder = workspace.path('programs');
    mkdirSync(folder);
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(folder, name), 0o755);
    }
    return { PATH: `${folder}:/usr/bin:/bin`, LOG: workspace.path('log.txt') };
  }

  it('without a container runtime that works ends with 1 and says what each answered', async () => {
    const env = makePath({ docker: 'echo "Cannot connect to the daemon" >&2; exit 1', podman: 'exit 125' });
    const result = await run(['--offline'], env);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'container_runtime_missing',
      message: expect.stringMatching(/docker: Cannot connect to the daemon\. podman: It ended with 125\.$/),
      suggestion: expect.stringContaining('--base-archive'),
    });
    expect(existsSync(workspace.path('dist'))).toBe(false);
    expect(readError(await run(['--offline'], { PATH: workspace.root })).message).toContain('docker: Not installed.');
  });

  const ENGINE = `
echo "$@" >> "$LOG"
case "$1 $2" in
  "image inspect") test "$3" = "${BASE_NAME}" ;;
  "pull "*) test "$2" = "${PLANE_NAME}" || { echo "no such image" >&2; exit 1; } ;;
  "save "*) while [ "$1" != -o ]; do shift; done; cp "$SAVED" "$2" ;;
esac`;

  it('takes the base from the engine, pulls what is not there, and leaves nothing else behind', async () => {
    await save(base, plane);
    const env = { ...makePath({ docker: 'exit 1', podman: ENGINE }), SAVED: workspace.path('base.tar') };
    const document = readDocument(await run(['--offline', '--target', 'self-host'], env));
    expect(document).toMatchObject({ offline: true, target: 'self-host' });
    const images = await loadArchive(workspace.path('dist/deploy/svc-images.tar'));
    expect(images.map(({ tags, layers }) => [tags[0], layers.length])).toEqual([
      ['svc-agent:latest', 3],
      [PLANE_NAME, 1],
    ]);
    expect(workspace.read('log.txt')).toMatch(
      new RegExp(`^info\nimage inspect ${BASE_NAME}\nimage inspect ${PLANE_NAME}\npull ${PLANE_NAME}\nsave .*-o .+\n$`),
    );
    expect(existsSync(workspace.path('dist/deploy/docker-compose.yml'))).toBe(true);
    expect(readdirSync(workspace.path('dist'))).toEqual(['deploy']);
  });

  it('names an image that cannot be had, and leaves no folder', async () => {
    const env = makePath({ docker: ENGINE });
    const result = await run(['--offline', '--base', 'other:1'], env);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'package_failed',
      message: 'The image "other:1" is not here and cannot be pulled. no such image.',
    });
    expect(existsSync(workspace.path('dist/deploy'))).toBe(false);
  });
});
