import { readFileSync } from 'node:fs';
import type { Permission, Role } from '../src/auth/permissions.ts';

/** What every seat may do, said a second time: a row a permission, a column a role. */
const [[, ...roles] = [], ...rows] = readFileSync(new URL('./fixtures/permissions.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(','));

/** By permission, the roles that hold it. */
export const SEATS = Object.fromEntries(
  rows.map(([permission, ...held]) => [permission, roles.filter((_, index) => held[index] === 'yes')]),
) as Record<Permission, Role[]>;

/** What an API key may call besides the chat wires; and then only what it is granted. */
export const KEY_OPERATIONS = [
  'workflows.start',
  'workflows.start_many',
  'events.send',
  'workflows.schema',
  'workflows.run',
  'workflows.queued',
  'workflows.dequeue',
  'runs.get',
  'runs.cancel',
  'runs.state',
  'runs.state_stream',
  'runs.streams',
  'runs.stream',
  // Of its own runs.
  'events.stream',
];
