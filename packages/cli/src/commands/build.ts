import { resolve } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { isFirst } from '../dev/banner.ts';
import { readProject } from '../dev/project.ts';
import { CliError } from '../errors.ts';
import { formatProblem } from '../format.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, problemsError, resolveWorkspace } from '../workspace.ts';

/** Where a bundle goes, and where `svc start` looks for it. */
export const DEFAULT_OUT = 'dist/workspace';

export const build = defineVerb({
  examples: ['svc build', 'svc build ./playground --out ./out'],
  args: {
    dir: DIR_ARG,
    out: {
      type: 'string',
      default: DEFAULT_OUT,
      description: 'The folder of the bundle, from the workspace. It is replaced as a whole.',
    },
  },
  payload: {
    outDir: 'The folder of the bundle, absolute.',
    files: 'What it holds, by path.',
    workflows: 'The names of the workflows that run.',
    deepAgents: 'The names of the agents.',
    degradedWorkflows: 'The names of the workflows that are in it and do not run, because they do not compile.',
    problems: 'What is wrong in the code, each with file, line, column, code and message.',
  },
  async run({ dir, out }, context) {
    const root = resolveWorkspace(dir, context, 'svc build');
    const { slug } = readProject(root);
    const outDir = resolve(root, out);
    const { manifest, files, problems, failed } = await runBuild({ root, outDir, slug });
    if (failed.length > 0)
      throw problemsError('build_failed', failed, {
        what: 'The workspace does not compile',
        suggestion: 'Correct it, then build again; `svc dev` shows the same while you type.',
      });
    const found = problems.filter(isFirst);
    const isSound = ({ problem }: { problem?: Problem }) => problem === undefined;
    const degraded = manifest.workflows.filter((workflow) => !isSound(workflow)).map(({ name }) => name);
    const data = {
      outDir,
      files,
      workflows: manifest.workflows.filter(isSound).map(({ name }) => name),
      deepAgents: manifest.agents.map(({ name }) => name),
      degradedWorkflows: degraded,
      problems: found,
    };
    return {
      data,
      human: (style) =>
        [
          `${style.bold('Built')} ${outDir}: ${countOf(data.deepAgents.length, 'agent')}, ${countOf(data.workflows.length, 'workflow')}, ${countOf(files.length, 'file')}`,
          ...(degraded.length > 0 ? [`Shipped, and does not run: ${degraded.join(', ')}`] : []),
        ].join('\n'),
      ...(found.length > 0 ? { hint: found.map(formatProblem).join('\n\n') } : {}),
    };
  },
});

// --- internal ---

async function runBuild(options: { root: string; outDir: string; slug: string }) {
  const [{ buildWorkspace }, { contractPayload }, { shareRuntime }] = await Promise.all([
    import('@svc/compiler'),
    import('@svc/runtime/host'),
    import('../share-runtime.ts'),
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
