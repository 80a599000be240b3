import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { DeployTarget } from '@svc/compiler';
import { readProject } from '../dev/project.ts';
import { usageError } from '../errors.ts';
import { formatProblem } from '../format.ts';
import { writeDeployFolder } from '../package/package.ts';
import type { Packaged } from '../package/package.ts';
import type { Style } from '../style.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, resolveWorkspace } from '../workspace.ts';

const TARGETS = ['byoc', 'self-host'] as const satisfies readonly DeployTarget[];

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
      description: 'The tag of the image. Default: <slug>:latest, or svc-agent:latest without one.',
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
  },
  payload: {
    outDir: 'The deploy folder, absolute.',
    files: 'What it holds, by path.',
    target: 'byoc or self-host.',
    imageTag: 'What the image of the agent is called.',
    baseImage: 'The image it is derived from.',
    controlPlaneImage: 'The image of the control plane; null for byoc.',
    workflows: 'The names of the workflows that run.',
    deepAgents: 'The names of the agents.',
    degradedWorkflows: 'The names of the workflows that are in it and do not run, because they do not compile.',
    port: 'The port of the box in its container.',
    controlPlanePort: 'The port of the control plane in its container; null for byoc.',
    offline: 'Whether the images are in the folder.',
  },
  async run(args, context) {
    for (const name of ['out-dir', 'base-archive'] as const) checkPath(name, args[name]);
    const root = resolveWorkspace(args.dir, context, 'svc package');
    const archive = args['base-archive'];
    context.progress('Building the workspace');
    const packaged = await writeDeployFolder(
      {
        root,
        ...readProject(root),
        outDir: resolve(root, args['out-dir']),
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
      data: packaged.data,
      human: (style) => format(packaged, style),
      ...(problems.length > 0 ? { hint: problems.map(formatProblem).join('\n\n') } : {}),
    };
  },
});

// --- internal ---

function checkPath(name: string, value: string | undefined): void {
  if (value === undefined || value.trim() !== '') return;
  throw usageError(`--${name} needs a value.`, 'For example: svc package --out-dir dist/deploy');
}

function format({ data, open }: Packaged, style: Style): string {
  const { outDir, target, deepAgents, workflows, degradedWorkflows, imageTag, controlPlaneImage } = data;
  const held = `${countOf(deepAgents.length, 'agent')}, ${countOf(workflows.length, 'workflow')}`;
  const lines = [`${style.bold('Packaged')} ${outDir} for ${target}: ${held}, image ${imageTag}`];
  if (degradedWorkflows.length > 0) lines.push(`Shipped, and does not run: ${degradedWorkflows.join(', ')}`);
  if (controlPlaneImage !== null)
    lines.push(`The control plane ${controlPlaneImage} is a stand-in: there is no dashboard in it yet`);
  if (open.length > 0) lines.push('Still to be set in .env:');
  for (const { name, isRequired, without } of open)
    lines.push(`  ${name}  ${isRequired ? 'needed to start' : `without it ${without}`}`);
  return lines.join('\n');
}
