import { openClient, toSegment } from '../../client.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

export const showSchema = defineVerb({
  examples: ['svc workflows schema greet', 'svc workflows schema greet --json'],
  args: {
    name: { type: 'positional', required: true, description: 'The workflow.' },
    ...TARGET_ARGS,
  },
  payload: { schema: 'input and output, each a JSON Schema, or null where none is declared.' },
  async run({ name, ...target }, context) {
    const { input, output } = await openClient(target, context).get<Schema>(`/api/workflows/${toSegment(name)}/schema`);
    return {
      data: { schema: { input, output } },
      human: (style) =>
        [
          [style.bold('input'), formatSchema(input)],
          [style.bold('output'), formatSchema(output)],
        ]
          .map((part) => part.join('\n'))
          .join('\n\n'),
    };
  },
});

// --- internal ---

/** JSON Schema, or null when the workflow declares none. */
interface Schema {
  input: object | null;
  output: object | null;
}

function formatSchema(schema: object | null): string {
  return schema === null ? 'none declared' : JSON.stringify(schema, null, 2);
}
