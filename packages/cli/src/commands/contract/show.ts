import { openClient } from '../../client.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

export const showContract = defineVerb({
  examples: ['svc contract show', 'svc contract show --json'],
  args: TARGET_ARGS,
  payload: {
    version: 'The protocol version.',
    minSupported: 'The oldest protocol version this build still serves.',
    capabilities: 'What this build offers.',
    build: 'name and version of the runtime.',
  },
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

// --- internal ---

interface Contract {
  version: number;
  minSupported: number;
  capabilities: string[];
  build: { name: string; version: string };
}
