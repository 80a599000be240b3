import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError, EXIT } from '../errors.ts';
import { findNearest } from '../nearest.ts';

/** What `svc.json` says. */
export interface Project {
  /** Default: the folder's name. */
  slug: string;
  /** Whether `svc dev` writes and applies migrations when no flag says so. Default: yes. */
  autoMigrate: boolean;
}

const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function readProject(root: string): Project {
  const file = join(root, 'svc.json');
  const manifest = existsSync(file) ? parse(file) : {};
  checkMembers(file, manifest);
  const slug = manifest.slug ?? toSlug(basename(root));
  const autoMigrate = readAutoMigrate(file, manifest.dev);
  if (typeof slug === 'string' && SLUG.test(slug)) return { slug, autoMigrate };
  throw invalid(file, `"slug" is ${JSON.stringify(slug)}; use lower-case letters, digits and "-"`);
}

/** Throws `no_project` for a folder without any of the marks of a workspace. */
export function checkFolder(root: string, command: string, { takesFolder = true } = {}): void {
  const marks = ['svc.json', 'svc.config.ts', 'deep-agents', 'workflows'];
  if (marks.some((name) => existsSync(join(root, name)))) return;
  throw new CliError('no_project', `"${root}" is not a workspace: it has no svc.json, deep-agents/ or workflows/.`, {
    suggestion: suggestFolder(root, command, takesFolder),
    exitCode: EXIT.noTarget,
  });
}

/** A name as lower-case letters, digits and dashes. */
export function toSlug(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 63) || 'workspace'
  );
}

// --- internal ---

/** Most often it is one folder away: in a new workspace just made here, or above a folder inside of it. */
function suggestFolder(root: string, command: string, takesFolder: boolean): string {
  for (let folder = dirname(root); folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(join(folder, 'svc.json'))) return `The workspace is "${folder}": run ${command} there.`;
  const inside = listWorkspaces(root).slice(0, 3);
  if (inside.length > 0) return `There is one in "${inside.join('", "')}": go there first.`;
  const there = `Run ${command} in the folder that holds deep-agents/ and workflows/`;
  return takesFolder ? `${there}, or name it: ${command} <folder>.` : `${there}.`;
}

function listWorkspaces(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder).filter((name) => existsSync(join(folder, name, 'svc.json')));
}

/** What svc.json may hold, by the object that holds it; `$schema` is for editors. */
const MEMBERS: Record<string, string[]> = { '': ['$schema', 'slug', 'dev'], dev: ['autoMigrate'] };

/** A member that nothing reads is a misspelling: the workspace would go by its folder's name, or migrate against a wish. */
function checkMembers(file: string, manifest: { dev?: unknown }): void {
  const { dev = {} } = manifest;
  if (typeof dev !== 'object' || dev === null || Array.isArray(dev))
    throw invalid(file, `"dev" is ${JSON.stringify(dev)}; use an object, as in { "dev": { "autoMigrate": false } }`);
  for (const [name, value] of Object.entries({ '': manifest, dev })) {
    const known = MEMBERS[name] ?? [];
    const unknown = Object.keys(value).find((key) => !known.includes(key));
    if (unknown !== undefined) throw unknownMember(file, { unknown, known, prefix: name && `${name}.` });
  }
}

function unknownMember(file: string, found: { unknown: string; known: string[]; prefix: string }): CliError {
  const { unknown, known, prefix } = found;
  const name = (key: string) => `"${prefix}${key}"`;
  const near = findNearest(unknown, known);
  const others = known.filter((key) => key !== '$schema').map(name);
  return new CliError('manifest_invalid', `"${file}" is not usable: nothing reads its ${name(unknown)}.`, {
    suggestion: near
      ? `Did you mean ${name(near)}?`
      : `Remove it. ${prefix ? `"${prefix.slice(0, -1)}"` : 'svc.json'} takes ${others.join(' and ')}.`,
  });
}

function readAutoMigrate(file: string, dev: unknown): boolean {
  const { autoMigrate = true } = (dev ?? {}) as { autoMigrate?: unknown };
  if (typeof autoMigrate === 'boolean') return autoMigrate;
  throw invalid(file, `"dev.autoMigrate" is ${JSON.stringify(autoMigrate)}; use true or false`);
}

function parse(file: string): { slug?: unknown; dev?: unknown } {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw invalid(file, (error as Error).message);
  }
  throw invalid(file, 'it must hold an object');
}

function invalid(file: string, reason: string): CliError {
  return new CliError('manifest_invalid', `"${file}" is not usable: ${reason}.`, {
    suggestion: 'Write for example: { "slug": "my-workspace" }',
  });
}
