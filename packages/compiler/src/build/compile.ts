import { join } from 'node:path';
import type { Manifest, Problem } from '@svc/runtime/host';
import { checkWorkspace } from '../check/check.ts';
import { findFile } from '../files.ts';
import { bundleFiles } from './bundle.ts';
import type { Bundle } from './bundle.ts';
import { inspectBundle } from './load.ts';
import type { Inspect, Inspected } from './load.ts';
import { toBuildProblem } from './problem.ts';

export interface CompileOptions {
  root: string;
  /** Loads what was bundled, too: the code of the workspace runs in this process. Left out: nothing is loaded. */
  inspect?: Inspect;
  /** As of `checkWorkspace`. */
  imports?: boolean;
}

export interface Compiled {
  /** Each entry that does not compile has its problem. */
  manifest: Manifest;
  bundle: Bundle;
  /** Everything that was found wrong. */
  problems: Problem[];
  /**
   * Why there is no bundle: an agent, a guardrail, a connection, a scorer, `svc.config.ts`, `config.schema.ts` or `src/schema.ts` does not compile, or exports
   * what cannot be served. One that throws while it loads is reported and shipped.
   */
  failed: Problem[];
  /** The workflows that do not compile or load, by name. */
  degraded: string[];
}

export const CONFIG_FILE = 'svc.config.ts';

/** All that a build does before it writes. */
export async function compileWorkspace({ root, inspect, imports }: CompileOptions): Promise<Compiled> {
  const checked = await checkWorkspace({ root, imports });
  const alone = [
    ...(findFile(join(root, CONFIG_FILE)) ? [CONFIG_FILE] : []),
    ...(checked.manifest.databaseSchema ? [checked.manifest.databaseSchema.file] : []),
  ];
  const sound = listEntries(checked.manifest).flatMap(({ problem, file }) => (problem ? [] : [file]));
  const { bundle, problems: found } = await bundleGood(root, [...new Set([...alone, ...sound])]);
  const manifest = withProblems(checked.manifest, found);
  const config = bundle.paths.has(CONFIG_FILE) ? CONFIG_FILE : undefined;
  const { problems: unloadable, thrown } = inspect
    ? await inspectBundle({ root, bundle, manifest, config, inspect })
    : NONE;
  const marked = withProblems(manifest, unloadable);
  const { workflows } = marked;
  return {
    manifest,
    bundle,
    problems: [...checked.problems, ...found.values(), ...unloadable.values()],
    failed: [
      ...alone.flatMap((file) => found.get(file) ?? (thrown.has(file) ? [] : (unloadable.get(file) ?? []))),
      // What threw may have missed a variable that the box will have.
      ...listEntries({ ...marked, workflows: [] }).flatMap(({ file, problem }) =>
        thrown.has(file) ? [] : (problem ?? []),
      ),
    ],
    degraded: workflows.filter(({ problem }) => problem).map(({ name }) => name),
  };
}

// --- internal ---

const NONE: Inspected = { problems: new Map(), thrown: new Set() };

interface Entry {
  file: string;
  problem?: Problem;
}

function listEntries(manifest: Manifest): Entry[] {
  const { agents, workflows, configSchema, guardrails = [], connections = [], scorers = [] } = manifest;
  return [...agents, ...workflows, ...(configSchema ? [configSchema] : []), ...guardrails, ...connections, ...scorers];
}

/** All at once; where that fails, each by itself to find those that compile, and these once more at once. */
async function bundleGood(root: string, files: string[]): Promise<{ bundle: Bundle; problems: Map<string, Problem> }> {
  const problems = new Map<string, Problem>();
  const all = await bundleFiles(root, files).catch(() => undefined);
  if (all) return { bundle: all, problems };
  for (const file of files)
    await bundleFiles(root, [file]).catch((error: unknown) =>
      problems.set(file, toBuildProblem(error, { root, file })),
    );
  return {
    bundle: await bundleFiles(
      root,
      files.filter((file) => !problems.has(file)),
    ),
    problems,
  };
}

function withProblems(manifest: Manifest, found: ReadonlyMap<string, Problem>): Manifest {
  const add = <E extends Entry>(entry: E): E => {
    const problem = entry.problem ?? found.get(entry.file);
    return problem ? { ...entry, problem } : entry;
  };
  return {
    ...manifest,
    agents: manifest.agents.map(add),
    workflows: manifest.workflows.map(add),
    ...(manifest.configSchema ? { configSchema: add(manifest.configSchema) } : {}),
    ...(manifest.guardrails ? { guardrails: manifest.guardrails.map(add) } : {}),
    ...(manifest.connections ? { connections: manifest.connections.map(add) } : {}),
    ...(manifest.scorers ? { scorers: manifest.scorers.map(add) } : {}),
  };
}
