import { WORKFLOW_TEMPLATES } from '../../../../create/src/parts.ts';
import { usageError } from '../../errors.ts';
import { defineVerb } from '../../verb.ts';
import { ADD_ARGS, ADD_PAYLOAD, answerAdd } from './add.ts';

export const addWorkflow = defineVerb({
  examples: ['svc add workflow onboard', 'svc add workflow triage --calls support'],
  args: {
    ...ADD_ARGS,
    calls: {
      type: 'string',
      valueHint: 'name',
      description: 'An agent of the workspace, or another workflow, to call.',
    },
    template: {
      type: 'enum',
      options: [...WORKFLOW_TEMPLATES],
      valueHint: 'template',
      description: 'What it begins as. Default steps.',
    },
  },
  completes: { calls: { names: ['agents', 'workflows'] } },
  payload: ADD_PAYLOAD,
  async run({ name, force, calls, template }, context) {
    if (calls !== undefined && template !== undefined)
      throw usageError('--calls and --template both say what the workflow does.', 'Leave one of them out.');
    return answerAdd({ kind: 'workflow', name, force, calls, template }, context);
  },
});
