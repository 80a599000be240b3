import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { isBuiltin } from 'node:module';
import { promisify } from 'node:util';
import { parseAst } from 'vite';
import { describe, expect, it } from 'vitest';
import { docsPath } from '../src/workspace/docs-path.ts';
import { readText, REPOSITORY } from './_docs.ts';

const BUILT = ['cli', 'create'].every((name) => existsSync(join(REPOSITORY, 'packages', name, 'dist/main.mjs')));

/** What npm would publish, by path. */
async function listPacked(name: string): Promise<string[]> {
  const cwd = join(REPOSITORY, 'packages', name);
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--loglevel=silent'], { cwd });
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
  return (packed?.files ?? []).map(({ path }) => path);
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

describe.skipIf(!BUILT)('the published package', () => {
  it.each(['dev-s3', 'runtime', 'compiler', 'create', 'cli'])('%s asks npm for all that it imports', (name) => {
    const { dependencies, peerDependencies } = JSON.parse(readText(`packages/${name}/package.json`)) as {
      dependencies?: object;
      peerDependencies?: object;
    };
    const imported = listImported(name);
    expect(Object.keys({ ...dependencies, ...peerDependencies })).toEqual(expect.arrayContaining(imported));
  });

  it.each(['dev-s3', 'runtime', 'compiler', 'create', 'cli'])(
    '%s says what it is and what may be done with it',
    async (name) => {
      expect(await listPacked(name)).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
      expect(readText(`packages/${name}/LICENSE`)).toBe(readText('LICENSE'));
    },
  );

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
