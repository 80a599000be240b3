import { z } from 'zod';
import { toPage } from '../operations/cursor.ts';
import { operationsOf } from '../operations/define.ts';
import { Page, ShortListPage, withoutUndefined } from '../operations/inputs.ts';
import type { Connections } from './connections.ts';
import { CONNECTION_MEMBERS, word } from './inputs.ts';
import { ConnectionProvider, listProviders } from './providers.ts';
import { Revocation } from './revocation.ts';
import { Connection, ConnectionUse } from './store.ts';
import { ConnectionTest } from './test-call.ts';

const operation = operationsOf<{ connections: Connections }>();

const room = { tag: 'connections' } as const;
const id = z.string().describe('The id of the connection');
const secret = (what: string) => z.string().min(1).max(20_000).optional().describe(what);

export const listConnections = operation({
  ...room,
  id: 'connections.list',
  summary: 'List connections and whether they still work; never a credential',
  route: 'GET /api/connections',
  kind: 'read',
  permission: 'connections:read',
  copilot: 'yes',
  input: z.strictObject({ ...Page }),
  output: z.object({ items: z.array(Connection), nextCursor: z.string().nullable() }),
  handle: ({ connections }, { limit, cursor }) => connections.list(withoutUndefined({ limit, cursor })),
});

export const listConnectionProviders = operation({
  ...room,
  id: 'connections.providers',
  summary: 'List the services that can be connected, and what they need',
  route: 'GET /api/connections/providers',
  kind: 'read',
  permission: 'connections:read',
  copilot: 'yes',
  input: z.strictObject(ShortListPage),
  output: z.object({ items: z.array(ConnectionProvider), nextCursor: z.string().nullable() }),
  handle: (_, page) => toPage(listProviders(), (provider) => provider.id, page),
});

export const getConnection = operation({
  ...room,
  id: 'connections.get',
  summary: 'Get one connection: service, scopes, state, and what uses it',
  route: 'GET /api/connections/:id',
  kind: 'read',
  permission: 'connections:read',
  copilot: 'yes',
  errors: ['connection_not_found'],
  input: z.strictObject({ id }),
  output: Connection.extend({ usedBy: z.array(ConnectionUse).describe('The newest 100') }),
  handle: ({ connections }, input) => connections.get(input.id),
});

export const createConnection = operation({
  ...room,
  id: 'connections.create',
  summary: 'Declare a connection, without a credential',
  route: 'POST /api/connections',
  kind: 'write',
  permission: 'connections:write',
  copilot: 'yes',
  status: 201,
  errors: ['connection_invalid', 'connection_exists', 'too_many_connections'],
  input: z.strictObject({
    id: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,62}$/, 'Use 1 to 63 lower-case letters, digits and "-", beginning with a letter')
      // Would stand in the place of a route.
      .refine((text) => text !== 'providers', 'No connection is called "providers"')
      .describe('What code calls it: svc.connection(\'github\'). 1 to 63 lower-case letters, digits and "-"'),
    ...CONNECTION_MEMBERS,
  }),
  output: Connection,
  handle: ({ connections }, input, { caller }) => connections.create(withoutUndefined(input), caller.name),
});

export const authorizeConnection = operation({
  ...room,
  id: 'connections.authorize',
  summary: 'Begin the browser sign-in of a connection; the callback is /api/connect/callback',
  route: 'POST /api/connections/:id/authorize',
  kind: 'write',
  permission: 'connections:write',
  copilot: 'no: secret or signed URL in the answer',
  secret: ['url'],
  errors: ['connection_not_found', 'connection_not_ready'],
  input: z.strictObject({ id }),
  output: z.object({
    url: z.string().describe('Where the person signs in who owns the account'),
    expiresAt: z.iso.datetime().describe('Until then the sign-in can be finished'),
  }),
  handle: ({ connections }, input) => connections.authorize(input.id),
});

export const setConnectionCredential = operation({
  ...room,
  id: 'connections.set_credential',
  summary: 'Write the key, password, client secret or token of a connection; stored sealed, never shown again',
  route: 'PUT /api/connections/:id/credential',
  kind: 'write',
  permission: 'connections:write',
  confirm: true,
  copilot: 'yes',
  secret: ['apiKey', 'password', 'clientSecret', 'accessToken', 'refreshToken'],
  errors: ['connection_not_found', 'connection_invalid'],
  input: z.strictObject({
    id,
    apiKey: secret('Of a service that knows its callers by a key'),
    username: word.optional(),
    password: secret('With the username, of a service that knows its callers by both'),
    clientSecret: secret('What the service has given with the client id'),
    accessToken: secret('A token that was got elsewhere, in place of a sign-in'),
    refreshToken: secret('What comes with it, to replace it with'),
    expiresIn: z.int().min(1).max(315_360_000).optional().describe('Seconds for which the token is valid'),
  }),
  output: Connection,
  handle: ({ connections }, { id: of, ...credential }) => connections.setCredential(of, credential),
});

export const testConnection = operation({
  ...room,
  id: 'connections.test',
  summary: 'Call the service of a connection once, and say whether it takes the credential',
  route: 'POST /api/connections/:id/test',
  kind: 'read',
  permission: 'connections:read',
  copilot: 'yes',
  errors: ['connection_not_found', 'connection_not_ready'],
  input: z.strictObject({ id }),
  output: ConnectionTest,
  handle: ({ connections }, input, { signal }) => connections.test(input.id, signal),
});

export const deleteConnection = operation({
  ...room,
  id: 'connections.delete',
  summary: 'Delete a connection with its credentials, those of its users too, and take them back at its service',
  route: 'DELETE /api/connections/:id',
  kind: 'write',
  permission: 'connections:write',
  confirm: true,
  copilot: 'yes',
  errors: ['connection_not_found'],
  input: z.strictObject({ id }),
  output: z.object({ id: z.string(), deleted: z.literal(true), revocation: Revocation }),
  before: ({ connections }, input) => connections.get(input.id),
  async handle({ connections }, input) {
    const revocation = await connections.delete(input.id);
    return { id: input.id, deleted: true as const, revocation };
  },
});
