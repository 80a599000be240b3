import type { CallToolResult } from '@modelcontextprotocol/client';
import { parseDuration } from '../../engine/duration.ts';
import type { Log } from '../../log.ts';
import type { ConnectionCaller } from '../../connections/connections.ts';
import type { McpServer, McpServerPlace } from '../../definitions/agent.ts';
import type { AuthorTool } from '../box-tool.ts';
import { createMcpConnection } from './connection.ts';
import type { McpConnection } from './connection.ts';
import { createServiceConnections } from './services.ts';
import type { Services } from './services.ts';

/** The servers of the Model Context Protocol this box talks to: one connection each, whichever agents name it. */
export interface McpServers {
  /**
   * The tools of an agent's servers. A tool has its own name, or `<server>_<tool>` where that is taken. `notes`: what the
   * model is to know of servers that cannot be reached.
   */
  list(
    servers: Record<string, McpServer>,
    how: { taken: readonly string[]; caller: ConnectionCaller },
  ): Promise<{ tools: RemoteTool[]; notes: string[] }>;
  close(): Promise<void>;
}

export interface RemoteTool {
  tool: AuthorTool;
  /** What it is called when the other servers offer other tools: its name depends on them. */
  names: readonly string[];
}

export function createMcpServers(log: Log, services?: Services): McpServers {
  const connections = new Map<string, McpConnection>();
  const connectionOf = (name: string, server: McpServerPlace): McpConnection => {
    const key = JSON.stringify(server);
    const known = connections.get(key);
    if (known) return known;
    const onDown = (problem: string) => log.warn(`The MCP server "${name}" cannot be reached.`, { problem });
    const created = createMcpConnection(server, onDown);
    connections.set(key, created);
    return created;
  };
  const ofServices = createServiceConnections(log, services);
  /** Servers and tools that were said to be missing. */
  const missing = new Set<string>();
  const noteMissing = (server: string, wanted: readonly string[], given: readonly { name: string }[]): void => {
    for (const name of wanted) {
      const key = `${server} ${name}`;
      if (given.some((tool) => tool.name === name) || missing.has(key)) continue;
      missing.add(key);
      log.warn(`The MCP server "${server}" has no tool "${name}", which an agent names in its "tools".`, {
        server,
        tool: name,
      });
    }
  };
  return {
    async list(servers, { taken, caller }) {
      const listed = await Promise.all(
        Object.entries(servers).map(async ([server, { timeout = CALL_TIMEOUT_MS, tools: wanted, ...place }]) => {
          const connection =
            place.connection === undefined ? connectionOf(server, place) : await ofServices.find(server, place, caller);
          const { tools, ...listing } = await connection.list();
          const given = wanted ? tools.filter(({ name }) => wanted.includes(name)) : tools;
          if (wanted && listing.problem === undefined) noteMissing(server, wanted, given);
          return { server, connection, timeout: parseDuration(timeout), tools: given, ...listing };
        }),
      );
      const found = listed.flatMap(({ tools, ...listing }) =>
        withoutRepeats(tools).map((tool) => ({ ...listing, tool, name: toToolName(tool.name) })),
      );
      const unique = createUnique(taken);
      const once = namesOnce(found, taken);
      const tools = found.map(({ server, connection, timeout, tool, name }) => {
        const ofServer = toToolName(`${server}_${name}`);
        const own = unique(once.has(name) ? name : ofServer);
        const { description = `The tool "${tool.name}" of "${server}".`, inputSchema } = tool;
        return {
          tool: {
            ...toBoxTool(connection, { name: own, toolName: tool.name, description, parameters: inputSchema }),
            timeout,
          },
          names: [ofServer, name],
        };
      });
      return { tools, notes: listed.flatMap(({ server, problem }) => (problem ? toNote(server) : [])) };
    },
    async close() {
      await Promise.allSettled([...connections.values()].map((connection) => connection.close()));
      connections.clear();
      await ofServices.close();
    },
  };
}

// --- internal ---

const NAME_LENGTH = 64;
const CALL_TIMEOUT_MS = 300_000;

/** Not what the server or the network says of it, which is anyone's text: that is in the log. */
function toNote(server: string): string {
  return `The tool server "${server}" cannot be reached, so its tools may be missing or fail.`;
}

function toToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_LENGTH) || '_';
}

/** A server that lists a name twice has one tool of that name: the name is all a call says. */
function withoutRepeats<T extends { name: string }>(tools: readonly T[]): T[] {
  const names = new Set<string>();
  return tools.filter(({ name }) => !names.has(name) && names.add(name));
}

/** Names that one tool has, and none of the agent's own. */
function namesOnce(found: readonly { name: string }[], taken: readonly string[]): Set<string> {
  const others = new Set(taken);
  const once = new Set<string>();
  for (const { name } of found) {
    if (!others.has(name)) once.add(name);
    else once.delete(name);
    others.add(name);
  }
  return once;
}

/** Names that are free: of the second with a name on with a number behind it. */
function createUnique(taken: readonly string[]): (name: string) => string {
  const used = new Set(taken);
  const counts = new Map<string, number>();
  return (name) => {
    let unique = name;
    const stem = name.slice(0, NAME_LENGTH - 6);
    for (let n = counts.get(stem) ?? 2; used.has(unique); n++) {
      unique = `${stem}_${n}`;
      counts.set(stem, n + 1);
    }
    used.add(unique);
    return unique;
  };
}

interface ServerTool {
  name: string;
  toolName: string;
  description: string;
  parameters: Record<string, unknown>;
}

function toBoxTool(connection: McpConnection, { toolName, ...model }: ServerTool): AuthorTool {
  return {
    kind: 'tool',
    model,
    async execute(input, { signal }) {
      const result = await connection.call(toolName, (input ?? {}) as Record<string, unknown>, signal);
      const text = toText(result);
      if (result.isError) throw new Error(text);
      return text;
    },
  };
}

/** What a model can read of a result. */
function toText({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'resource' && 'text' in block.resource) return block.resource.text;
    if (block.type === 'resource_link') return `${block.name}: ${block.uri}`;
    return `(${block.type}, which cannot be shown)`;
  });
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.join('\n');
}
