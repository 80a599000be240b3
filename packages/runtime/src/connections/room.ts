import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { defineRoom } from '../operations/room.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { createConnections } from './connections.ts';
import type { ConnectionsOptions } from './connections.ts';
import {
  authorizeConnection,
  createConnection,
  deleteConnection,
  getConnection,
  listConnectionProviders,
  listConnections,
  setConnectionCredential,
  testConnection,
} from './operations.ts';

export interface Given extends Pick<ConnectionsOptions, 'db' | 'installation' | 'url'> {
  masterKey: ConnectionsOptions['key'];
  log: Log;
  options: { provider: { egress: EgressPolicy } };
  foundation: { mask: Mask };
}

export const connectionsRoom = defineRoom({
  name: 'connections',
  operations: [
    listConnections,
    listConnectionProviders,
    getConnection,
    createConnection,
    authorizeConnection,
    setConnectionCredential,
    testConnection,
    deleteConnection,
  ],
  create: ({ db, masterKey: key, installation, url, log, options, foundation: { mask } }: Given) =>
    createConnections({ db, key, installation, url, log, mask, egress: options.provider.egress }),
  close: (connections) => connections.close(),
});
