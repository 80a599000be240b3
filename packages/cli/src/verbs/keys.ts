import { operationGroup } from '../operations/group.ts';
import type { Completion } from '../verb.ts';

/** What a key may be granted. */
const GRANTED: Record<string, Completion> = {
  agents: { names: ['agents'], words: ['all'], isList: true },
  workflows: { names: ['workflows'], words: ['all'], isList: true },
};

export const keys = operationGroup({
  summary: 'Make, rotate and revoke API keys.',
  page: 'operating',
  examples: ['svc keys list', 'svc keys create --name ci --workflows all'],
  sample: 'key_4m2n8p',
  verbs: {
    list: {
      summary: 'List API keys with what they are granted.',
      operation: 'keys.list',
      columns: [
        'id:id',
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
      completes: GRANTED,
      form: async () => (await import('../operations/key.ts')).NEW_KEY,
      hint: () => 'It is not shown again.',
    },
    update: {
      summary: 'Rename an API key, change what it is granted, its limits or where it may be used from.',
      operation: 'keys.update',
      // Who types it changes it: no other person is to be asked.
      asks: false,
      examples: [
        'svc keys update <id> --requests-per-minute 60 --tokens-per-month 5000000',
        'svc keys update <id> --addresses 203.0.113.7,2001:db8::/32',
      ],
      completes: GRANTED,
      form: async () => (await import('../operations/key.ts')).CHANGED_KEY,
      done: 'Changed',
      subject: ({ id, name }) => `key ${String(name)} (${String(id)})`,
    },
    rotate: {
      summary: 'Create a key in place of another, which stays valid for a while.',
      operation: 'keys.rotate',
      examples: ['svc keys rotate <id>', 'svc keys rotate <id> --overlap 7d'],
      form: async () => (await import('../operations/key.ts')).ROTATED_KEY,
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
