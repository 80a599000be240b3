import type { Permission } from '../src/auth/permissions.ts';

/**
 * What every seat may do, said a second time: o(wner), a(dmin), m(ember), p (approver), v(iewer). From the sentences
 * on roles in the specification.
 */
export const SEATS: Record<Permission, string> = {
  'runs:read': 'oampv',
  'runs:cancel': 'oam',
  'runs:delete': 'oam',
  'runs:retry': 'oam',
  'sessions:read': 'oampv',
  'sessions:delete': 'oa',
  'hitl:read': 'oampv',
  'hitl:decide': 'oap',
  'logs:read': 'oam',
  'activity:read': 'oampv',
  'events:read': 'oampv',
  'catalog:read': 'oampv',
  'catalog:write': 'oa',
  'workflows:start': 'oam',
  'agents:chat': 'oam',
  'jobs:write': 'oa',
  'config:read': 'oam',
  'config:write': 'oam',
  'secrets:read': 'oa',
  'secrets:write': 'oa',
  'secrets:rotate': 'oa',
  'provider:read': 'oa',
  'provider:write': 'oa',
  'settings:read': 'oampv',
  'settings:write': 'oam',
  'settings:admin': 'oa',
  'copilot:read_all': 'oa',
  'keys:read': 'oa',
  'keys:write': 'oa',
  'services:read': 'oampv',
  'mcp:use': 'oampv',
};
export const LETTERS = { owner: 'o', admin: 'a', member: 'm', approver: 'p', viewer: 'v' } as const;

/** What an API key may call besides the chat wires; and then only what it is granted. */
export const KEY_OPERATIONS = [
  'workflows.start',
  'workflows.schema',
  'workflows.run',
  'workflows.queued',
  'runs.get',
  'runs.cancel',
  'runs.state',
  'runs.state_stream',
  'runs.streams',
  'runs.stream',
];
