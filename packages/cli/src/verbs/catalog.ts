import { operationGroup } from '../operations/group.ts';

export const catalog = operationGroup({
  summary: 'See what a box holds, and choose how agents run.',
  page: 'operating',
  examples: ['svc catalog list', 'svc catalog list --kind tool'],
  verbs: {
    list: {
      summary: 'List agents, workflows, tools and prompts.',
      operation: 'catalog.list',
      items: 'entries',
      columns: [
        'kind',
        'name:name',
        'health:state',
        'model=model.effective:text',
        'mode',
        'hidden=isHidden',
        'description:long',
      ],
    },
    update: {
      summary: 'Choose the model or the limits of an agent, or hide it.',
      operation: 'catalog.update',
      examples: [
        'svc catalog update agent support --tokens-per-day 5000000 --concurrent-turns 20',
        'svc catalog update agent support --model vendor/model',
      ],
      form: async () => (await import('../operations/catalog-entry.ts')).CHANGED_ENTRY,
      done: 'Changed',
      subject: ({ kind, name }) => `${String(kind)} ${String(name)}`,
    },
  },
});
