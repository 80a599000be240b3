import type { Compiled } from '@svc/compiler';
import { isFirst } from '../dev/banner.ts';
import { CliError } from '../errors.ts';
import { array, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import { PROBLEM } from '../payload/problem.ts';
import { problemsError } from './workspace.ts';

/** The names in a bundle, as `svc build` and `svc package` say them. */
export const BUNDLE_NAMES = {
  workflows: array(string(), 'The names of the workflows that run.'),
  deepAgents: array(string(), 'The names of the agents.'),
  degradedWorkflows: array(
    string(),
    'The names of the workflows that are in it and do not run, because they do not compile or load.',
  ),
};

/** What `svc build` says of a bundle. */
export const BUNDLE = {
  files: array(string(), 'What it holds: paths in it, sorted.'),
  ...BUNDLE_NAMES,
  problems: array(PROBLEM, 'What is wrong in the code, each problem once.'),
};

export type BuiltBundle = { [Name in keyof typeof BUNDLE]: TypeOf<(typeof BUNDLE)[Name]> };

/**
 * Compiles the workspace into a folder. Throws `build_failed`, or what `checkReady` does of the project's own tables, and
 * nothing is written then.
 */
export async function buildBundle(options: { root: string; outDir: string; slug: string }): Promise<BuiltBundle> {
  const { checkReady } = await import('../commands/schema/_ready.ts');
  const doubts = await checkReady(options.root);
  const { manifest, files, problems, failed, degraded } = await runBuild(options);
  if (failed.length > 0)
    throw problemsError('build_failed', failed, {
      what: 'The workspace does not build',
      suggestion: 'Correct it, then build again; `svc check` shows the same and everything else that is wrong.',
    });
  return {
    files,
    workflows: manifest.workflows.map(({ name }) => name).filter((name) => !degraded.includes(name)),
    deepAgents: await listAgents(manifest),
    degradedWorkflows: degraded,
    problems: [...problems, ...doubts].filter(isFirst),
  };
}

/** Everything a build would find, and nothing is written. The code of the workspace loads in this process. */
export async function compileBundle(root: string): Promise<Compiled> {
  const [{ compileWorkspace }, { findLoadProblems }] = await loadParts();
  return compileWorkspace({ root, inspect: findLoadProblems, imports: true });
}

/** The agents a person chats with: a folder in place of the copilot is none of them. */
export async function listAgents({ agents }: Compiled['manifest']): Promise<string[]> {
  const [, { COPILOT_AGENT }] = await loadParts();
  return agents.map(({ name }) => name).filter((name) => name !== COPILOT_AGENT);
}

// --- internal ---

async function runBuild(options: { root: string; outDir: string; slug: string }) {
  const [{ buildWorkspace }, { contractPayload, findLoadProblems }] = await loadParts();
  const { version: contract, build } = contractPayload();
  const runtime = { contract, ...build };
  return buildWorkspace({ ...options, runtime, inspect: findLoadProblems }).catch(
    (error: Error & { code?: unknown }) => {
      if (error.code !== 'out_not_replaceable') throw error;
      throw new CliError('build_failed', error.message, {
        suggestion: 'Name a folder of its own: svc build --out dist/workspace',
      });
    },
  );
}

async function loadParts() {
  const [compiler, runtime, { shareRuntime }] = await Promise.all([
    import('@svc/compiler'),
    import('@svc/runtime/host'),
    import('./share-runtime.ts'),
  ]);
  // The bundle names what this runtime exports, as its modules do under `svc dev`.
  await shareRuntime();
  return [compiler, runtime] as const;
}
