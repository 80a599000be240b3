import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import { answerOf, object } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

export const showSchema = defineVerb({
  examples: ['svc workflows schema greet', 'svc workflows schema greet --json'],
  args: {
    name: { type: 'positional', required: true, description: 'The workflow.' },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['workflows'] } },
  payload: object({ schema: answerOf('workflows.schema', 'What the workflow accepts and answers.') }),
  async run({ name, ...target }, context) {
    const { input, output, state } = await openClient(target, context).get<Schema>(
      `/api/workflows/${toSegment(name)}/schema`,
    );
    return {
      data: { schema: { input, output, ...(state && { state }) } },
      human: (style) =>
        [
          [style.bold('input'), formatSchema(input)],
          [style.bold('output'), formatSchema(output)],
          ...(state ? [[style.bold('state'), formatSchema(state)]] : []),
        ]
          .map((part) => part.join('\n'))
          .join('\n\n'),
    };
  },
});

// --- internal ---

type Schema = OperationOutput<'workflows.schema'>;

function formatSchema(schema: object | null): string {
  return schema === null ? 'none declared' : JSON.stringify(schema, null, 2);
}
