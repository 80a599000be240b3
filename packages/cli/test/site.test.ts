import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listPages, readText, REPOSITORY } from './_docs.ts';

const INSTALLED = realpathSync(join(REPOSITORY, 'node_modules/vitepress'));
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

describe('the site of the documentation', () => {
  const out = makeFolder();
  const read = (file: string) => readFileSync(join(out, file), 'utf8');
  /** The file of a page, without its ending; the README is the start. */
  const pages = listPages().map((page) => (page === 'README.md' ? 'index' : page.replace(/\.md$/, '')));

  let printed = '';
  beforeAll(async () => {
    const { code, output } = await build(REPOSITORY, ['--outDir', out]);
    if (code !== 0) throw new Error(output);
    printed = output;
  });

  it('is built of every page, and no link in it is dead', () => {
    expect(pages.length).toBeGreaterThan(40);
    expect(pages.filter((page) => !existsSync(join(out, `${page}.html`)))).toEqual([]);
  });

  it('shows what stands in braces, and has every page to its end', () => {
    expect(printed).not.toMatch(/\w*Error:/);
    expect(read('docs/guide/prompts.html')).toContain('answers the text with <code>{{name}}</code> replaced');
    expect(read('docs/guide/triggers.html')).toContain('>Deliveries ');
  });

  it('has the text of each page beside it, which names the list of all', () => {
    const textOf = (page: string) => `> All pages: /llms.txt\n\n${readText(`${page.replace('index', 'README')}.md`)}`;
    expect(pages.filter((page) => read(`${page}.md`) !== textOf(page))).toEqual([]);
  });

  it('lists every page in llms.txt with what it is about, and has all of them in llms-full.txt', () => {
    const listed = Array.from(read('llms.txt').matchAll(/^- \[.+?\]\(\/(.+?)\.md\): \S/gm), ([, page]) => page);
    expect(listed.sort()).toEqual([...pages].sort());
    const full = read('llms-full.txt');
    expect(pages.filter((page) => !full.includes(`<!-- /${page}.md -->\n\n`))).toEqual([]);
  });

  it('finds each recipe by its name, and shows which file a block of code is', () => {
    const items = Array.from(
      read('docs/guide/start.html').matchAll(/<p class="text"[^>]*>([^<]+)/g),
      ([, text]) => text,
    );
    const names = ['OpenAI client', 'useChat', 'cron job', 'Human approval', 'Slack', 'E-mail', 'RAG'];
    expect(names.filter((name) => !items.some((text) => text?.includes(name)))).toEqual([]);
    expect(read('docs/guide/recipes.html')).toContain('<p class="file">workflows/digest.workflow.ts</p>');
  });

  it('has a search that finds each recipe by its name, before all else', async () => {
    const index = await openSearch(out);
    const names = ['Cron', 'Human approval', 'Slack', 'E-mail', 'RAG'];
    const first = names.map((name) => index.search(name)[0]);
    expect(first.map((found) => [found?.title, found?.id])).toEqual(
      names.map((name) => [name, `/docs/guide/recipes.html#${name.toLowerCase().replaceAll(' ', '-')}`]),
    );
    expect(index.search('useChat').slice(0, 3)).toContainEqual(
      expect.objectContaining({ id: expect.stringContaining('/docs/guide/react.html#') as string }),
    );
  });

  it('gives what a page links that is no page', () => {
    expect(read('docs/reference/payloads.json')).toBe(readText('docs/reference/payloads.json'));
  });
});

describe('a dead link', () => {
  it.each([
    ['a page that is not there', '[lost](./nowhere.md)', /dead link \.\/nowhere in file docs\/guide\/start\.md/],
    ['a heading that is not there', '[lost](#nowhere)', /docs\/guide\/start\.md: \/docs\/guide\/start\.md#nowhere/],
  ])('to %s fails the build, which names page and link', async (_, link, said) => {
    const root = makeFolder();
    for (const folder of ['docs/guide', 'docs/.vitepress']) mkdirSync(join(root, folder), { recursive: true });
    cpSync(join(REPOSITORY, 'docs/.vitepress'), join(root, 'docs/.vitepress'), {
      recursive: true,
      filter: (path) => !['dist', '.temp'].includes(basename(path)),
    });
    mkdirSync(join(root, 'node_modules'));
    for (const name of ['vitepress', 'vue'])
      symlinkSync(realpathSync(join(INSTALLED, '..', name)), join(root, 'node_modules', name));
    writeFileSync(join(root, 'README.md'), '# Shop\n\nA [page](docs/guide/start.md#here).\n');
    writeFileSync(join(root, 'docs/guide/start.md'), `# Start\n\n## Here\n\nA link that is ${link}.\n`);
    const { code, output } = await build(root);
    expect(output).toMatch(said);
    expect(code).toBe(1);
  });
});

// --- internal ---

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-site-'));
  folders.push(folder);
  return folder;
}

interface Search {
  search(words: string): { id: string; title: string }[];
}

/** The index that the site has, asked as its search box asks it. */
async function openSearch(out: string): Promise<Search> {
  const folder = join(out, 'assets/chunks');
  const chunk = readdirSync(folder).find((file) => file.startsWith('@localSearchIndexroot')) ?? 'no index';
  const { default: text } = (await import(join(folder, chunk))) as { default: string };
  const { default: MiniSearch } = (await import(join(INSTALLED, '../minisearch/dist/es/index.js'))) as {
    default: { loadJSON(text: string, options: object): Search };
  };
  const { default: config } = (await import(join(REPOSITORY, 'docs/.vitepress/config.mjs'))) as {
    default: { themeConfig: { search: { options: { miniSearch: { searchOptions: object } } } } };
  };
  const { searchOptions } = config.themeConfig.search.options.miniSearch;
  const asked = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...searchOptions };
  const fields = ['title', 'titles', 'text'];
  return MiniSearch.loadJSON(text, { fields, storeFields: ['title', 'titles'], searchOptions: asked });
}

function build(root: string, args: string[] = []): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, NODE_ENV: 'production', NO_COLOR: '1' };
  const child = spawn(process.execPath, [join(INSTALLED, 'bin/vitepress.js'), 'build', 'docs', ...args], {
    cwd: root,
    env,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
