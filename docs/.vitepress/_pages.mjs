// @ts-check
/** What is on the site, and where it stands: folders and files, in the order in which they are read. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/**
 * @typedef {{ file: string, title: string, text: string }} Page `file`: from the root of the repository
 * @typedef {{ text: string, pages: Page[] }} Group of pages, as the sidebar has it
 * @typedef {{ text: string, link: string }} Link
 */

export const START = 'README.md';

/** The order of the guide. A page that is in no group stands at the end of the last one. */
const GUIDE = {
  Start: ['start', 'first-workspace', 'refund-desk', 'dev'],
  Dashboard: [
    'dashboard',
    'dashboard-runs',
    'dashboard-chat',
    'dashboard-decide',
    'dashboard-configure',
    'dashboard-watch',
    'dashboard-administer',
    'copilot',
  ],
  Agents: ['agents', 'deep-agents', 'sessions', 'prompts', 'guardrails', 'models'],
  Workflows: ['workflows', 'workflow-sdk'],
  'Clients and callers': ['clients', 'react', 'api', 'callers'],
  'Data and settings': ['database', 'storage', 'config', 'secrets', 'connections', 'browser', 'rag', 'triggers'],
  'Test, deploy, operate': [
    'testing',
    'evals',
    'deploy',
    'self-host',
    'teams',
    'command-line',
    'operating',
    'upgrades',
  ],
};
const REFERENCE = ['routes', 'commands', 'environment', 'errors', 'control-plane', 'security'];
const PROJECT = ['playground/README.md', 'CONTRIBUTING.md'];
const RECIPES = 'docs/guide/recipes.md';

/**
 * Every page but the start.
 * @param {string} root of the repository
 * @returns {Group[]}
 */
export function listGroups(root) {
  const grouped = Object.values(GUIDE).flat();
  const guide = listNames(root, 'docs/guide', grouped).filter((name) => join('docs/guide', `${name}.md`) !== RECIPES);
  const groups = Object.entries(GUIDE).map(([text, names], index, { length }) => {
    const others = index === length - 1 ? guide.filter((name) => !grouped.includes(name)) : [];
    return toGroup(root, text, 'docs/guide', [...guide.filter((name) => names.includes(name)), ...others]);
  });
  const [start, ...rest] = groups;
  return [
    ...(start ? [start] : []),
    { text: 'Recipes', pages: readPages(root, [RECIPES]) },
    ...rest,
    toGroup(root, 'Reference', 'docs/reference', listNames(root, 'docs/reference', REFERENCE)),
    toGroup(root, 'Design', 'docs/design', listNames(root, 'docs/design', readOrder(root, 'docs/design'))),
    { text: 'Project', pages: readPages(root, PROJECT) },
  ].filter(({ pages }) => pages.length > 0);
}

/**
 * The sidebar: the groups, and under the recipes what people look for by its name.
 * @param {string} root
 */
export function readSidebar(root) {
  return listGroups(root).map(({ text, pages }) => ({
    text,
    collapsed: text === 'Design',
    items: [
      ...pages.map((page) => ({ text: page.title, link: `/${toPath(page.file)}` })),
      ...pages.filter(({ file }) => file === RECIPES).flatMap(listRecipes),
    ],
  }));
}

/** @param {string} root */
export function readStart(root) {
  return readPage(root, START);
}

/**
 * Where a page is on the site, without an ending.
 * @param {string} file
 */
export function toPath(file) {
  return file === START ? 'index' : file.replace(/\.md$/, '');
}

// --- internal ---

/**
 * The pages of a folder by name: those of `order` first, in its order, then the others.
 * @param {string} root
 * @param {string} folder
 * @param {string[]} order
 */
function listNames(root, folder, order) {
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  const there = names.map((name) => name.slice(0, -'.md'.length)).sort();
  return [...order.filter((name) => there.includes(name)), ...there.filter((name) => !order.includes(name))];
}

/**
 * The order in which the README of a folder names its pages, itself first.
 * @param {string} root
 * @param {string} folder
 */
function readOrder(root, folder) {
  const path = join(root, folder, 'README.md');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return ['README', ...Array.from(text.matchAll(/\]\(([\w-]+)\.md\)/g), ([, name = '']) => name)];
}

/**
 * @param {string} root
 * @param {string} text
 * @param {string} folder
 * @param {string[]} names
 * @returns {Group}
 */
function toGroup(root, text, folder, names) {
  const files = names.map((name) => posix.join(folder, `${name}.md`));
  return { text, pages: readPages(root, files) };
}

/**
 * @param {string} root
 * @param {string[]} files
 */
function readPages(root, files) {
  return files.filter((file) => existsSync(join(root, file))).map((file) => readPage(root, file));
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {Page}
 */
function readPage(root, file) {
  const text = readFileSync(join(root, file), 'utf8');
  const [, title = file] = /^# (.+)$/m.exec(text) ?? [];
  return { file, title: title.replaceAll('`', ''), text };
}

/**
 * The rows of the table with which the page begins: a name, and the link of it.
 * @param {Page} page
 * @returns {Link[]}
 */
function listRecipes({ file, text }) {
  const rows = text.matchAll(/^\| (.+?) \| \[[^\]]*\]\(([^)#]*)(#[^)]*)?\).*\|$/gm);
  return Array.from(rows, ([, name = '', target = '', anchor = '']) => ({
    text: name.replaceAll('`', ''),
    link: `/${toPath(target ? posix.join(dirname(file), target) : file)}${anchor}`,
  }));
}
