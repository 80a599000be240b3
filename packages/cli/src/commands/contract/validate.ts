import type { Contract } from '@svc/runtime/host';
import { openClient } from '../../client/client.ts';
import { answerOf, array, constant, object, string } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { DIR_ARG, problemsError, resolveWorkspace } from '../../workspace/workspace.ts';
import { findContractProblems, readOwnContract } from './_needs.ts';

export const validateContract = defineVerb({
  examples: ['svc contract validate', 'svc contract validate ./playground --json'],
  args: {
    dir: DIR_ARG,
    agent: {
      ...TARGET_ARGS.agent,
      description: 'Check against a deployed box instead of the runtime of this version.',
    },
    url: TARGET_ARGS.url,
  },
  payload: object({
    valid: constant(true, 'Where it is not, the command ends with 1 and error.details.problems says why.'),
    contract: answerOf('contract.get', 'What it was checked against.'),
    needs: array(string(), 'The capabilities the code uses, sorted.'),
  }),
  async run({ dir, ...target }, context) {
    const root = resolveWorkspace(dir, context, 'svc contract validate');
    const contract =
      target.agent === undefined && target.url === undefined
        ? await readOwnContract()
        : await openClient(target, context).get<Contract>('/api/contract');
    const { needs, problems } = await findContractProblems(root, contract);
    if (problems.length > 0)
      throw problemsError('contract_invalid', problems, {
        what: `The workspace does not fit ${contract.build.name} ${contract.build.version}`,
        suggestion: 'Run `svc contract show` to see what a box offers.',
      });
    const names = [...new Set(needs.map(({ capability }) => capability))].sort();
    return {
      data: { valid: true as const, contract, needs: names },
      human: () =>
        `The workspace fits ${contract.build.name} ${contract.build.version} (contract ${contract.version}); it uses ${names.join(', ') || 'no capability of its own'}.`,
    };
  },
});
