import { readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CommandError } from './errors.ts';
import { linkTo } from './manager.ts';
import type { PackageManager } from './manager.ts';
import { checkWorkspaceName, toWorkspaceName } from './names.ts';
import { exists, makeFolder, placeFiles, toWriteError } from './place.ts';
import type { NewFile } from './place.ts';
import { renderEnv } from './provider.ts';
import type { Provider } from './provider.ts';
import { findCheckout, readTemplate, readVersion, UNNAMED_MODEL } from './source.ts';
import type { TemplateName } from './source.ts';

export interface CreateOptions {
  /** The folder to make; it may exist if it is empty. */
  dir: string;
  /** Lower-case letters, digits and "-". Default: from the folder's name. */
  name?: string | undefined;
  /** Default: empty. */
  with?: TemplateName | undefined;
  /** Goes into `.env`, which git ignores and its owner alone reads. */
  provider?: Provider | null | undefined;
  /** The model of every agent that names none. */
  model?: string | null | undefined;
  /** Write into a folder that holds something, and replace files of the same name. */
  force?: boolean | undefined;
  /** Decides how a checkout is linked. Default: npm. */
  manager?: PackageManager | undefined;
}

export interface Created {
  dir: string;
  name: string;
  with: TemplateName;
  /** The address of the provider in `.env`; null: none was named. */
  provider: string | null;
  /** Of svc.config.ts; null: none was named. */
  model: string | null;
  /** Relative to `dir`, sorted. */
  files: string[];
  /** The checkout whose packages the workspace uses; null: those of the registry. */
  linked: string | null;
}

/** Throws what `createWorkspace` would about the folder and the name. */
export function checkTarget({ dir, name, force = false }: Pick<CreateOptions, 'dir' | 'name' | 'force'>): Target {
  const at = resolve(dir);
  const called = name ?? toWorkspaceName(basename(at));
  checkWorkspaceName(called);
  return { dir: at, name: called, force, isThere: checkFolder(at, force) };
}

/** Makes a workspace, whole or not at all. */
export function createWorkspace(options: CreateOptions): Created {
  const { dir, name, force, isThere } = checkTarget(options);
  const template = options.with ?? 'empty';
  const linked = findCheckout();
  const { provider = null, model = null } = options;
  const dependency = toDependency(linked, options.manager ?? 'npm');
  const files = [...listFiles(template, { name, dependency, model }), ...listSecrets(dir, provider)].sort(byPath);
  // A folder that is there keeps its place: it may be the current one of a shell.
  if (isThere) placeFiles(dir, files, { force });
  else placeFolder(dir, files);
  return {
    dir,
    name,
    with: template,
    provider: provider?.url ?? null,
    model,
    files: files.map(({ path }) => path),
    linked: linked ?? null,
  };
}

// --- internal ---

interface Target {
  dir: string;
  name: string;
  force: boolean;
  isThere: boolean;
}

const ENV = '.env';
const CONFIG = 'svc.config.ts';
/** What may lie in a folder that counts as empty. */
const IGNORED = ['.git', '.DS_Store'];
const SHOWN = 3;

/** Whether the folder exists. Throws when it cannot become a workspace. */
function checkFolder(dir: string, force: boolean): boolean {
  if (!exists(dir)) return false;
  const suggestion = 'Choose another folder.';
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError('already_exists', `"${dir}" exists and is not a folder.`, { suggestion });
  const found = readFolder(dir).filter((entry) => !IGNORED.includes(entry));
  if (found.length === 0 || force) return true;
  const more = found.length > SHOWN ? ' …' : '';
  throw new CommandError(
    'already_exists',
    `"${dir}" is not empty: it has ${found.slice(0, SHOWN).join(', ')}${more}.`,
    {
      suggestion: 'Choose another folder, or add --force to write into this one: files of the same name are replaced.',
      details: { files: found },
    },
  );
}

function readFolder(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    throw toWriteError(error, dir);
  }
}

interface Filling {
  name: string;
  model: string | null;
  dependency(name: string): string;
}

function listFiles(template: TemplateName, { name, dependency, model }: Filling): NewFile[] {
  const shell = readTemplate('empty').filter(({ path }) => !path.endsWith('.gitkeep') || !isFilled(template, path));
  const own = template === 'empty' ? [] : readTemplate(template);
  return [...shell, ...own]
    .map(({ path, text }) => ({
      path,
      text: text
        .replaceAll('{{name}}', name)
        .replaceAll(/\{\{(@svc\/\w+)\}\}/g, (_, of: string) => JSON.stringify(dependency(of)).slice(1, -1)),
    }))
    .map((file) => (model !== null && file.path === CONFIG ? nameModel(file, model) : file));
}

/** A file of secrets that is there keeps what is not of a provider. */
function listSecrets(dir: string, provider: Provider | null): NewFile[] {
  if (provider === null) return [];
  const before = exists(join(dir, ENV)) ? readFileSync(join(dir, ENV), 'utf8') : '';
  return [{ path: ENV, text: renderEnv(provider, before), mode: 0o600 }];
}

function nameModel({ path, text }: NewFile, model: string): NewFile {
  const named = `'${model.replaceAll(/[\\']/g, '\\$&')}'`;
  return { path, text: text.replace(`'${UNNAMED_MODEL}'`, () => named) };
}

function byPath(a: NewFile, b: NewFile): number {
  return a.path < b.path ? -1 : 1;
}

/** Whether a template puts something beside this `.gitkeep`. */
function isFilled(template: TemplateName, path: string): boolean {
  const folder = dirname(path);
  return template !== 'empty' && readTemplate(template).some((file) => file.path.startsWith(`${folder}/`));
}

function toDependency(checkout: string | undefined, manager: PackageManager): Filling['dependency'] {
  const version = readVersion();
  return (name) =>
    checkout === undefined ? version : linkTo(manager, join(checkout, 'packages', name.slice('@svc/'.length)));
}

/** Made beside its place and moved in whole: a copy that is cut off leaves no half workspace. */
function placeFolder(dir: string, files: NewFile[]): void {
  const draft = `${dir}.${process.pid}.new`;
  let made: string | undefined;
  try {
    made = makeFolder(draft);
    placeFiles(draft, files, { force: false });
    renameSync(draft, dir);
  } catch (error) {
    // The first folder that was made: the draft, or one above it.
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
    throw toWriteError(error, dir);
  }
}
