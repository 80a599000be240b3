import type { Problem } from '@svc/runtime/host';
import { isFirst } from './dev/banner.ts';
import { CliError } from './errors.ts';
import { problemsError } from './workspace.ts';

/** What `svc build` and `svc package` say of a bundle. */
export interface BuiltBundle {
  /** Paths in it. */
  files: string[];
  /** Those that run. */
  workflows: string[];
  deepAgents: string[];
  /** In it, and not running: they do not compile. */
  degradedWorkflows: string[];
  /** Each once. */
  problems: Problem[];
}

/** Compiles the workspace into a folder. Throws `build_failed`, and nothing is written then. */
export async function buildBundle(options: { root: string; outDir: string; slug: string }): Promise<BuiltBundle> {
  const { manifest, files, problems, failed } = await runBuild(options);
  if (failed.length > 0)
    throw problemsError('build_failed', failed, {
      what: 'The workspace does not compile',
      suggestion: 'Correct it, then build again; `svc dev` shows the same while you type.',
    });
  const isSound = ({ problem }: { problem?: Problem }) => problem === undefined;
  return {
    files,
    workflows: manifest.workflows.filter(isSound).map(({ name }) => name),
    deepAgents: manifest.agents.map(({ name }) => name),
    degradedWorkflows: manifest.workflows.filter((workflow) => !isSound(workflow)).map(({ name }) => name),
    problems: problems.filter(isFirst),
  };
}

// --- internal ---

async function runBuild(options: { root: string; outDir: string; slug: string }) {
  const [{ buildWorkspace }, { contractPayload }, { shareRuntime }] = await Promise.all([
    import('@svc/compiler'),
    import('@svc/runtime/host'),
    import('./share-runtime.ts'),
  ]);
  // The bundle names what this runtime exports, as its modules do under `svc dev`.
  await shareRuntime();
  const { version: contract, build: runtime } = contractPayload();
  return buildWorkspace({ ...options, runtime: { contract, ...runtime } }).catch(
    (error: Error & { code?: unknown }) => {
      if (error.code !== 'out_not_replaceable') throw error;
      throw new CliError('build_failed', error.message, {
        suggestion: 'Name a folder of its own: svc build --out dist/workspace',
      });
    },
  );
}
