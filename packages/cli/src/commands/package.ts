import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DeployTarget } from '@svc/compiler';
import { readProject } from '../dev/project.ts';
import { formatProblem } from '../terminal/format.ts';
import { checkPlace } from '../workspace/place.ts';
import { checkAgainst } from '../package/against.ts';
import type { OpenRuns } from '../package/against.ts';
import { writeDeployFolder } from '../package/package.ts';
import type { Packaged } from '../package/package.ts';
import { PACKAGE_PAYLOAD, TARGETS } from '../package/payload.ts';
import type { Style } from '../terminal/style.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, resolveWorkspace } from '../workspace/workspace.ts';
import { wrapText } from '../terminal/wrap.ts';

export const packageWorkspace = defineVerb({
  examples: ['svc package', 'svc package --target self-host --tag shop:1.4'],
  args: {
    dir: DIR_ARG,
    target: {
      type: 'enum',
      options: [...TARGETS],
      default: 'byoc',
      description: 'byoc: the box and its stores; self-host: a control plane too.',
    },
    'out-dir': { type: 'string', default: 'dist/deploy', description: 'The deploy folder, from the workspace.' },
    tag: {
      type: 'string',
      description: 'The tag of the image. Default: <agent>:latest once linked, else svc-agent:latest.',
    },
    base: { type: 'string', description: 'The base image. Default: the runtime of this version.' },
    offline: {
      type: 'boolean',
      default: false,
      description: 'Save the images too, with docker or podman, for a host that pulls none.',
    },
    'base-archive': {
      type: 'string',
      valueHint: 'tar',
      description: 'Like --offline, from a saved base and without docker or podman.',
    },
    against: {
      type: 'string',
      valueHint: 'url',
      description:
        'First see whether the code fits what the open runs of this box have recorded; if not, package nothing.',
    },
  },
  payload: PACKAGE_PAYLOAD,
  async run(args, context) {
    const root = resolveWorkspace(args.dir, context, 'svc package');
    const outDir = resolve(root, args['out-dir']);
    // What is in a folder that is there is judged with what it holds.
    if (!existsSync(outDir)) checkPlace(outDir, { flag: 'out-dir', kind: 'folder', code: 'package_failed' });
    const archive = args['base-archive'];
    const openRuns = args.against === undefined ? null : await checkAgainst({ url: args.against, root }, context);
    const packaged = await writeDeployFolder(
      {
        root,
        ...readProject(root),
        outDir,
        target: args.target as DeployTarget,
        tag: args.tag,
        base: args.base,
        offline: args.offline,
        archive: archive === undefined ? undefined : resolve(context.cwd, archive),
        random: randomBytes,
      },
      context,
    );
    const { problems } = packaged;
    return {
      data: { ...packaged.data, openRuns },
      human: (style) => [...(openRuns ? [formatOpenRuns(openRuns)] : []), format(packaged, style)].join('\n'),
      ...(problems.length > 0 ? { hint: problems.map(formatProblem).join('\n\n') } : {}),
    };
  },
});

// --- internal ---

function formatOpenRuns({ checked, safe, unchecked }: OpenRuns): string {
  const rest = unchecked === 0 ? '' : ` Of ${unchecked} that is not known.`;
  return `The code fits ${safe} of ${countOf(checked, 'open run')}.${rest}`;
}

function format({ data, open, before }: Packaged, style: Style): string {
  const { outDir, target, deepAgents, workflows, degradedWorkflows, imageTag, controlPlaneImage, controlPlanePort } =
    data;
  const held = `${countOf(deepAgents.length, 'agent')}, ${countOf(workflows.length, 'workflow')}`;
  const lines = [
    wrapText(`${style.bold('Packaged')} ${outDir} for ${target}: ${held}, image ${imageTag}`, { ...style, indent: 2 }),
  ];
  if (degradedWorkflows.length > 0) lines.push(`Shipped, and does not run: ${degradedWorkflows.join(', ')}`);
  if (controlPlaneImage !== null)
    lines.push(
      wrapText(
        `The control plane ${controlPlaneImage} serves the dashboard on port ${controlPlanePort}. Its token is STUDIO_STANDALONE_TOKEN in .env.`,
        { ...style, indent: 2 },
      ),
    );
  if (open.length > 0) lines.push('Still to be set in .env:');
  for (const { name, isRequired, without } of open)
    lines.push(
      wrapText(`  ${name}  ${isRequired ? 'needed to start' : `without it ${without}`}`, { ...style, indent: 2 }),
    );
  if (before.length > 0)
    lines.push('Once, in that folder, before `docker compose up`:', ...before.map((command) => `  ${command}`));
  return lines.join('\n');
}
