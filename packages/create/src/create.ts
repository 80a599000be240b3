import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface CreateOptions {
  /** The folder to make; it may exist if it is empty. */
  dir: string;
  /** Lower-case letters, digits and "-". Default: from the folder's name. */
  name?: string;
}

/** A request that cannot be carried out; nothing was written. */
export class CreateError extends Error {
  override readonly name = 'CreateError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Files in which `{{name}}` and `{{version}}` stand for the workspace's own. */
const FILLED = ['package.json', 'svc.json', 'README.md'];

/** Copies the empty template into a new folder. Answers the files it wrote, relative to it. */
export function createWorkspace(options: CreateOptions): { dir: string; name: string; files: string[] } {
  const dir = resolve(options.dir);
  const name = options.name ?? toName(basename(dir));
  if (!NAME.test(name))
    throw new CreateError('name_invalid', `"${name}" is not a usable name. Use lower-case letters, digits and "-".`);
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw new CreateError('already_exists', `"${dir}" is not empty. Choose another folder.`);
  // Made beside its place and moved in whole: a copy that is cut off leaves no half workspace.
  const draft = `${dir}.${process.pid}.new`;
  try {
    fill(draft, name);
    rmSync(dir, { recursive: true, force: true });
    renameSync(draft, dir);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return { dir, name, files: files.map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1)).sort() };
}

// --- internal ---

function fill(draft: string, name: string): void {
  mkdirSync(dirname(draft), { recursive: true });
  cpSync(join(findTemplates(), 'empty'), draft, { recursive: true });
  renameSync(join(draft, '_gitignore'), join(draft, '.gitignore'));
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  for (const file of FILLED) {
    const path = join(draft, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('{{name}}', name).replaceAll('{{version}}', version));
  }
}

const HERE = dirname(fileURLToPath(import.meta.url));

/** Beside the built code, or at the root of a checkout. */
function findTemplates(): string {
  const shipped = join(HERE, 'templates');
  return existsSync(shipped) ? shipped : join(packageRoot(), '../../templates');
}

function packageRoot(): string {
  return join(HERE, '..');
}

function toName(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63);
}
