import { openClient } from '../../client/client.ts';
import { array, boolean, object, string } from '../../payload/payload.ts';
import type { TypeOf } from '../../payload/payload.ts';
import { formatTable } from '../../terminal/table.ts';
import type { Column } from '../../terminal/table.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

const ITEM = object({
  name: string('The name.'),
  trigger: string('The start route.'),
  hasSchema: boolean('Whether the workflow declares an input or an output.'),
});
type Item = TypeOf<typeof ITEM>;

export const listWorkflows = defineVerb({
  examples: ['svc workflows list', 'svc workflows list --json'],
  args: TARGET_ARGS,
  payload: object({ items: array(ITEM, 'The workflows of the box, all of them.') }),
  async run(target, context) {
    const catalog = await openClient(target, context).get<{ items: Item[] }>('/api/workflows');
    const items = catalog.items.map(({ name, trigger, hasSchema }): Item => ({ name, trigger, hasSchema }));
    return {
      data: { items },
      human: (style) =>
        items.length === 0
          ? 'No workflows are exposed.'
          : formatTable(
              [{ title: 'schema', cell: (item: Item) => style.mark(item.hasSchema) }, ...COLUMNS],
              items,
              style,
            ),
      ...(items.length === 0 ? { hint: EMPTY_HINT } : {}),
    };
  },
});

// --- internal ---

const EMPTY_HINT = 'A box without a model provider holds its workflows back; `svc dev` prints how to set one.';

const COLUMNS: Column<Item>[] = [
  { title: 'name', cell: (item) => item.name, shrinks: true, paint: (text, _, style) => style.bold(text) },
  { title: 'trigger', cell: (item) => item.trigger, shrinks: true },
];
