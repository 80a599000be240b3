import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { addPart } from './add.ts';
import { createWorkspace } from './create.ts';
import { linkTo } from './manager.ts';
import { findLeftOut } from './native.ts';
import { checkEntryName, listNameWarnings, toFunctionName, toWorkspaceName } from './names.ts';
import { placeFiles } from './place.ts';
import { TEMPLATES } from './source.ts';

function newDir(name: string): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-create-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return join(root, name);
}

/** Every file and folder below, sorted. */
function listAll(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
}

test.each(TEMPLATES)('a workspace that begins with %s has the shell, its name and no gap left to fill', (template) => {
  const dir = newDir('My Shop');
  const { name, files } = createWorkspace({ dir, with: template });
  expect(name).toBe('my-shop');
  const shell = ['.gitignore', '.npmrc', 'AGENTS.md', 'CLAUDE.md', 'README.md', 'package.json', 'svc.config.ts'];
  expect(files).toEqual(expect.arrayContaining([...shell, 'svc.json', 'tsconfig.json']));
  expect(JSON.parse(readFileSync(join(dir, 'svc.json'), 'utf8'))).toEqual({ slug: 'my-shop' });
  for (const file of files) expect(readFileSync(join(dir, file), 'utf8')).not.toContain('{{');
  for (const folder of ['workflows', 'deep-agents']) expect(existsSync(join(dir, folder))).toBe(true);
  expect(listAll(dir).filter((path) => files.includes(path))).toEqual([...files].sort());
});

test('the page for coding agents is at most 120 lines, and CLAUDE.md one line that leads to it', () => {
  const dir = newDir('shop');
  createWorkspace({ dir });
  expect(readFileSync(join(dir, 'AGENTS.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  expect(readFileSync(join(dir, 'CLAUDE.md'), 'utf8')).toBe('@AGENTS.md\n');
});

test('a folder that holds something is refused and left as it is', () => {
  const dir = newDir('taken');
  mkdirSync(dir);
  writeFileSync(join(dir, 'notes.txt'), 'mine');
  expect(() => createWorkspace({ dir })).toThrow(/is not empty: it has notes\.txt\./);
  expect(readdirSync(dir)).toEqual(['notes.txt']);
});

test('a provider is kept in .env, for its owner alone and not for git; the model in svc.config.ts', () => {
  const dir = newDir('shop');
  const provider = { url: 'https://x.example/v1', key: 'sk-1' };
  const created = createWorkspace({ dir, with: 'agent', provider, model: "it's/$&" });
  expect(created).toMatchObject({ provider: 'https://x.example/v1', model: "it's/$&" });
  expect(JSON.stringify(created)).not.toContain('sk-1');
  expect(readFileSync(join(dir, '.env'), 'utf8')).toContain('\nMODEL_PROVIDER_API_KEY=sk-1\n');
  expect(statSync(join(dir, '.env')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(dir, '.gitignore'), 'utf8').split('\n')).toContain('.env');
  expect(readFileSync(join(dir, 'svc.config.ts'), 'utf8')).toContain("model: 'it\\'s/$&',");
});

test('--force adds a provider to the .env that is there', () => {
  const dir = newDir('shop');
  mkdirSync(dir);
  writeFileSync(join(dir, '.env'), 'MINE=1\n', { mode: 0o644 });
  createWorkspace({ dir, force: true });
  expect(readFileSync(join(dir, '.env'), 'utf8')).toBe('MINE=1\n');
  createWorkspace({ dir, force: true, provider: { url: 'http://x/v1' } });
  expect(readFileSync(join(dir, '.env'), 'utf8')).toBe('MINE=1\nMODEL_PROVIDER_BASE_URL=http://x/v1\n');
  expect(statSync(join(dir, '.env')).mode & 0o777).toBe(0o600);
});

test('an install that left out the native part of the bundler is seen, and what it lacks is named', () => {
  const root = newDir('shop');
  const bundler = join(root, 'node_modules/rolldown');
  mkdirSync(bundler, { recursive: true });
  const names = [
    'linux-x64-gnu',
    'linux-x64-musl',
    'linux-arm64-gnu',
    'linux-arm64-musl',
    'darwin-arm64',
    'darwin-x64',
  ];
  const optionalDependencies = Object.fromEntries(names.map((name) => [`@rolldown/binding-${name}`, '1.2.3']));
  writeFileSync(join(bundler, 'package.json'), JSON.stringify({ optionalDependencies }));
  const left = findLeftOut(root) ?? '';
  expect(left).toMatch(new RegExp(`^@rolldown/binding-${process.platform}-${process.arch}.*@1\\.2\\.3$`));
  mkdirSync(join(root, 'node_modules', left.replace(/@1\.2\.3$/, '')), { recursive: true });
  expect(findLeftOut(root)).toBeUndefined();
  expect(findLeftOut(newDir('none'))).toBeUndefined();
});

test('a folder that holds a repository alone counts as empty', () => {
  const dir = newDir('fresh');
  mkdirSync(join(dir, '.git'), { recursive: true });
  createWorkspace({ dir });
  expect(readdirSync(dir)).toEqual(expect.arrayContaining(['.git', 'svc.json']));
});

test('--force replaces files of the same name and leaves the others', () => {
  const dir = newDir('taken');
  mkdirSync(dir);
  writeFileSync(join(dir, 'notes.txt'), 'mine');
  writeFileSync(join(dir, 'README.md'), 'old');
  createWorkspace({ dir, force: true });
  expect(readFileSync(join(dir, 'notes.txt'), 'utf8')).toBe('mine');
  expect(readFileSync(join(dir, 'README.md'), 'utf8')).toContain('# taken');
});

test('an unusable name is refused before anything is written', () => {
  const dir = newDir('shop');
  expect(() => createWorkspace({ dir, name: 'No Spaces' })).toThrow(/"No Spaces" cannot be the name of a workspace/);
  expect(() => createWorkspace({ dir, name: 'zod' })).toThrow(/cannot be named "zod"/);
  expect(existsSync(dir)).toBe(false);
});

test('where no folder can be made, nothing of the way to it is left', () => {
  const dir = newDir('file');
  writeFileSync(dir, 'mine');
  const refused = (path: string) => `"${join(dir, path)}" cannot be written: a part of the path is a file. Nothing`;
  expect(() => createWorkspace({ dir: join(dir, 'a') })).toThrow(refused('a'));
  expect(() => createWorkspace({ dir: join(dir, 'a/b') })).toThrow(refused('a/b'));
  expect(() => createWorkspace({ dir: join(dir, '..', 'x'.repeat(300)) })).toThrow(/the name is too long/);
  expect(() => createWorkspace({ dir: join(dir, '..', 'made', 'y'.repeat(250)) })).toThrow(/the name is too long/);
  expect(readdirSync(join(dir, '..'))).toEqual(['file']);
});

test.skipIf(process.platform !== 'linux')('where the system takes no folder at all, it is refused at once', () => {
  expect(() => createWorkspace({ dir: '/proc/svc-create' })).toThrow(/^"\/proc\/svc-create" cannot be written/);
  expect(() => createWorkspace({ dir: '/proc/svc-create/shop' })).toThrow(/^"\/proc\/svc-create" cannot be written/);
});

test('a write that fails in the middle takes everything back, replaced files included', () => {
  const dir = newDir('half');
  mkdirSync(join(dir, 'folder.txt'), { recursive: true });
  writeFileSync(join(dir, 'old.txt'), 'old');
  const paths = ['new/deep/first.txt', 'old.txt', 'folder.txt'];
  const files = paths.map((path) => ({ path, text: 'new' }));
  expect(() => placeFiles(dir, files, { force: true })).toThrow(/"[^"]*folder\.txt" cannot be written/);
  expect(listAll(dir)).toEqual(['folder.txt', 'old.txt']);
  expect(readFileSync(join(dir, 'old.txt'), 'utf8')).toBe('old');
});

test.skipIf(process.getuid?.() === 0)('a folder one may not write into is refused in words', () => {
  const dir = newDir('closed');
  mkdirSync(dir, { mode: 0o500 });
  onTestFinished(() => chmodSync(dir, 0o700));
  expect(() => createWorkspace({ dir })).toThrow(/permission is denied/);
});

test('an agent and a workflow that are added are those of the templates under another name', () => {
  const root = newDir('shop');
  createWorkspace({ dir: root });
  addPart({ root, kind: 'workflow-agent', name: 'help-desk' });
  expect(readFileSync(join(root, 'deep-agents/help-desk/index.ts'), 'utf8')).toContain("name: 'help-desk'");
  const workflow = readFileSync(join(root, 'workflows/help-desk.workflow.ts'), 'utf8');
  expect(workflow).toContain('export async function helpDeskWorkflow(');
  expect(workflow).toContain("svc.agent('help-desk')");
});

test('what exists is not replaced, also where only one of two files does', () => {
  const root = newDir('shop');
  createWorkspace({ dir: root });
  addPart({ root, kind: 'workflow', name: 'desk' });
  const before = listAll(root);
  expect(() => addPart({ root, kind: 'workflow-agent', name: 'desk' })).toThrow(/a workflow "desk" already/);
  expect(listAll(root)).toEqual(before);
  addPart({ root, kind: 'workflow-agent', name: 'desk', force: true });
  expect(readFileSync(join(root, 'workflows/desk.workflow.ts'), 'utf8')).toContain("svc.agent('desk')");
});

test('--calls takes an agent before a workflow, and names what there is', () => {
  const root = newDir('shop');
  createWorkspace({ dir: root });
  expect(() => addPart({ root, kind: 'workflow', name: 'a', calls: 'b' })).toThrow(/no agent and no workflow/);
  addPart({ root, kind: 'workflow', name: 'b' });
  expect(addPart({ root, kind: 'workflow', name: 'a', calls: 'b' }).calls).toEqual({ kind: 'workflow', name: 'b' });
  addPart({ root, kind: 'agent', name: 'b' });
  expect(addPart({ root, kind: 'workflow', name: 'c', calls: 'b' }).calls).toEqual({ kind: 'agent', name: 'b' });
  expect(() => addPart({ root, kind: 'workflow', name: 'd', calls: 'd' })).toThrow(/cannot call itself/);
});

test.each([
  ['Ünïcode Shop', 'unicode-shop'],
  ['日本', 'workspace'],
  ['zod', 'zod-workspace'],
  ['a_b', 'a-b'],
])('the folder %s is the workspace %s', (folder, name) => {
  expect(toWorkspaceName(folder)).toBe(name);
});

test.each([
  ['onboard-customer', 'onboardCustomerWorkflow'],
  ['2fa', '_2faWorkflow'],
  ['a--b_', 'aBWorkflow'],
  ['delete', 'deleteWorkflow'],
])('the function of the workflow %s is %s', (name, fn) => {
  expect(toFunctionName(name)).toBe(fn);
});

test('names the compiler refuses are refused, names clients misread are warned of', () => {
  for (const name of ['Shop', '-a', 'a b', '../a', 'a'.repeat(65), 'v1.2'])
    expect(() => checkEntryName('agent', name)).toThrow(/cannot be the name of an agent/);
  for (const name of ['runs', 'hooks']) expect(() => checkEntryName('workflow', name)).toThrow(/is a route of the box/);
  expect(() => checkEntryName('agent', 'runs')).not.toThrow();
  expect(
    ['my-codex', 'o3-mini', 'gpt-5', 'studio-copilot', 'support'].map((name) => listNameWarnings('agent', name).length),
  ).toEqual([1, 1, 1, 1, 0]);
  expect(listNameWarnings('workflow', 'my-codex')).toEqual([]);
});

test('a checkout is linked in the way each package manager links', () => {
  const ways = (['npm', 'bun', 'pnpm', 'yarn'] as const).map((manager) => linkTo(manager, '/x'));
  expect(ways).toEqual(['file:/x', 'file:/x', 'link:/x', 'link:/x']);
});
