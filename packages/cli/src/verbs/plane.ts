import type { Group } from '../group.ts';

export const plane: Group = {
  summary: 'Run a control plane on this machine, back it up, restore it, let people in again.',
  page: 'teams',
  examples: ['svc plane', 'svc plane backup ./plane.backup'],
  itself: {
    summary: 'Run a control plane on this machine.',
    load: async () => (await import('../commands/plane/run.ts')).runPlane,
  },
  verbs: {
    backup: {
      summary: 'Write all that the control plane of this machine knows to a file, while it runs or not.',
      load: async () => (await import('../commands/plane/backup.ts')).backup,
    },
    restore: {
      summary: 'Restore a backup into a control plane that has no accounts yet.',
      load: async () => (await import('../commands/plane/backup.ts')).restore,
    },
    'reset-password': {
      summary: 'Give a person a new password, while the control plane runs or not.',
      load: async () => (await import('../commands/plane/recovery.ts')).resetPassword,
    },
    'rotate-keys': {
      summary: 'Sign identity tokens with the next key, or with a new set of them.',
      load: async () => (await import('../commands/plane/recovery.ts')).rotateKeys,
    },
  },
};
