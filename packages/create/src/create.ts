import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CommandError } from './errors.ts';
import { linkTo } from './manager.ts';
import type { PackageManager } from './manager.ts';
import { checkWorkspaceName, toWorkspaceName } from './names.ts';
import { exists, makeFolder, placeFiles, toWriteError } from './place.ts';
import type { NewFile } from './place.ts';
import { findCheckout, readTemplate, readVersion } from './source.ts';
import type { TemplateName } from './source.ts';

export interface CreateOptions {
  /** The folder to make; it may exist if it is empty. */
  dir: string;
  /** Lower-case letters, digits and "-". Default: from the folder's name. */
  name?: string | undefined;
  /** Default: empty. */
  with?: TemplateName | undefined;
  /** Write into a folder that holds something, and replace files of the same name. */
  force?: boolean | undefined;
  /** Decides how a checkout is linked. Default: npm. */
  manager?: PackageManager | undefined;
}

export interface Created {
  dir: string;
  name: string;
  with: TemplateName;
  /** Relative to `dir`, sorted. */
  files: string[];
  /** The checkout whose packages the workspace uses; null: those of the registry. */
  linked: string | null;
}

/** Makes a workspace, whole or not at all. */
export function createWorkspace(options: CreateOptions): Created {
  const dir = resolve(options.dir);
  const name = options.name ?? toWorkspaceName(basename(dir));
  checkWorkspaceName(name);
  const force = options.force ?? false;
  const isThere = checkFolder(dir, force);
  const template = options.with ?? 'empty';
  const linked = findCheckout();
  const files = listFiles(template, { name, dependency: toDependency(linked, options.manager ?? 'npm') });
  // A folder that is there keeps its place: it may be the current one of a shell.
  if (isThere) placeFiles(dir, files, { force });
  else placeFolder(dir, files);
  return { dir, name, with: template, files: files.map(({ path }) => path), linked: linked ?? null };
}

// --- internal ---

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
  dependency(name: string): string;
}

function listFiles(template: TemplateName, { name, dependency }: Filling): NewFile[] {
  const shell = readTemplate('empty').filter(({ path }) => !path.endsWith('.gitkeep') || !isFilled(template, path));
  const own = template === 'empty' ? [] : readTemplate(template);
  return [...shell, ...own]
    .map(({ path, text }) => ({
      path,
      text: text
        .replaceAll('{{name}}', name)
        .replaceAll(/\{\{(@svc\/\w+)\}\}/g, (_, of: string) => JSON.stringify(dependency(of)).slice(1, -1)),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
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
