import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';

export const config = operationGroup({
  summary: 'Read and set the dynamic configuration.',
  page: 'config',
  examples: ['svc config list', 'svc config set greeting "Hello there"'],
  sample: 'greeting',
  verbs: {
    list: {
      summary: 'List the keys with value, default and revision.',
      operation: 'config.list',
      items: 'keys',
      columns: [
        'key:name',
        'value:json',
        'set=isSet',
        'revision',
        'default:json',
        'changed=changedAt:ago',
        'by=changedBy:text',
      ],
    },
    get: { summary: 'Show one key with its type and default.', operation: 'config.get' },
    set: {
      summary: 'Set a key to a value of its type.',
      operation: 'config.set',
      examples: ['svc config set greeting "Hello there"', 'svc config set limits \'{"perDay":5}\' --if-revision 3'],
      positionals: ['value'],
      form: async () => (await import('../operations/config-value.ts')).CONFIG_VALUE,
      done: 'Set',
      subject: configOf,
    },
    unset: {
      summary: 'Drop the value of a key, so that its default is in force.',
      operation: 'config.delete',
      done: 'Unset',
      subject: configOf,
    },
  },
});

// --- internal ---

function configOf({ key, value, revision }: Row): string {
  return `${String(key)} = ${JSON.stringify(value)} (revision ${String(revision)})`;
}
