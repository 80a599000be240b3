import type { ConnectionCaller, Connections } from '../../connections/connections.ts';
import type { McpServerPlace } from '../../definitions/agent.ts';
import type { Log } from '../../log.ts';
import { createMcpConnection } from './connection.ts';
import type { McpConnection } from './connection.ts';

/** The services that the box is connected to. */
export type Services = Pick<Connections, 'ownerOf' | 'fetch'>;

/**
 * Servers that are such services: one connection for each whose credential it is, so that what a server keeps of one user is
 * not shown to another.
 */
export interface ServiceConnections {
  /** One that fails says why, as any other does. */
  find(name: string, place: ServicePlace, caller: ConnectionCaller): Promise<McpConnection>;
  close(): Promise<void>;
}

export type ServicePlace = Extract<McpServerPlace, { connection: string }>;

export function createServiceConnections(log: Log, services: Services | undefined): ServiceConnections {
  const open = new Map<string, McpConnection>();
  const onDownOf = (name: string) => (problem: string) =>
    log.warn(`The MCP server "${name}" cannot be reached.`, { problem });
  return {
    async find(name, place, { kind, name: agent, user }) {
      const { connection: id } = place;
      if (!services) return broken('There are no connections here.');
      const caller: ConnectionCaller = { kind, name: agent, user, signal: undefined };
      let owner: string;
      try {
        owner = await services.ownerOf(id, caller);
      } catch (error) {
        const { message } = error as Error;
        onDownOf(name)(message);
        return broken(message);
      }
      const key = JSON.stringify([place, owner, agent]);
      const known = open.get(key);
      open.delete(key);
      const connection =
        known ?? createMcpConnection(place, onDownOf(name), (path, init) => services.fetch(id, caller, path, init));
      // The last that was asked for stands last.
      open.set(key, connection);
      if (open.size > MOST_OPEN) closeOldest(open);
      return connection;
    },
    async close() {
      await Promise.allSettled([...open.values()].map((connection) => connection.close()));
      open.clear();
    },
  };
}

// --- internal ---

/** Each user of each agent has one. */
const MOST_OPEN = 500;

function closeOldest(open: Map<string, McpConnection>): void {
  const [oldest] = open;
  if (!oldest) return;
  open.delete(oldest[0]);
  oldest[1].close().catch(() => {});
}

function broken(problem: string): McpConnection {
  return {
    list: async () => ({ tools: [], problem }),
    call: () => Promise.reject(new Error(problem)),
    close: async () => {},
  };
}
