import { operateGroup } from '../operate/group.ts';

export const keys = operateGroup({
  summary: 'Make and revoke API keys.',
  page: 'operating',
  examples: ['svc keys list', 'svc keys create --name ci --workflows all'],
  sample: 'key_4m2n8p',
  verbs: {
    list: {
      summary: 'List API keys with what they are granted.',
      operation: 'keys.list',
      columns: [
        'id',
        'prefix',
        'name:name',
        'status:state',
        'agents=grants.agents:names',
        'workflows=grants.workflows:names',
        'expires=expiresAt:when',
        'used=lastUsedAt:ago',
      ],
    },
    create: {
      summary: 'Create an API key; its value is shown once.',
      operation: 'keys.create',
      examples: [
        'svc keys create --name ci --agents support --workflows all --expires-in 30d',
        'svc keys create --name partner --workflows refund,triage --json',
      ],
      completes: {
        agents: { names: ['agents'], words: ['all'], isList: true },
        workflows: { names: ['workflows'], words: ['all'], isList: true },
      },
      form: async () => (await import('../operate/key.ts')).NEW_KEY,
      hint: () => 'It is not shown again.',
    },
    revoke: {
      summary: 'Revoke an API key at once.',
      operation: 'keys.revoke',
      done: 'Revoked',
      subject: ({ id, name }) => `key ${String(name)} (${String(id)})`,
    },
  },
});
