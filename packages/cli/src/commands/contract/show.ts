import { openClient } from '../../client.ts';
import { AGENT_ARG, defineVerb } from '../../verb.ts';

export const showContract = defineVerb({
  examples: ['svc contract show', 'svc contract show --json'],
  args: { agent: AGENT_ARG },
  payload: {
    version: 'The protocol version.',
    minSupported: 'The oldest protocol version this build still serves.',
    capabilities: 'What this build offers.',
    build: 'name and version of the runtime.',
  },
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
