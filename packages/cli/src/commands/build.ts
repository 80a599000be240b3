import { resolve } from 'node:path';
import { buildBundle } from '../bundle.ts';
import { readProject } from '../dev/project.ts';
import { formatProblem } from '../format.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, resolveWorkspace } from '../workspace.ts';

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
    context.progress(`Building ${slug}`);
    const data = { outDir, ...(await buildBundle({ root, outDir, slug })) };
    const { files, workflows, deepAgents, degradedWorkflows, problems } = data;
    return {
      data,
      human: (style) =>
        [
          `${style.bold('Built')} ${outDir}: ${countOf(deepAgents.length, 'agent')}, ${countOf(workflows.length, 'workflow')}, ${countOf(files.length, 'file')}`,
          ...(degradedWorkflows.length > 0 ? [`Shipped, and does not run: ${degradedWorkflows.join(', ')}`] : []),
        ].join('\n'),
      ...(problems.length > 0 ? { hint: problems.map(formatProblem).join('\n\n') } : {}),
    };
  },
});
