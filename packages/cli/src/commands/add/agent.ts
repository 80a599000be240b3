import { defineVerb } from '../../verb.ts';
import { ADD_ARGS, ADD_PAYLOAD, answerAdd } from './add.ts';

export const addAgent = createAddAgent('agent');

/** The same verb under its other name. */
export const addDeepAgent = createAddAgent('deep-agent');

// --- internal ---

function createAddAgent(word: string) {
  return defineVerb({
    examples: [`svc add ${word} support`, `svc add ${word} support --json`],
    args: ADD_ARGS,
    payload: ADD_PAYLOAD,
    async run({ name, force }, context) {
      return answerAdd({ kind: 'agent', name, force }, context);
    },
  });
}
