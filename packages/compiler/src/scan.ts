import { join, posix } from 'node:path';
import type { Position } from './ast.ts';
import { readAliases } from './aliases.ts';
import { readAgentTexts } from './agent-texts.ts';
import type { AgentTexts } from './agent-texts.ts';
import type { FileFacts, WorkflowFacts } from './analyse.ts';
import { createFactsCache } from './facts-cache.ts';
import type { FactsCache } from './facts-cache.ts';
import { findFile, listFolder } from './files.ts';
import { listAgentPlaces } from './agent-places.ts';
import type { Agentless } from './agent-places.ts';
import { walkReached } from './reach.ts';
import { endsAsWorkflow, nameWorkflows, workflowFileName } from './workflow-names.ts';

/** What a scan of the workspace found, as plain data. Every path is relative to the root, with forward slashes. */
export interface Scan {
  agents: ScannedAgent[];
  workflows: ScannedWorkflow[];
  /** What is under `deep-agents/` where no agent is found. */
  agentless: Agentless[];
  /** Other modules under `workflows/`: no one loads them by name, but a directive may have been left there. */
  unplaced: string[];
  /** What every file named here says. */
  files: Record<string, FileFacts>;
  /** The file every relative import of them means: by importer, then by specifier. */
  links: Record<string, Record<string, string>>;
  /** Absent: the workspace has no dynamic configuration. */
  configSchema?: ScannedFile;
  /** Absent: the workspace has no tables of its own. */
  databaseSchema?: string;
  guardrails: ScannedEntry[];
  /** Files that are named as guardrails are, in places where none is found. */
  misplacedGuardrails: string[];
  connections: ScannedEntry[];
  /** The same of connections. */
  misplacedConnections: string[];
  scorers: ScannedEntry[];
  /** The same of scorers. */
  misplacedScorers: string[];
}

export interface ScannedFile {
  file: string;
  /** The modules it imports by relative path, directly or through others, in import order, itself left out. */
  modules: string[];
}

export interface ScannedEntry extends ScannedFile {
  name: string;
}

export interface ScannedAgent extends ScannedEntry {
  texts: AgentTexts;
}

export interface ScannedWorkflow extends ScannedEntry {
  /** What the module exports it as; null: nothing is found there. */
  exportName: string | null;
  /** Assigned to the function itself. Left out: none. */
  settings?: string[];
  /** Where its schedules stand, in their order. Left out: it has none. */
  schedulePlaces?: Position[];
  hasInputSchema: boolean;
  hasOutputSchema: boolean;
  hasStateSchema: boolean;
}

export interface ScannerOptions {
  root: string;
  /** Where what was read is kept between processes. Left out: nowhere. */
  cacheFile?: string | undefined;
}

export interface Scanner {
  readonly root: string;
  /** Looks at every file again and reads those that changed. */
  scan(): Promise<Scan>;
}

/**
 * Keeps what it read in memory, so a second scan costs one `stat` per file. A scan leaves the event loop to others between
 * files. One that is asked for while another is under way begins after it, and sees what is there then.
 */
export function createScanner({ root, cacheFile }: ScannerOptions): Scanner {
  const cache = createFactsCache({ root, cacheFile, aliases: readAliases(root) });
  let last: Promise<unknown> | undefined;
  return {
    root,
    scan() {
      const before = last?.catch(() => {});
      const scan = before ? before.then(() => inSlices(scanOnce(root, cache))) : inSlices(scanOnce(root, cache));
      const mine = scan.finally(() => {
        if (last === mine) last = undefined;
      });
      return (last = mine);
    },
  };
}

export function scanWorkspace(options: ScannerOptions): Promise<Scan> {
  return createScanner(options).scan();
}

// --- internal ---

const MODULE = /\.[mc]?[jt]sx?$/;
const NOT_RUN = /\.d\.[mc]?ts$|\.(?:test|spec)\.[mc]?[jt]sx?$/;
/** Folders people take for `workflows`. */
const MISTAKEN = ['workflow', 'src/workflows'];
const CONFIG_SCHEMA = 'config.schema.ts';
const DATABASE_SCHEMA = 'src/schema.ts';

const GUARDRAILS: Declared = {
  file: /^guardrails\/([^/]+)\.guardrail\.tsx?$/,
  named: /\.guardrail\.[mc]?[jt]sx?$/,
  folders: ['guardrails', 'guardrail', 'src/guardrails', 'workflows', 'deep-agents'],
};
const CONNECTIONS: Declared = {
  file: /^connections\/([^/]+)\.connection\.tsx?$/,
  named: /\.connection\.[mc]?[jt]sx?$/,
  folders: ['connections', 'connection', 'src/connections', 'workflows', 'deep-agents'],
};

const SCORERS: Declared = {
  file: /^evals\/([^/]+)\.scorer\.tsx?$/,
  named: /\.scorer\.[mc]?[jt]sx?$/,
  folders: ['evals', 'eval', 'scorers', 'src/evals', 'workflows', 'deep-agents'],
};

/** What a file of its own declares, by its name. */
interface Declared {
  file: RegExp;
  /** How its files are called, wherever they stand. */
  named: RegExp;
  /** Its own, and where it may have been meant to be. */
  folders: readonly string[];
}

/** How a specifier may be written and what it may mean on disk: `./a.js` is `a.ts` in a TypeScript project. */
const ENDINGS = ['.ts', '.tsx', '.mts', '.js', '.mjs', '/index.ts', '/index.tsx', '/index.js'];
const SOURCE_OF: Record<string, string[]> = { '.js': ['.ts', '.tsx'], '.mjs': ['.mts'], '.jsx': ['.tsx'] };

interface Walk {
  root: string;
  cache: FactsCache;
  files: Record<string, FileFacts>;
  links: Record<string, Record<string, string>>;
  resolved: Map<string, string | undefined>;
}

/** The longest that a scan holds the event loop, but for the file that is read then. */
const SLICE_MS = 10;

async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  for (let since = performance.now(); ;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - since < SLICE_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
}

/** Stops behind each file. */
function* scanOnce(root: string, cache: FactsCache): Generator<void, Scan> {
  const walk: Walk = { root, cache, files: {}, links: {}, resolved: new Map() };
  const agents: ScannedAgent[] = [];
  const places = listAgentPlaces(root);
  for (const { name, file } of places.entries) {
    if (!readInto(walk, file, 'full')) continue;
    agents.push({
      name,
      file,
      modules: yield* listModules(walk, file),
      texts: readAgentTexts(root, posix.dirname(file)),
    });
    yield;
  }
  const { workflowFiles, unplaced } = listWorkflowFiles(root);
  const workflows: ScannedWorkflow[] = [];
  for (const file of workflowFiles) {
    workflows.push(...(yield* scanWorkflows(walk, file)));
    yield;
  }
  // By name, as the agents are. Of two with one name, the one whose file has it is first.
  const owners = new Set(workflows.filter(({ name, file }) => name === workflowFileName(file)));
  workflows.sort((a, b) =>
    a.name !== b.name ? (a.name < b.name ? -1 : 1) : Number(owners.has(b)) - Number(owners.has(a)),
  );
  for (const file of unplaced) {
    readInto(walk, file, 'imports');
    yield;
  }
  const configSchema = readInto(walk, CONFIG_SCHEMA, 'full') && {
    file: CONFIG_SCHEMA,
    modules: yield* listModules(walk, CONFIG_SCHEMA),
  };
  // What it says is for who loads it; a problem in it is reported there.
  const hasTables = findFile(join(root, DATABASE_SCHEMA)) !== undefined;
  const guardrails = yield* scanDeclared(walk, GUARDRAILS);
  const connections = yield* scanDeclared(walk, CONNECTIONS);
  const scorers = yield* scanDeclared(walk, SCORERS);
  cache.save();
  const { files, links } = walk;
  return {
    agents,
    workflows,
    agentless: places.agentless,
    unplaced,
    files,
    links,
    ...(configSchema && { configSchema }),
    ...(hasTables && { databaseSchema: DATABASE_SCHEMA }),
    guardrails: guardrails.entries,
    misplacedGuardrails: guardrails.misplaced,
    connections: connections.entries,
    misplacedConnections: connections.misplaced,
    scorers: scorers.entries,
    misplacedScorers: scorers.misplaced,
  };
}

function* scanDeclared(
  walk: Walk,
  declared: Declared,
): Generator<void, { entries: ScannedEntry[]; misplaced: string[] }> {
  const all = declared.folders.flatMap((folder) => listTree(walk.root, folder));
  const named = all.filter((file) => declared.named.test(file));
  const entries: ScannedEntry[] = [];
  for (const file of named) {
    const name = declared.file.exec(file)?.[1];
    if (name === undefined || !readInto(walk, file, 'full')) continue;
    entries.push({ name, file, modules: yield* listModules(walk, file) });
    yield;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { entries, misplaced: named.filter((file) => !declared.file.test(file)) };
}

function listWorkflowFiles(root: string): { workflowFiles: string[]; unplaced: string[] } {
  const files = listTree(root, 'workflows').filter((file) => MODULE.test(file) && !NOT_RUN.test(file));
  const elsewhere = MISTAKEN.flatMap((folder) => listTree(root, folder)).filter(endsAsWorkflow);
  const isOurs = (file: string) => workflowFileName(file) !== undefined;
  return { workflowFiles: files.filter(isOurs), unplaced: [...files.filter((file) => !isOurs(file)), ...elsewhere] };
}

/** The workflows of a file; of one that holds none an entry all the same, so that it is seen. */
function* scanWorkflows(walk: Walk, file: string): Generator<void, ScannedWorkflow[]> {
  const facts = readInto(walk, file, 'full');
  if (!facts) return [];
  const modules = yield* listModules(walk, file);
  const exported = facts.workflows.filter((one): one is Exported => one.exportName !== null);
  const names = nameWorkflows(
    file,
    exported.map(({ exportName }) => exportName),
  );
  const has = (setting: string, one?: Exported): boolean =>
    one?.settings?.includes(setting) || (exported.length < 2 && hasExport(walk, file, setting));
  const toEntry = (name: string, one?: Exported): ScannedWorkflow => ({
    name,
    file,
    modules,
    exportName: one?.exportName ?? null,
    ...(one?.settings && { settings: one.settings }),
    ...(one?.schedulePlaces && { schedulePlaces: one.schedulePlaces }),
    hasInputSchema: has('inputSchema', one),
    hasOutputSchema: has('outputSchema', one),
    hasStateSchema: has('stateSchema', one),
  });
  const own = workflowFileName(file) ?? '';
  const entries =
    exported.length === 0 ? [toEntry(own)] : exported.map((one) => toEntry(names.get(one.exportName) ?? own, one));
  yield* readReached(walk, file);
  return entries;
}

type Exported = WorkflowFacts & { exportName: string };

function listTree(root: string, folder: string): string[] {
  return listFolder(join(root, folder)).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return entry.name === 'node_modules' ? [] : listTree(root, path);
  });
}

function readInto(walk: Walk, file: string, depth: 'imports' | 'full'): FileFacts | undefined {
  const facts = walk.cache.read(file, depth);
  if (facts) walk.files[file] = facts;
  return facts;
}

function* listModules(walk: Walk, entry: string): Generator<void, string[]> {
  const seen = new Set([entry]);
  for (const file of seen) {
    const facts = walk.files[file] ?? readInto(walk, file, 'imports');
    for (const specifier of facts?.imports ?? []) {
      const module = resolveModule(walk, file, specifier);
      if (module) seen.add(module);
    }
    yield;
  }
  seen.delete(entry);
  return [...seen];
}

/** A body may call into these modules, so what their functions do has to be known: their imports alone are not enough. */
function* readReached(walk: Walk, file: string): Generator<void, void> {
  const reached = walkReached(file, {
    read: (module) => readInto(walk, module, 'full'),
    resolve: (importer, specifier) => resolveModule(walk, importer, specifier),
  });
  while (!reached.next().done) yield;
}

function resolveModule({ root, resolved, links }: Walk, importer: string, specifier: string): string | undefined {
  const path = posix.join(posix.dirname(importer), specifier.replace(/\?.*$/, ''));
  if (!resolved.has(path)) {
    const found = candidatesOf(path).find((file) => findFile(join(root, file)) !== undefined);
    resolved.set(path, found?.includes('node_modules/') ? undefined : found);
  }
  const file = resolved.get(path);
  if (file !== undefined) (links[importer] ??= {})[specifier] = file;
  return file;
}

function candidatesOf(path: string): string[] {
  const extension = posix.extname(path);
  const sources = SOURCE_OF[extension]?.map((source) => path.slice(0, -extension.length) + source) ?? [];
  const exact = MODULE.test(path) ? [path, ...sources] : [];
  return [...exact, ...ENDINGS.map((ending) => path + ending)];
}

function hasExport(walk: Walk, file: string, name: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  const facts = readInto(walk, file, 'full');
  if (!facts || facts.exports.includes(name)) return facts !== undefined;
  for (const specifier of facts.stars) {
    const module = resolveModule(walk, file, specifier);
    if (module && hasExport(walk, module, name, seen)) return true;
  }
  return false;
}
