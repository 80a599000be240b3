import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createScanner, syncWorkspace, WORKSPACE_ENVIRONMENT as ENVIRONMENT } from '@svc/compiler';
import type { Problem, Program, WorkspaceConfig } from '@svc/runtime/host';
import { formatProblem } from '../format.ts';
import { shareRuntime } from '../share-runtime.ts';
import { isFirst } from './banner.ts';
import { openModules } from './modules.ts';
import type { Modules } from './modules.ts';
import { createWatch, forgetModules } from './watch.ts';
import type { Edit } from './watch.ts';

/** The workspace's code, loaded and kept in step with the files. */
export interface Host {
  program(): Program;
  config(): WorkspaceConfig;
  /** What the last scan found wrong. */
  problems(): Problem[];
  /** Called after each edit with the program to swap in; answers what does not load now. */
  onChange(apply: (program: Program) => Promise<Problem[]>): void;
  close(): Promise<void>;
}

export interface HostOptions {
  root: string;
  say(line: string): void;
}

const CONFIG_FILE = 'svc.config.ts';

/** Scans, writes the types and starts the module runner. Modules load when the box asks for them. */
export async function openHost({ root, say }: HostOptions): Promise<Host> {
  await shareRuntime();
  const scanner = createScanner({ root, cacheFile: join(root, '.svc/cache/scan.json') });
  let apply: ((program: Program) => Promise<Problem[]>) | undefined;
  const watch = createWatch({ environment: ENVIRONMENT, say });
  const [modules, first] = await Promise.all([
    openModules({ root, plugins: [watch.plugin] }),
    syncWorkspace({ root, scanner }),
  ]);
  let { manifest, problems } = first;
  let config = await loadConfig(root, modules, {});
  let shown = '';

  const program = (): Program => ({ manifest, load: modules.load });

  const update = async (edits: Edit[]): Promise<void> => {
    const started = performance.now();
    forgetModules(
      modules.environment,
      edits.flatMap((edit) => edit.modules),
    );
    ({ manifest, problems } = await syncWorkspace({ root, scanner }));
    config = await loadConfig(root, modules, config.value);
    const failed = (await apply?.(program())) ?? [];
    const found = [...problems, ...config.problems, ...failed].filter(isFirst);
    const text = found.map(formatProblem).join('\n');
    if (text !== '' && text !== shown) say(text);
    else if (text === '') say(formatReloaded(edits, { root, ms: performance.now() - started }));
    shown = text;
  };
  watch.start((edits) => update(edits).catch((error: unknown) => say(`Reload failed: ${String(error)}`)));

  return {
    program,
    config: () => config.value,
    problems: () => [...problems, ...config.problems],
    onChange(next) {
      apply = next;
    },
    async close() {
      await watch.close();
      await modules.close();
    },
  };
}

// --- internal ---

interface LoadedConfig {
  value: WorkspaceConfig;
  problems: Problem[];
}

/** A config that does not load leaves the last good one in force. */
async function loadConfig(root: string, modules: Modules, last: WorkspaceConfig): Promise<LoadedConfig> {
  if (!existsSync(join(root, CONFIG_FILE))) return { value: {}, problems: [] };
  try {
    const { exports } = await modules.load(CONFIG_FILE);
    return { value: (exports.default as WorkspaceConfig | undefined) ?? {}, problems: [] };
  } catch (error) {
    return { value: last, problems: [(error as { problem: Problem }).problem] };
  }
}

function formatReloaded(edits: Edit[], { root, ms }: { root: string; ms: number }): string {
  const files = [...new Set(edits.map(({ file }) => relative(root, file)))];
  return `reloaded ${files.join(', ')} in ${Math.round(ms)} ms`;
}
