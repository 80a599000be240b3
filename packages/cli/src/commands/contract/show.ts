import type { Contract } from '@svc/runtime/host';
import { openClient } from '../../client/client.ts';
import { answerOf } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

export const showContract = defineVerb({
  examples: ['svc contract show', 'svc contract show --json'],
  args: TARGET_ARGS,
  payload: answerOf('contract.get'),
  async run(target, context) {
    const contract = await openClient(target, context).get<Contract>('/api/contract');
    return {
      data: contract,
      human: (style) =>
        [
          `${style.bold(contract.build.name)} ${contract.build.version}`,
          `contract ${contract.version}, oldest supported ${contract.minSupported}`,
          ...contract.capabilities.map((capability) => `${style.mark(true)} ${capability}`),
        ].join('\n'),
    };
  },
});
