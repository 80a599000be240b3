import type { Problem } from '@svc/runtime/host';
import { compileBundle, listAgents } from '../workspace/bundle.ts';
import type { Context } from '../context.ts';
import { findIncomplete } from '../errors.ts';
import { isFirst } from '../dev/banner.ts';
import { readProject } from '../dev/project.ts';
import { array, object, string } from '../payload/payload.ts';
import { PROBLEM } from '../payload/problem.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, problemsError, resolveWorkspace } from '../workspace/workspace.ts';
import { findContractProblems, readOwnContract } from './contract/_needs.ts';
import { findFaults, toProblem } from './schema/_ready.ts';

export const check = defineVerb({
  examples: ['svc check', 'svc check ./playground --deep --json'],
  args: {
    dir: DIR_ARG,
    deep: {
      type: 'boolean',
      default: false,
      description: 'Look at the types too: what steps and workflows take and return. Takes seconds.',
    },
  },
  payload: object({
    deepAgents: array(string(), 'The names of the agents.'),
    workflows: array(string(), 'The names of the workflows.'),
    problems: array(
      PROBLEM,
      'Empty. Where there are problems, the command ends with 1 and error.details.problems holds them.',
    ),
  }),
  async run({ dir, deep }, context) {
    const root = resolveWorkspace(dir, context, 'svc check');
    readProject(root);
    const [{ manifest, problems }, contract] = await Promise.all([compileBundle(root), readOwnContract()]);
    // Without it nothing loads, which is no problem of any file.
    const incomplete = findIncomplete(
      root,
      problems.map(({ message }) => message),
    );
    if (incomplete) throw incomplete;
    const { problems: unmet } = await findContractProblems(root, contract);
    const faults = await findFaults(root);
    // Of src/schema.ts who compares it says more than the bundler.
    const others = problems.filter(({ file }) => !faults.some((fault) => fault.file === file));
    const values = deep ? await checkTypes(root, context) : [];
    const { createLateChecks } = await import('@svc/compiler');
    const late = await createLateChecks({ root }).find();
    const all = [...others, ...late, ...values, ...unmet, ...faults.map(toProblem)].filter(isFirst);
    if (all.length > 0)
      throw problemsError('check_failed', all, {
        what: countOf(all.length, 'problem'),
        suggestion: 'Correct them; `svc dev` shows the same while you type.',
      });
    const deepAgents = await listAgents(manifest);
    const workflows = manifest.workflows.map(({ name }) => name);
    return {
      data: { deepAgents, workflows, problems: [] },
      human: () =>
        `No problems in ${countOf(deepAgents.length, 'agent')} and ${countOf(workflows.length, 'workflow')}.`,
    };
  },
});

// --- internal ---

async function checkTypes(root: string, { progress }: Context): Promise<Problem[]> {
  progress('Reading the types …');
  const { checkValues } = await import('@svc/compiler');
  return checkValues({ root });
}
