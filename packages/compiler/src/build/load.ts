import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Problem, Program } from '@svc/runtime/host';
import { toProblem } from '../load-problem.ts';
import type { Bundle, BundleFile } from './bundle.ts';
import { addPlace } from './place.ts';
import { writeFiles } from './write.ts';

/** What the runtime finds in a program it loads: by file, why an entry cannot be served. */
export type Inspect = (program: Program, config?: string) => Promise<Map<string, Problem>>;

export interface InspectOptions {
  root: string;
  bundle: Bundle;
  manifest: Program['manifest'];
  config: string | undefined;
  inspect: Inspect;
}

export interface Inspected {
  /** By file. */
  problems: ReadonlyMap<string, Problem>;
  /** The files whose code threw while it was loaded: where it will run, it may not. */
  thrown: ReadonlySet<string>;
}

/**
 * Loads the modules of a bundle in this process, as a box does at its start: the code of the workspace runs. What it
 * prints goes to stderr, a module that does not finish is given up, and the folder is gone afterwards.
 */
export async function inspectBundle(options: InspectOptions): Promise<Inspected> {
  const { root, bundle, manifest, config, inspect } = options;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-bundle-')));
  const thrown = new Set<string>();
  const load: Program['load'] = async (file) => {
    try {
      return { exports: await importWithin(join(folder, bundle.paths.get(file) ?? '')), hash: '' };
    } catch (error) {
      if (!(error as { endsProcess?: true }).endsProcess) thrown.add(file);
      throw Object.assign(new Error('It does not load.'), { problem: toProblem(error, { root, file }) });
    }
  };
  try {
    process.setSourceMapsEnabled(true);
    writeFiles(
      folder,
      bundle.files.map((file) => toLocalMap(root, file)),
    );
    const problems = await tame(() => inspect({ manifest, load }, config));
    return { problems: new Map([...problems].map(([file, problem]) => [file, addPlace(root, problem)])), thrown };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// --- internal ---

const LIMIT_MS = 10_000;

async function importWithin(path: string): Promise<Record<string, unknown>> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const message = `The module did not finish loading within ${LIMIT_MS / 1000} seconds: it awaits what does not come. Await it inside of a function.`;
    timer = setTimeout(() => reject(new Error(message)), LIMIT_MS);
  });
  try {
    return await Promise.race([import(/* @vite-ignore */ pathToFileURL(path).href), limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** stdout is the answer of the command, and the code that loads may not end it. */
async function tame<T>(work: () => Promise<T>): Promise<T> {
  const { write } = process.stdout;
  const { exit } = process;
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof write;
  process.exit = (code) => {
    const message = `The module calls process.exit(${code ?? ''}) while it loads. Throw an error instead.`;
    throw Object.assign(new Error(message), { endsProcess: true });
  };
  try {
    return await work();
  } finally {
    process.stdout.write = write;
    process.exit = exit;
  }
}

/** A map that names the sources where they are: a stack shows them, and so does what is made of it. */
function toLocalMap(root: string, file: BundleFile): BundleFile {
  if (!file.path.endsWith('.map')) return file;
  const map = JSON.parse(String(file.content)) as { sources: string[] };
  const folder = join(root, dirname(file.path));
  return { path: file.path, content: JSON.stringify({ ...map, sources: map.sources.map((one) => join(folder, one)) }) };
}
