import { createHash } from 'node:crypto';
import { leaveWhenGone } from '../wires/client-turn.ts';
import { flatten } from '../agents/events/turn-events.ts';
import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Agents } from '../agents/agents.ts';
import type { Caller } from '../auth/caller.ts';
import { requireGrant, requirePermission } from '../auth/caller.ts';
import type { ErrorCode } from '../errors.ts';
import { callOperation } from '../surface/call.ts';
import { getWorkflowRun } from '../runs/operations.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { Run } from '../runs/run.ts';
import { startWorkflow } from '../workflows/operations.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { toErrorResult, toResult } from './result.ts';
import { toFailure } from './tools.ts';
import type { ToolsOptions } from './tools.ts';

export interface ProgramToolsOptions extends ToolsOptions {
  agents: Pick<Agents, 'names' | 'startTurn'>;
  /** Makes a tool's input of a JSON Schema. */
  fromJsonSchema(schema: JsonSchema): StandardSchemaWithJSON;
}

/** Each agent and each workflow as a tool of its own. */
export async function registerProgramTools(
  server: McpServer,
  options: ProgramToolsOptions,
  caller: Caller,
): Promise<void> {
  const { agents, rooms, log, fromJsonSchema } = options;
  const guard = (run: () => Promise<CallToolResult>) => run().catch((thrown: unknown) => toFailure(thrown, log));
  for (const agent of await agents.names())
    server.registerTool(
      toToolName('agent', agent),
      {
        description: `Send a message to the agent "${agent}" and get its answer.`,
        inputSchema: Message,
        annotations: ACTS,
      },
      (message, { mcpReq }) => guard(() => sendMessage(agent, message, { options, caller, signal: mcpReq.signal })),
    );
  const shown = await rooms.entries.listShown('workflow');
  for (const { name, mode, state } of rooms.workflows.list()) {
    if (!shown.includes(name)) continue;
    if (mode !== 'task' || state === 'failed') continue;
    const { schema, isWrapped } = toObjectSchema((await rooms.workflows.schema(name)).input);
    server.registerTool(
      toToolName('workflow', name),
      { description: `Run the workflow "${name}".`, inputSchema: fromJsonSchema(schema), annotations: ACTS },
      (args, { mcpReq }) => {
        const input = isWrapped ? (args as { input?: unknown }).input : args;
        return guard(() => runWorkflow(name, input ?? {}, { options, caller, signal: mcpReq.signal }));
      },
    );
  }
}

// --- internal ---

const ACTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
/** Below the minute after which clients give up. */
const WAIT = '50s';

const Message = z.object({
  message: z.string().min(1),
  session: z.string().min(1).max(256).optional().describe('Any text: the same one goes on with the same conversation'),
});

interface Calling {
  options: ProgramToolsOptions;
  caller: Caller;
  signal: AbortSignal;
}

async function sendMessage(
  agent: string,
  { message, session }: z.output<typeof Message>,
  { options, caller, signal }: Calling,
): Promise<CallToolResult> {
  requirePermission(caller, 'agents:chat');
  requireGrant(caller, 'agents', agent);
  const turn = await options.agents.startTurn({
    agent,
    caller,
    messages: [{ role: 'user', content: message }],
    parameters: {},
    ...(session === undefined ? {} : { session: { name: session, kind: 'session' as const } }),
  });
  const onGone = leaveWhenGone(turn, signal);
  let text = '';
  const approvals: string[] = [];
  for await (const event of flatten(turn.events)) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'interrupt') approvals.push(event.id);
    else if (event.type === 'error')
      return toErrorResult({ code: event.code as ErrorCode, message: event.message, details: { runId: turn.runId } });
  }
  // The end of the call aborts, too, and a turn that waits for a decision goes on after it.
  signal.removeEventListener('abort', onGone);
  return toResult({ text, runId: turn.runId, ...(approvals.length > 0 ? { waitsForApprovals: approvals } : {}) });
}

/** The output of the run; of one that takes longer, or is queued, where to look for it. */
async function runWorkflow(
  name: string,
  input: unknown,
  { options, caller, signal }: Calling,
): Promise<CallToolResult> {
  const call = { caller, signal, source: 'mcp' as const };
  const receipt = (await callOperation(startWorkflow, options.rooms, { name, input }, call)) as StartReceipt;
  if (receipt.status === 'queued') return toResult(receipt);
  const waiting = { id: receipt.runId, wait: WAIT };
  const run = (await callOperation(getWorkflowRun, options.rooms, waiting, call)) as Run;
  const { runId, status, output, error } = run;
  if (error) return { ...toResult({ runId, status, code: error.code, message: error.message }), isError: true };
  return toResult(
    run.endedAt ? { runId, status, output } : { runId, status, note: 'It runs on: read it with runs.get.' },
  );
}

/** As long as every client takes. */
const NAME_LENGTH = 64;
const HASH_LENGTH = 8;

/** A name that every client takes, and no two programs share: one that must be cut or changed ends in a hash of the whole. */
function toToolName(kind: string, name: string): string {
  const given = `${kind}_${name}`;
  const plain = given.replace(/[^\w-]/g, '_');
  if (plain === given && given.length <= NAME_LENGTH) return given;
  const hash = createHash('sha256').update(given).digest('hex').slice(0, HASH_LENGTH);
  return `${plain.slice(0, NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** A tool takes an object; a workflow of another input takes it as the member `input`. */
function toObjectSchema(input: JsonSchema | null): { schema: JsonSchema; isWrapped: boolean } {
  if (input?.type === 'object') return { schema: input, isWrapped: false };
  return { schema: { type: 'object', properties: { input: input ?? {} } }, isWrapped: true };
}
