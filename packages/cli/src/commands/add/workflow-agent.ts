import { defineVerb } from '../../verb.ts';
import { ADD_ARGS, ADD_PAYLOAD, answerAdd } from './add.ts';

export const addWorkflowAgent = defineVerb({
  examples: ['svc add workflow-agent guide', 'svc add workflow-agent guide --json'],
  args: ADD_ARGS,
  payload: ADD_PAYLOAD,
  async run({ name, force }, context) {
    return answerAdd({ kind: 'workflow-agent', name, force }, context);
  },
});
