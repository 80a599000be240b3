import type { Group } from '../group.ts';

export const pull: Group = {
  summary: 'Download what a box has.',
  page: 'operating',
  examples: ['svc pull run <id>', 'svc pull run <id> --out run.json'],
  verbs: {
    run: {
      summary: 'Write the history of a run into a file, with its secrets masked.',
      load: async () => (await import('../commands/pull/run.ts')).pullRun,
    },
  },
};
