import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { isBuiltin } from 'node:module';
import { promisify } from 'node:util';
import { parseAst } from 'vite';
import { describe, expect, it } from 'vitest';
import { listFileFaults, listManifestFaults, PACKAGES, toPublished } from '../../../scripts/_release.mjs';
import type { Manifest } from '../../../scripts/_release.mjs';
import { docsPath } from '../src/workspace/docs-path.ts';
import { readText, REPOSITORY } from './_docs.ts';

const BUILT = ['cli', 'create'].every((name) => existsSync(join(REPOSITORY, 'packages', name, 'dist/main.mjs')));

const listed = new Map<string, Promise<string[]>>();

/** What npm would publish, by path. Asked once for each package: npm takes a second to begin with. */
function listPacked(name: string): Promise<string[]> {
  const files = listed.get(name) ?? askNpm(name);
  listed.set(name, files);
  return files;
}

async function askNpm(name: string): Promise<string[]> {
  const cwd = join(REPOSITORY, 'packages', name);
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--loglevel=silent'], { cwd });
  const [first] = JSON.parse(stdout) as { files: { path: string }[] }[];
  return (first?.files ?? []).map(({ path }) => path);
}

function listFiles(folder: string): string[] {
  const entries = readdirSync(join(REPOSITORY, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(REPOSITORY, folder).length + 1));
}

/** The relative links of a page, without what they point at inside of the other. */
function listLinks(text: string): string[] {
  const prose = text.replace(/^```[^]*?^```$/gm, '');
  return Array.from(prose.matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g), ([, target = '']) => target);
}

/** The packages that what is built imports as soon as it is loaded. */
function listImported(name: string): string[] {
  const folder = `packages/${name}/dist`;
  const modules = listFiles(folder).filter((path) => path.endsWith('.mjs') && !path.includes('/'));
  const imported = modules.flatMap((path) =>
    parseAst(readText(`${folder}/${path}`)).body.flatMap((node) => {
      const target = 'source' in node && node.source ? String(node.source.value) : '.';
      return target.startsWith('.') ? [] : target.split('/', target.startsWith('@') ? 2 : 1).join('/');
    }),
  );
  return [...new Set(imported)].filter((target) => !isBuiltin(target)).sort();
}

describe('what is released', () => {
  const manifests = PACKAGES.map((name) => JSON.parse(readText(`packages/${name}/package.json`)) as Manifest);
  const release = { version: manifests[0]?.version ?? '', ours: manifests.map(({ name }) => name) };

  it('is of one version, and names its own packages as npm takes them', () => {
    expect(manifests.flatMap((manifest) => listManifestFaults(manifest, release))).toEqual([]);
  });

  it.each<[Partial<Manifest>, RegExp]>([
    [{ version: '0.0.9' }, /^a is version 0\.0\.9, and 1\.0\.0 is released\.$/],
    [{ dependencies: { b: 'workspace:*' } }, /^a asks for b workspace:\*: write 1\.0\.0\.$/],
    [
      { peerDependencies: { zod: 'link:../zod' } },
      /^a asks for zod link:\.\.\/zod, which npm cannot install or pin\.$/,
    ],
    [{ keywords: [] }, /^a needs a description and keywords\.$/],
    [{ publishConfig: {} }, /^a needs publishConfig\.access "public"\.$/],
    [{ publishConfig: { access: 'public' } }, /^a needs publishConfig\.provenance true\.$/],
    [{ private: true }, /^a is private\.$/],
  ])('is not, with %j', (part, fault) => {
    const whole = { name: 'a', version: '1.0.0', description: 'A.', keywords: ['a'], license: 'MIT', files: ['dist'] };
    const manifest = {
      ...whole,
      engines: { node: '>=20' },
      publishConfig: { access: 'public', provenance: true },
      ...part,
    };
    const faults = listManifestFaults(manifest, { version: '1.0.0', ours: ['a', 'b'] });
    expect(faults).toContainEqual(expect.stringMatching(fault));
  });

  it.each(manifests.map((manifest) => [manifest.name, manifest] as const))(
    '%s names the repository it was built in, which is its homepage, and is published with provenance',
    (_, manifest) => {
      const repository = 'https://code.example/svc.git';
      expect(toPublished(manifest, { repository })).toMatchObject({
        repository: { type: 'git', url: repository },
        homepage: repository,
        publishConfig: { access: 'public', provenance: true },
      });
    },
  );

  it('leads nowhere but to files that are in it', () => {
    const [runtime] = manifests.filter(({ name }) => name === '@svc/runtime');
    const published = toPublished(runtime as Manifest, {});
    expect(JSON.stringify(published)).not.toMatch(/svc-source|devDependencies|\.\/src\//);
    const faults = listFileFaults(
      ['package.json', 'bin.mjs', 'src/index.ts', 'dist/index.mjs', 'dist/a.mjs.map'],
      published,
    );
    expect(faults).toEqual(
      expect.arrayContaining([
        '@svc/runtime lacks README.md.',
        '@svc/runtime lacks dist/client.mjs.',
        expect.stringMatching(/holds src\/index\.ts/),
        expect.stringMatching(/holds dist\/a\.mjs\.map/),
      ]),
    );
    expect(faults).not.toContain('@svc/runtime lacks dist/index.mjs.');
  });
});

describe.skipIf(!BUILT)('the published package', () => {
  it.each(PACKAGES)('%s holds what it names and nothing besides', async (name) => {
    const manifest = toPublished(JSON.parse(readText(`packages/${name}/package.json`)) as Manifest, {});
    expect(listFileFaults(await listPacked(name), manifest)).toEqual([]);
  });

  it.each(PACKAGES)('%s asks npm for all that it imports', (name) => {
    const { dependencies, peerDependencies } = JSON.parse(readText(`packages/${name}/package.json`)) as {
      dependencies?: object;
      peerDependencies?: object;
    };
    const imported = listImported(name);
    expect(Object.keys({ ...dependencies, ...peerDependencies })).toEqual(expect.arrayContaining(imported));
  });

  it.each(PACKAGES)('%s says what it is and what may be done with it', async (name) => {
    expect(await listPacked(name)).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
    expect(readText(`packages/${name}/LICENSE`)).toBe(readText('LICENSE'));
  });

  it('runtime loads what it carries of other packages, whichever part is asked for first', async () => {
    const folder = join(REPOSITORY, 'packages/runtime/dist');
    const parts = listFiles('packages/runtime/dist').filter(
      (path) => path.endsWith('.mjs') && readText(`packages/runtime/dist/${path}`).includes('@opentelemetry/'),
    );
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) await promisify(execFile)(process.execPath, [join(folder, part)]);
  });

  it.each([
    ['cli', ['drizzle-kit', 'tar-stream']],
    ['runtime', ['@opentelemetry/sdk-metrics', '@opentelemetry/exporter-trace-otlp-proto', '@rgrove/parse-xml']],
  ])('%s carries the licences of the packages whose code is in it', async (name, bundled) => {
    expect(await listPacked(name)).toContain('dist/THIRD_PARTY.txt');
    const text = readText(`packages/${name}/dist/THIRD_PARTY.txt`);
    for (const each of bundled) expect(text).toMatch(new RegExp(`^${each} \\d+\\.\\d+\\.\\d+$`, 'm'));
    expect(text).toContain('Apache License');
  });

  it('of the command line carries the docs of its version, where AGENTS.md and README.md look for them', async () => {
    const packed = await listPacked('cli');
    for (const part of ['guide', 'design', 'reference'])
      expect(packed).toEqual(
        expect.arrayContaining(listFiles(`docs/${part}`).map((path) => `dist/docs/${part}/${path}`)),
      );
    const named = ['AGENTS.md', 'README.md'].flatMap((page) =>
      Array.from(
        readText(`templates/empty/${page}`).matchAll(/node_modules\/@svc\/cli\/([\w/-]+)/g),
        ([, path = '']) => path,
      ),
    );
    expect(named).toHaveLength(3);
    for (const folder of named) expect(packed.some((path) => path.startsWith(folder))).toBe(true);
  });

  it('of the command line has every page its pages link to and its messages name', async () => {
    const packed = new Set(await listPacked('cli'));
    const pages = [...packed].filter((path) => /^dist\/docs\/.*\.md$/.test(path));
    expect(pages.length).toBeGreaterThan(20);
    const broken = pages.flatMap((page) =>
      listLinks(readText(`packages/cli/${page}`))
        .filter((target) => !packed.has(posix.join(posix.dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
    expect(packed).toContain(docsPath('guide/deploy.md').replace('node_modules/@svc/cli/', ''));
  });

  it.each(['cli', 'create'])('%s carries every template, and no test and no source', async (name) => {
    const packed = await listPacked(name);
    expect(packed).toEqual(expect.arrayContaining(listFiles('templates').map((path) => `dist/templates/${path}`)));
    expect(packed.filter((path) => path.startsWith('src/') || path.includes('.test.'))).toEqual([]);
  });
});
