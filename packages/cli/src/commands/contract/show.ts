import { openClient } from '../../client.ts';
import { AGENT_ARG, defineVerb } from '../../verb.ts';

export const showContract = defineVerb({
  examples: ['svc contract show', 'svc contract show --json'],
  args: { agent: AGENT_ARG },
  async run({ agent }, context) {
    const contract = await openClient(agent, context).get<Contract>('/api/contract');
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

// --- internal ---

interface Contract {
  version: number;
  minSupported: number;
  capabilities: string[];
  build: { name: string; version: string };
}
