import type { Group } from '../group.ts';

export const account: Group = {
  summary: 'Your account at a control plane: where it is signed in, and its end.',
  page: 'teams',
  examples: ['svc account sessions', 'svc account sign-out --others'],
  verbs: {
    sessions: {
      summary: 'List the browsers and command lines you are signed in with.',
      load: async () => (await import('../commands/account/sessions.ts')).listSessions,
    },
    'sign-out': {
      summary: 'Sign another browser or command line out, or all others.',
      load: async () => (await import('../commands/account/sign-out.ts')).signOut,
    },
    delete: {
      summary: 'Delete your account.',
      load: async () => (await import('../commands/account/delete.ts')).deleteAccount,
    },
    'delete-organization': {
      summary: 'Delete the organization you are signed in for, with all it has at the control plane.',
      load: async () => (await import('../commands/account/delete-organization.ts')).deleteOrganization,
    },
  },
};
