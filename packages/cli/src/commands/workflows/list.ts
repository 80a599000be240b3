import { openClient } from '../../client.ts';
import { formatTable } from '../../table.ts';
import type { Column } from '../../table.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';

export const listWorkflows = defineVerb({
  examples: ['svc workflows list', 'svc workflows list --json'],
  args: TARGET_ARGS,
  payload: { items: 'The workflows, each with name, trigger (the start route) and hasSchema.' },
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

interface Item {
  name: string;
  trigger: string;
  hasSchema: boolean;
}

const COLUMNS: Column<Item>[] = [
  { title: 'name', cell: (item) => item.name, shrinks: true, paint: (text, _, style) => style.bold(text) },
  { title: 'trigger', cell: (item) => item.trigger, shrinks: true },
];
