import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CliError, EXIT } from '../errors.ts';

/** What `svc.json` says. */
export interface Project {
  /** Default: the folder's name. */
  slug: string;
}

const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function readProject(root: string): Project {
  const file = join(root, 'svc.json');
  const manifest = existsSync(file) ? parse(file) : {};
  const slug = manifest.slug ?? toSlug(basename(root));
  if (typeof slug === 'string' && SLUG.test(slug)) return { slug };
  throw invalid(file, `"slug" is ${JSON.stringify(slug)}; use lower-case letters, digits and "-"`);
}

/** Throws `no_project` for a folder without any of the marks of a workspace. */
export function checkFolder(root: string, command: string): void {
  const marks = ['svc.json', 'svc.config.ts', 'deep-agents', 'workflows'];
  if (marks.some((name) => existsSync(join(root, name)))) return;
  throw new CliError('no_project', `"${root}" is not a workspace: it has no svc.json, deep-agents/ or workflows/.`, {
    suggestion: `Run ${command} in the folder that holds deep-agents/ and workflows/, or name it: ${command} <folder>.`,
    exitCode: EXIT.noTarget,
  });
}

// --- internal ---

function parse(file: string): { slug?: unknown } {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw invalid(file, (error as Error).message);
  }
  throw invalid(file, 'it must hold an object');
}

function toSlug(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 63) || 'workspace'
  );
}

function invalid(file: string, reason: string): CliError {
  return new CliError('manifest_invalid', `"${file}" is not usable: ${reason}.`, {
    suggestion: 'Write for example: { "slug": "my-workspace" }',
  });
}
