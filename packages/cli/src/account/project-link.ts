import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError } from '../errors.ts';

/** Which agent of an organization a workspace is, in `.svc/project.json`. Not kept in git: every clone is asked. */
export interface ProjectLink {
  /** The control plane. */
  endpoint: string;
  installationId: string;
  /** Of the agent. */
  name: string;
}

/** Undefined: the workspace is not linked. Throws `project_link_invalid` for a file that cannot be used. */
export function readLink(root: string): ProjectLink | undefined {
  const file = join(root, LINK_FILE);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const { endpoint, installationId, name } = JSON.parse(text) as Record<string, unknown>;
    if (typeof endpoint === 'string' && typeof installationId === 'string' && typeof name === 'string')
      return { endpoint, installationId, name };
  } catch {}
  throw new CliError('project_link_invalid', `"${file}" does not say which agent this workspace is.`, {
    suggestion: 'Remove it, then run `svc dev` in a terminal to choose again.',
  });
}

export function writeLink(root: string, link: ProjectLink): void {
  const file = join(root, LINK_FILE);
  mkdirSync(join(root, '.svc'), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(link, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

// --- internal ---

const LINK_FILE = '.svc/project.json';
