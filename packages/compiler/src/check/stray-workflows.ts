import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Scan } from '../scan.ts';
import { endsAsWorkflow } from '../workflow-names.ts';
import type { FoundIn } from './frame.ts';

/**
 * Workflow files in folders that are not read, such as `flows/` or the root. Hidden folders, packages, what is built, tests and
 * their fixtures, and workspaces inside of this one are left alone. Once
 * `signal` is aborted: ends soon, with what was found until then.
 */
export async function findStrayWorkflows(scan: Scan, root: string, signal?: AbortSignal): Promise<FoundIn[]> {
  const taken = new Set(scan.workflows.map(({ file }) => file));
  const found: FoundIn[] = [];
  for (const file of await listStray(root, signal)) {
    if (signal?.aborted) break;
    // One that something imports is a problem of its own already.
    if (scan.files[file]) continue;
    const lines = (await readFile(join(root, file), 'utf8').catch(() => '')).split('\n');
    const index = lines.findIndex((line) => DIRECTIVE.test(line));
    if (index === -1) continue;
    const column = (lines[index]?.search(/['"]/) ?? 0) + 1;
    found.push({ code: 'workflow_outside_folder', message: explain(file, taken), file, line: index + 1, column });
  }
  return found;
}

// --- internal ---

const DIRECTIVE = /^\s*(['"])use workflow\1/;
const SKIPPED = /^\.|^(?:node_modules|dist|build|out|coverage|tests?|fixtures|__\w+__)$/;
/** The folders of the convention, which the scan reads itself. */
const READ = new Set(['workflows', 'workflow']);
/** More than any project has by hand: what is beyond it is data. */
const MOST_FOLDERS = 5_000;

/** What makes a folder a workspace of its own; in these two, folders so named are mistaken for those of the convention. */
function isMark(folder: string, name: string): boolean {
  if (name === 'svc.json' || name === 'svc.config.ts') return true;
  return MARKS.has(name) && folder !== 'src' && !/^deep-agents(?:\/|$)/.test(folder);
}

const MARKS = new Set(['deep-agents', 'workflows']);

async function listStray(root: string, signal: AbortSignal | undefined): Promise<string[]> {
  const files: string[] = [];
  const folders = [''];
  for (let i = 0; i < folders.length && i < MOST_FOLDERS; i++) {
    if (signal?.aborted) break;
    const folder = folders[i] ?? '';
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    if (folder !== '' && entries.some(({ name }) => isMark(folder, name))) continue;
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!SKIPPED.test(entry.name) && !READ.has(path)) folders.push(path);
      } else if (endsAsWorkflow(path)) files.push(path);
    }
  }
  return files.sort();
}

function explain(file: string, taken: ReadonlySet<string>): string {
  const path = `workflows/${posix.basename(file)}`;
  const way = taken.has(path)
    ? 'Move the function to a file "workflows/<name>.workflow.ts".'
    : `Move the file to "${path}".`;
  return `'use workflow' is outside of workflows/*.workflow.ts, so nothing can start it. ${way}`;
}
