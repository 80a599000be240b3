import type { ConnectionCaller } from '../connections/connections.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { contextOf } from '../engine/started-by.ts';
import type { Log } from '../log.ts';
import { fromJsonSchema } from '../schema/given-schema.ts';
import { parseWith } from '../schema/schema.ts';
import type { Issue, JsonSchema } from '../schema/schema.ts';
import { withInterrupt } from '../tools/builtin/builtins.ts';
import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { toTaskTool } from '../tools/builtin/task.ts';
import { createMcpServers } from '../tools/mcp/servers.ts';
import type { Services } from '../tools/mcp/services.ts';
import { toBoxTools } from '../tools/box-tools.ts';
import type { BoxTool } from '../tools/box-tool.ts';

/** The tools of the box that an agent has. */
export interface AgentTools {
  /** With those that others have a say in: agents that may be edited, servers that may be down, of which `notes` speak. */
  list(agent: DeepAgentDefinition, run?: ToolsOf): Promise<{ tools: BoxTool[]; notes: string[] }>;
  /** What is wrong with arguments for a tool. A tool that is gone has nothing to say. */
  checkArguments(agent: DeepAgentDefinition | undefined, tool: string, args: unknown): Promise<Issue[]>;
  /** The JSON Schema of the arguments of a tool. Undefined: it is gone. */
  describeArguments(agent: DeepAgentDefinition | undefined, tool: string): Promise<JsonSchema | undefined>;
  /** Ends the connections to the servers. */
  close(): Promise<void>;
}

/** The turn whose tools they are. */
export type ToolsOf = Pick<RunRow, 'name' | 'startedBy'>;

export interface AgentToolsOptions {
  catalog: Catalog;
  log: Log;
  /** What servers may be connections of. Undefined: there are none. */
  connections?: Services;
}

export function createAgentTools({ catalog, log, connections }: AgentToolsOptions): AgentTools {
  const servers = createMcpServers(log, connections);
  // By definition, so that an agent that was edited is read again.
  const tools = new WeakMap<DeepAgentDefinition, Promise<BoxTool[]>>();
  const readTools = (agent: DeepAgentDefinition): Promise<BoxTool[]> => {
    const known = tools.get(agent) ?? toBoxTools(agent);
    tools.set(agent, known);
    return known;
  };

  const list: AgentTools['list'] = async (agent, run) => {
    const own = await readTools(agent);
    const task = await toTaskTool(agent, (name) => catalog.findAgent(name)?.definition?.agent.description);
    const offered = task ? [...own, withInterrupt(task, agent)] : own;
    if (!agent.mcpServers) return { tools: offered, notes: [] };
    const { tools: remote, notes } = await servers.list(agent.mcpServers, {
      taken: offered.map(({ model }) => model.name),
      caller: toCaller(agent, run),
    });
    return { tools: [...offered, ...remote.map(({ tool, names }) => withInterrupt(tool, agent, names))], notes };
  };
  const find = async (agent: DeepAgentDefinition | undefined, tool: string): Promise<BoxTool | undefined> =>
    agent && (await list(agent)).tools.find(({ model }) => model.name === tool);
  return {
    list,
    describeArguments: async (agent, tool) => (await find(agent, tool))?.model.parameters,
    async checkArguments(agent, tool, args) {
      const found = await find(agent, tool);
      if (!found) return [];
      const written = found.kind === 'tool' ? found.inputSchema : undefined;
      const schema = written ?? (await fromJsonSchema(found.model.parameters));
      const parsed = await parseWith(schema, args).catch((error: unknown) => toIssue(error));
      return parsed.ok ? [] : parsed.issues;
    },
    close: () => servers.close(),
  };
}

// --- internal ---

function toCaller({ name }: DeepAgentDefinition, run: ToolsOf | undefined): ConnectionCaller {
  const { caller, user } = contextOf(run ?? { startedBy: null });
  const who = user && { client: caller.client, id: user.id };
  return { kind: 'agent', name: run?.name ?? name, user: who, signal: undefined };
}

/** A check that broke off has refused. */
function toIssue(error: unknown): { ok: false; issues: Issue[] } {
  return { ok: false, issues: [{ path: [], message: error instanceof Error ? error.message : String(error) }] };
}
