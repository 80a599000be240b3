import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { createLateChecks, createScanner, syncWorkspace, WORKSPACE_ENVIRONMENT as ENVIRONMENT } from '@svc/compiler';
import type { Problem, Program, WorkspaceConfig } from '@svc/runtime/host';
import { shareRuntime } from '../workspace/share-runtime.ts';
import { openModules } from './modules.ts';
import type { Modules } from './modules.ts';
import { createReport } from './report.ts';
import { createWatch, forgetModules, isAgentText } from './watch.ts';
import type { Edit } from './watch.ts';

/** The workspace's code, loaded and kept in step with the files. */
export interface Host {
  program(): Program;
  config(): WorkspaceConfig;
  /** What the last scan found wrong. */
  problems(): Problem[];
  /**
   * Says what is wrong, with what others found, and what no longer is; then looks for what is wrong and served all the same,
   * which takes longer.
   */
  report(found: readonly Problem[]): void;
  /** Called after each edit with the program to swap in. */
  onChange(apply: (program: Program) => Promise<Applied>): void;
  /** From here on nothing is said: what is under way is cut off. */
  stop(): void;
  close(): Promise<void>;
}

/** The outcome of an edit. */
export interface Applied {
  /** What does not load now. */
  problems: Problem[];
  /** Files that were not put in force, which has been said. */
  left: readonly string[];
}

export interface HostOptions {
  root: string;
  say(line: string): void;
}

const CONFIG_FILE = 'svc.config.ts';

/** For how long edits that follow each other may put off what is said of the first. */
const QUIET_MS = 1_000;

/** What is found wrong where a file is not there. */
const OF_MISSING_FILES: ReadonlySet<string> = new Set(['agent_entry_missing', 'module_not_found', 'export_missing']);

/** How often the files are looked at again while they change. */
const TRIES = 3;

/** Scans, writes the types and starts the module runner. Modules load when the box asks for them. */
export async function openHost({ root, ...options }: HostOptions): Promise<Host> {
  const stopping = new AbortController();
  const say = (line: string): void => {
    if (!stopping.signal.aborted) options.say(line);
  };
  await shareRuntime();
  const scanner = createScanner({ root, cacheFile: join(root, '.svc/cache/scan.json') });
  let apply: ((program: Program) => Promise<Applied>) | undefined;
  const watch = createWatch({ environment: ENVIRONMENT, say });
  const [modules, first] = await Promise.all([
    openModules({ root, plugins: [watch.plugin] }),
    syncWorkspace({ root, scanner }),
  ]);
  let { manifest, problems } = first;
  let config = await loadConfig(root, modules, {});
  const late = createLateChecks({ root, scanner });
  const reporter = createReport({ root, say });
  // What does not load, and what does and is wrong.
  let failed: readonly Problem[] = [];
  let doubtful: readonly Problem[] = [];
  let looking: Promise<void> | undefined;
  let isDue = false;
  // Edits that are in force and of which nothing was said yet.
  let unsaid: { edits: Edit[]; since: number; before: Program['manifest'] } | undefined;

  const program = (): Program => ({ manifest, load: modules.load, isEdited: true });

  const list = (): Problem[] => [...problems, ...config.problems];

  const showAll = (): void => reporter.show([...list(), ...failed, ...doubtful]);

  /** Nothing waits for it. What was found is dropped when it is asked for again meanwhile. */
  const lookLate = (): void => {
    isDue = true;
    looking ??= look().finally(() => (looking = undefined));
  };

  const look = async (): Promise<void> => {
    while (isDue) {
      isDue = false;
      try {
        const found = await late.find(stopping.signal);
        if (stopping.signal.aborted) return;
        if (isDue) continue;
        doubtful = found;
        showAll();
        reporter.remind();
      } catch (error) {
        say(`The code cannot be checked: ${String(error)}`);
      }
    }
  };

  const report = (found: readonly Problem[]): void => {
    failed = found;
    showAll();
    lookLate();
  };

  /** Whether a file that the scan missed is there when it looks again: one that is replaced is gone for a moment. */
  const isChanged = async (): Promise<boolean> => {
    if (!problems.some(({ code }) => OF_MISSING_FILES.has(code))) return false;
    const again = await syncWorkspace({ root, scanner });
    return JSON.stringify(again.problems) !== JSON.stringify(problems);
  };

  const update = async (latest: Edit[], tries = 0): Promise<void> => {
    const started = unsaid?.since ?? performance.now();
    const edits = [...(unsaid?.edits ?? []), ...latest];
    const before = unsaid?.before ?? manifest;
    unsaid = { edits, since: started, before };
    forgetModules(
      modules.environment,
      latest.flatMap((edit) => edit.modules),
    );
    ({ manifest, problems } = await syncWorkspace({ root, scanner }));
    config = await loadConfig(root, modules, config.value);
    const applied = (await apply?.(program())) ?? { problems: [], left: [] };
    // A checkout takes a file away and brings another: what was wrong between the two is said of neither.
    if (watch.isBehind() && performance.now() - started < QUIET_MS) return;
    if (tries < TRIES && (await isChanged())) return update([], tries + 1);
    unsaid = undefined;
    report(applied.problems);
    if (list().length + failed.length > 0) return;
    const { left } = applied;
    const known = new Set([before, manifest].flatMap(listFiles));
    const isReloaded = ({ file, modules: ids }: Edit): boolean => {
      const name = toName(root, file);
      if (left.includes(name)) return false;
      return ids.length > 0 || known.has(name) || isAgentText(file) || isLoaded(modules, file);
    };
    const files = [...new Set(edits.filter(isReloaded).map(({ file }) => toName(root, file)))];
    const [reloaded, gone] = divide(files, (name) => existsSync(join(root, name)));
    const parts = [
      ...(reloaded.length > 0 ? [`reloaded ${reloaded.join(', ')}`] : []),
      ...(gone.length > 0 ? [`removed ${gone.join(', ')}`] : []),
    ];
    if (parts.length > 0) say(`${parts.join(', ')} in ${Math.round(performance.now() - started)} ms`);
  };
  watch.start((edits) => update(edits).catch((error: unknown) => say(`Reload failed: ${String(error)}`)));

  return {
    program,
    config: () => config.value,
    problems: list,
    report,
    onChange(next) {
      apply = next;
    },
    stop() {
      stopping.abort();
    },
    async close() {
      await watch.close();
      stopping.abort();
      await looking;
      await modules.close();
    },
  };
}

export interface LoadedConfig {
  value: WorkspaceConfig;
  problems: Problem[];
}

/** A config that does not load leaves the last good one in force. */
export async function loadConfig(root: string, modules: Modules, last: WorkspaceConfig): Promise<LoadedConfig> {
  if (!existsSync(join(root, CONFIG_FILE))) return { value: {}, problems: [] };
  const { problemOf, toWorkspaceConfig } = await import('@svc/runtime/host');
  try {
    const { exports } = await modules.load(CONFIG_FILE);
    return { value: toWorkspaceConfig(exports), problems: [] };
  } catch (error) {
    return { value: last, problems: [problemOf(error, CONFIG_FILE)] };
  }
}

// --- internal ---

function listFiles({
  agents,
  workflows,
  configSchema,
  databaseSchema,
  guardrails = [],
  connections = [],
  scorers = [],
}: Program['manifest']): string[] {
  return [...agents, ...workflows, configSchema, databaseSchema, ...guardrails, ...connections, ...scorers].flatMap(
    (entry) => entry?.file ?? [],
  );
}

function divide<T>(all: readonly T[], isOfFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isOfFirst), all.filter((one) => !isOfFirst(one))];
}

/** Of a file that came: whether something imports it. */
function isLoaded({ environment }: Modules, file: string): boolean {
  return (environment.moduleGraph.getModulesByFile(file)?.size ?? 0) > 0;
}

function toName(root: string, file: string): string {
  return relative(root, file).split(sep).join('/');
}
