import { operationGroup } from '../operations/group.ts';

export const db = operationGroup({
  summary: 'Look into the tables of the project, without a way to change them.',
  page: 'database',
  examples: ['svc db tables', 'svc db query "select * from notes limit 10"'],
  verbs: {
    tables: {
      summary: 'List the tables and views of the project, and about how many rows they have.',
      operation: 'database.tables',
      items: 'tables',
      columns: ['schema', 'name:name', 'kind', 'rows', 'columns:fields'],
    },
    query: {
      summary: 'Run one statement that reads.',
      operation: 'database.query',
      examples: [
        'svc db query "select tag, count(*) from notes group by tag"',
        'svc db query "explain select * from notes" --json',
      ],
      positionals: ['sql'],
      form: async () => ({ human: (await import('../operations/query-result.ts')).formatQueryResult }),
    },
  },
});
