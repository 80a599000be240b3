import { resolve } from 'node:path';
import { BUNDLE, buildBundle } from '../workspace/bundle.ts';
import { readProject } from '../dev/project.ts';
import { formatProblem } from '../terminal/format.ts';
import { checkPlace } from '../workspace/place.ts';
import { object, string } from '../payload/payload.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, resolveWorkspace } from '../workspace/workspace.ts';

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
  completes: { out: { paths: 'folders' } },
  payload: object({ outDir: string('The folder of the bundle, absolute.'), ...BUNDLE }),
  async run({ dir, out }, context) {
    const root = resolveWorkspace(dir, context, 'svc build');
    const { slug } = readProject(root);
    const outDir = resolve(root, out);
    checkPlace(outDir, { flag: 'out', kind: 'folder', code: 'build_failed' });
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
