import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProject } from '../client/target.ts';

/** What the workspace around a folder has, by name. */
export interface Names {
  agents: string[];
  workflows: string[];
}

/** As the generated types of `.svc` name them; none where there are no such files. */
export function readNames(cwd: string): Names {
  const project = findProject(cwd);
  if (project === undefined) return { agents: [], workflows: [] };
  return {
    agents: readMembers(join(project, '.svc', 'agents.d.ts')),
    workflows: readMembers(join(project, '.svc', 'workflows.d.ts')),
  };
}

// --- internal ---

const MEMBER = /^ {4}("(?:[^"\\]|\\.)*"): /gm;

function readMembers(file: string): string[] {
  try {
    return Array.from(readFileSync(file, 'utf8').matchAll(MEMBER), ([, name = '""']) => JSON.parse(name) as string);
  } catch {
    return [];
  }
}
