import type { Manifest, Problem } from '@svc/runtime/host';
import { createManifest } from '../manifest.ts';
import { createScanner } from '../scan.ts';
import type { Scan, Scanner } from '../scan.ts';
import { checkAgentless } from './agentless.ts';
import { checkEntries } from './entries.ts';
import { checkImports } from './imports.ts';
import { toProblems } from './frame.ts';
import type { FoundIn } from './frame.ts';
import { checkNames } from './names.ts';
import { checkReplay } from './replay.ts';
import { checkSkills } from './skills.ts';
import { checkUndefinedNames } from './undefined-names.ts';

export interface CheckOptions {
  root: string;
  scanner?: Scanner | undefined;
  /** Name imports that lead nowhere too. Left out where the files are loaded or bundled next, which reports them as well. */
  imports?: boolean | undefined;
}

/** Scans and checks without writing anything. `problems` holds every one, also of modules an entry imports. */
export async function checkWorkspace(options: CheckOptions): Promise<{ manifest: Manifest; problems: Problem[] }> {
  const { root, scanner = createScanner({ root }), imports = false } = options;
  const scan = await scanner.scan();
  const problems = checkScan(scan, root, imports ? await checkImports(scan, root) : []);
  return { manifest: createManifest(scan, problems), problems };
}

/** Every problem of a scan, by file and place; `more` is what else was found. */
export function checkScan(scan: Scan, root: string, more: FoundIn[] = []): Problem[] {
  const found: FoundIn[] = Object.entries(scan.files).flatMap(([file, { findings }]) =>
    findings.map((finding) => ({ ...finding, file })),
  );
  const all = [
    ...checkNames(scan),
    ...checkAgentless(scan),
    ...checkEntries(scan),
    ...checkSkills(scan),
    ...checkReplay(scan),
    ...checkUndefinedNames(scan, root),
    ...found,
    ...more,
  ];
  return toProblems(root, all.sort(byPlace));
}

// --- internal ---

function byPlace(a: FoundIn, b: FoundIn): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
