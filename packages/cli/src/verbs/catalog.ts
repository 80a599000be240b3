import { operateGroup } from '../operate/group.ts';

export const catalog = operateGroup({
  summary: 'See what a box holds.',
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
  },
});
