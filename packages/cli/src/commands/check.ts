import { isFirst } from '../dev/banner.ts';
import { defineVerb } from '../verb.ts';
import { countOf, DIR_ARG, problemsError, resolveWorkspace } from '../workspace.ts';
import { findContractProblems, readOwnContract } from './contract/_needs.ts';

export const check = defineVerb({
  examples: ['svc check', 'svc check ./playground --json'],
  args: { dir: DIR_ARG },
  payload: {
    deepAgents: 'The names of the agents.',
    workflows: 'The names of the workflows.',
    problems: 'Empty. Where there are problems, the command ends with 1 and error.details.problems holds them.',
  },
  async run({ dir }, context) {
    const root = resolveWorkspace(dir, context, 'svc check');
    const { checkWorkspace } = await import('@svc/compiler');
    const [{ manifest, problems }, contract] = await Promise.all([checkWorkspace({ root }), readOwnContract()]);
    const all = [...problems, ...(await findContractProblems(root, contract)).problems].filter(isFirst);
    if (all.length > 0)
      throw problemsError('check_failed', all, {
        what: countOf(all.length, 'problem'),
        suggestion: 'Correct them; `svc dev` shows the same while you type.',
      });
    const deepAgents = manifest.agents.map(({ name }) => name);
    const workflows = manifest.workflows.map(({ name }) => name);
    return {
      data: { deepAgents, workflows, problems: [] },
      human: () =>
        `No problems in ${countOf(deepAgents.length, 'agent')} and ${countOf(workflows.length, 'workflow')}.`,
    };
  },
});
